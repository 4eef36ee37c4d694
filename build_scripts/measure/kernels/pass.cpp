// All layers of a Llama-shaped model in one call, for rows that may differ in length: what
// target.py says in torch, without the time that torch takes between the matrices.
//
// Every number of a token is computed in an order that depends on the token's own position
// only. So its result is the same to the last bit, read alone, or with others of its row, or
// with other rows.

#include <omp.h>

#include <cmath>
#include <memory>
#include <vector>

#include "arithmetic.hpp"
#include "int8.hpp"
#include "reading.hpp"

// The fields of kernels/native.py, in the same order.
struct Layer {
  const float* attention_norm;
  const void* qkv;
  const void* out;
  const float* ffn_norm;
  const void* gate;
  const void* up;
  const void* down;
};

struct Model {
  int64_t layers, width, ffn, heads, kv_heads, head_width;
  float epsilon;
  const float* cosine;  // [positions, head_width], the halves alike
  const float* sine;
  const float* final_norm;
  const Layer* layer;
};

// Keys and values of [layers, rows, capacity, kv_heads, head_width].
struct Cache {
  float* keys;
  float* values;
  int64_t layer_stride, row_stride;
  const int64_t* lengths;  // [rows], before the pass
};

namespace {

using std::unique_ptr;

// This thread's part of `count` things.
struct Share {
  long from, to;
  explicit Share(long count) {
    long threads = omp_get_num_threads(), mine = omp_get_thread_num();
    from = count * mine / threads;
    to = count * (mine + 1) / threads;
  }
};

#define BARRIER _Pragma("omp barrier")

unique_ptr<float[]> floats(long count) { return unique_ptr<float[]>(new float[count]); }

void normalise(const float* x, const float* gain, float epsilon, long width, float* to) {
  float factor = 1.f / std::sqrt(dot(x, x, width) / width + epsilon);
  for (long i = 0; i < width; i += LANES) {
    Lanes lanes = lanes_below(width, i);
    Vector scaled = times(load(x + i, lanes), all(factor));
    store(to + i, lanes, times(scaled, load(gain + i, lanes)));
  }
}

// Turn each pair (i, i + width / 2) by its angle; `to` may be `head`.
void rotate(const float* head, const float* cosine, const float* sine, long width, float* to) {
  long half = width / 2;
  for (long i = 0; i < half; i += LANES) {
    Lanes lanes = lanes_below(half, i);
    Vector first = load(head + i, lanes), second = load(head + half + i, lanes);
    Vector c = load(cosine + i, lanes), s = load(sine + i, lanes);
    store(to + i, lanes, fused_less(second, s, times(first, c)));
    store(to + half + i, lanes, fused(first, s, times(second, c)));
  }
}

// One query over `seen` keys and values that lie `stride` apart. scores: room for `seen`.
void attend(const float* query, const float* keys, const float* values, long stride, long seen, long width,
            float* scores, float* to) {
  float scale = 1.f / std::sqrt(static_cast<float>(width));
  for (long s = 0; s < seen; s++) scores[s] = dot(query, keys + s * stride, width) * scale;

  Vector largest = all(-INFINITY);
  for (long s = 0; s < seen; s += LANES) {
    Lanes lanes = lanes_below(seen, s);
    largest = larger_in(lanes, largest, load(scores + s, lanes));
  }
  Vector top = all(largest_of(largest));
  Vector total = zeros();
  for (long s = 0; s < seen; s += LANES) {
    Lanes lanes = lanes_below(seen, s);
    Vector weights = exponential(subtract(load(scores + s, lanes), top));
    total = add_in(lanes, total, weights);
    store(scores + s, lanes, weights);
  }
  Vector over = all(1.f / sum_of(total));

  constexpr long WIDE = 4 * LANES;
  for (long i = 0; i < width; i += WIDE) {
    long count = std::min(WIDE, width - i);
    Vector mixed[4] = {zeros(), zeros(), zeros(), zeros()};
    Lanes lanes[4];
    for (long v = 0; v < 4; v++) lanes[v] = v * LANES < count ? lanes_below(count, v * LANES) : no_lanes();
    const float* value = values + i;
    for (long s = 0; s < seen; s++, value += stride) {
      Vector weight = all(scores[s]);
#pragma GCC unroll 4
      for (long v = 0; v < 4; v++)
        mixed[v] = fused(weight, load(value + v * LANES, lanes[v]), mixed[v]);
    }
#pragma GCC unroll 4
    for (long v = 0; v < 4; v++) store(to + i + v * LANES, lanes[v], times(mixed[v], over));
  }
}

// Products of x with this thread's panels, tile by tile: done(first row, rows, first column,
// columns, tile [rows, PANEL]).
template <class Matrix, class Done>
void multiply(const Matrix& w, typename Matrix::Rows x, long rows, float* tile, Done done) {
  Share panels(w.count());
  for (long from = 0; from < rows; from += TILE_ROWS) {
    long to = std::min(rows, from + TILE_ROWS);
    for (long panel = panels.from; panel < panels.to; panel++) {
      w.multiply(x, from, to, panel, tile);
      done(from, to - from, panel * PANEL, std::min(PANEL, w.out - panel * PANEL), tile);
    }
  }
}

// [rows, columns] of a tile into `to`, `stride` apart; added to what is there if ADD.
template <bool ADD>
void put(const float* tile, long rows, long columns, float* to, long stride) {
  for (long r = 0; r < rows; r++)
    for (long c = 0; c < columns; c += LANES) {
      Lanes lanes = lanes_below(columns, c);
      Vector sum = load(tile + r * PANEL + c);
      if (ADD) sum = add(load(to + r * stride + c, lanes), sum);
      store(to + r * stride + c, lanes, sum);
    }
}

// Rows as a kind of matrix wants them. In single precision they are what they are.
struct PackedRows {
  PackedRows(long, long) {}
  const float* operator()(const float* x, long, long) { return x; }
};

#ifdef WITH_INT8
// Rounded, each by the thread whose row it is. Called by all threads, with a barrier inside.
struct Int8Rows {
  Rounded rounded;
  Int8Rows(long rows, long widest) : rounded(rows, widest) {}
  const Rounded& operator()(const float* x, long rows, long in) {
    Share mine(rows);
    for (long row = mine.from; row < mine.to; row++) rounded.round(x + row * in, row, in);
    BARRIER
    return rounded;
  }
};
#endif

template <class Matrix>
Matrix matrix(const void* panels, long in, long out) {
  using Entry = decltype(Matrix::panels);
  return {static_cast<Entry>(panels), in, out};
}

// x [rows · m, width]: embeddings in, features out. The new keys and values go to the cache.
template <class Matrix, class Rows>
void run(const Model& model, float* x, long rows, long m, const Cache& cache, int threads) {
  const long tokens = rows * m, width = model.width, ffn = model.ffn, head = model.head_width;
  const long kv = model.kv_heads, groups = model.heads / kv, all_heads = model.heads + 2 * kv;
  const long attended_width = model.heads * head, qkv_width = all_heads * head, stride = kv * head;
  long longest = 0;
  for (long b = 0; b < rows; b++) longest = std::max(longest, static_cast<long>(cache.lengths[b]) + m);

  auto normed = floats(tokens * width), qkv = floats(tokens * qkv_width);
  auto attended = floats(tokens * attended_width), hidden = floats(tokens * ffn);
  Rows as_rows(tokens, std::max({width, ffn, attended_width}));

#pragma omp parallel num_threads(threads)
  {
    std::vector<float> tiles(2 * TILE_ROWS * PANEL + LANES), scores(longest);
    float* tile = tiles.data();
    float* other = tile + TILE_ROWS * PANEL;
    Share mine(tokens), pairs(tokens * kv);

    auto norm = [&](const float* gain) {
      for (long t = mine.from; t < mine.to; t++)
        normalise(x + t * width, gain, model.epsilon, width, normed.get() + t * width);
      BARRIER
    };
    auto add_to_x = [&](long from, long count, long column, long columns, const float* sums) {
      put<true>(sums, count, columns, x + from * width + column, width);
    };

    for (long l = 0; l < model.layers; l++) {
      const Layer& layer = model.layer[l];
      float* keys = cache.keys + l * cache.layer_stride;
      float* values = cache.values + l * cache.layer_stride;

      norm(layer.attention_norm);
      multiply(matrix<Matrix>(layer.qkv, width, qkv_width), as_rows(normed.get(), tokens, width), tokens, tile,
               [&](long from, long count, long column, long columns, const float* sums) {
                 put<false>(sums, count, columns, qkv.get() + from * qkv_width + column, qkv_width);
               });
      BARRIER
      for (long t = mine.from; t < mine.to; t++) {
        long b = t / m, position = cache.lengths[b] + t % m;
        float* heads = qkv.get() + t * qkv_width;
        const float* cosine = model.cosine + position * head;
        const float* sine = model.sine + position * head;
        long at = b * cache.row_stride + position * stride;
        for (long h = 0; h < model.heads; h++) rotate(heads + h * head, cosine, sine, head, heads + h * head);
        for (long h = 0; h < kv; h++)
          rotate(heads + (model.heads + h) * head, cosine, sine, head, keys + at + h * head);
        std::copy_n(heads + (model.heads + kv) * head, stride, values + at);
      }
      BARRIER
      // A key-value head and a token at a time: its keys stay near for all queries that share it.
      for (long p = pairs.from; p < pairs.to; p++) {
        long h = p / tokens, t = p % tokens, b = t / m, seen = cache.lengths[b] + t % m + 1;
        long at = b * cache.row_stride + h * head;
        for (long g = h * groups; g < (h + 1) * groups; g++)
          attend(qkv.get() + t * qkv_width + g * head, keys + at, values + at, stride, seen, head, scores.data(),
                 attended.get() + t * attended_width + g * head);
      }
      BARRIER
      multiply(matrix<Matrix>(layer.out, attended_width, width),
               as_rows(attended.get(), tokens, attended_width), tokens, tile, add_to_x);
      BARRIER

      norm(layer.ffn_norm);
      Matrix up = matrix<Matrix>(layer.up, width, ffn);
      typename Matrix::Rows inputs = as_rows(normed.get(), tokens, width);
      multiply(matrix<Matrix>(layer.gate, width, ffn), inputs, tokens, tile,
               [&](long from, long count, long column, long columns, const float* gates) {
                 up.multiply(inputs, from, from + count, column / PANEL, other);
                 for (long r = 0; r < count; r++)
                   for (long c = 0; c < columns; c += LANES)
                     store(hidden.get() + (from + r) * ffn + column + c, lanes_below(columns, c),
                           swiglu(load(gates + r * PANEL + c),
                                  load(other + r * PANEL + c)));
               });
      BARRIER
      multiply(matrix<Matrix>(layer.down, ffn, width), as_rows(hidden.get(), tokens, ffn), tokens, tile, add_to_x);
      BARRIER
    }
    norm(model.final_norm);
    std::copy(normed.get() + mine.from * width, normed.get() + mine.to * width, x + mine.from * width);
  }
}

template <class Matrix, class Rows>
void product(const float* x, long rows, const void* panels, long in, long out, float* y, int threads) {
  Rows as_rows(rows, in);
#pragma omp parallel num_threads(threads)
  {
    std::vector<float> tile(TILE_ROWS * PANEL);
    multiply(matrix<Matrix>(panels, in, out), as_rows(x, rows, in), rows, tile.data(),
             [&](long from, long count, long column, long columns, const float* sums) {
               put<false>(sums, count, columns, y + from * out + column, out);
             });
  }
}

}  // namespace

extern "C" {

// Loads `bytes`, a multiple of 64, with all threads, each a stretch of its own.
float read_memory(const void* memory, int64_t bytes, int threads) {
  float seen = 0;
#pragma omp parallel num_threads(threads) reduction(+ : seen)
  {
    Share lines(bytes / 64);
    seen += sum_of(
        read_stretch(static_cast<const char*>(memory) + 64 * lines.from, 64 * (lines.to - lines.from)));
  }
  return seen;
}

// Multiplies and adds: `operations` of them, less what does not make a whole step, by all threads.
float operate(int64_t operations, int threads) {
  float seen = 0;
#pragma omp parallel num_threads(threads) reduction(+ : seen)
  seen += multiply_add(operations / (OPERATIONS * threads), static_cast<float>(omp_get_thread_num()));
  return seen;
}

void pass_packed(const Model* model, float* x, int64_t rows, int64_t m, const Cache* cache, int threads) {
  run<Packed, PackedRows>(*model, x, rows, m, *cache, threads);
}

void multiply_packed(const float* x, int64_t rows, const void* panels, int64_t in, int64_t out, float* y,
                     int threads) {
  product<Packed, PackedRows>(x, rows, panels, in, out, y, threads);
}

#ifdef WITH_INT8
void pass_int8(const Model* model, float* x, int64_t rows, int64_t m, const Cache* cache, int threads) {
  run<Int8, Int8Rows>(*model, x, rows, m, *cache, threads);
}

void multiply_int8(const float* x, int64_t rows, const void* panels, int64_t in, int64_t out, float* y,
                   int threads) {
  product<Int8, Int8Rows>(x, rows, panels, in, out, y, threads);
}
#endif
}
