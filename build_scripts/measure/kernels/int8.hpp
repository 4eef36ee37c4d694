// y = x @ W with W in 8-bit integers: a quarter of the memory to read, and not exactly W.
//
// Columns are cut into groups of 64 entries. Each group of W has a scale, its largest magnitude
// over 127; so has each group of each row of x, which is rounded too, but to 15 bits: 8 would
// cost more acceptance than those of W do. Within a group the products are added exactly, as
// integers; the groups are added from 0 upwards in single precision. So here too the result of a
// row does not depend on other rows, and it is the same with either kind of vector.
//
// W is packed in panels of columns, [panels][groups] of: PANEL scales (float), then
// [64 / 4][PANEL][4] entries (uint8, 128 added), four of a column in each lane of 32 bits.
#pragma once

#include "packed.hpp"

#if defined(__AVX512VNNI__) || !defined(__AVX512F__)
#define WITH_INT8

#include <cmath>
#include <cstdint>
#include <vector>

constexpr long GROUP = 64;
constexpr long QUADS = GROUP / 4;
constexpr long GROUP_BYTES = PANEL * 4 + GROUP * PANEL;
constexpr long VECTOR_BYTES = 4 * LANES;

// Rows whose sums fit into the registers together: two for each of 32, one for each of 16.
constexpr int INT8_BLOCK = 4;

// What takes the largest of a group to the largest whole number of 15 bits.
static inline float scale_of(const float* from, long count) {
  Vector largest = zeros();
  for (long i = 0; i < count; i += LANES) largest = larger(largest, magnitude(load(from + i, lanes_below(count, i))));
  return largest_of(largest) / (127 * 128);
}

// An entry of x is 128 · high + low, both in 8 bits, where one instruction adds up the products of
// four entries of 8 bits; else it has 16 bits, and one instruction adds up the products of two.
#ifdef __AVX512VNNI__
using RowEntry = int8_t;
constexpr long PARTS = 2;
#else
using RowEntry = int16_t;
constexpr long PARTS = 1;
#endif

// One group of `count` floats, which `over` takes to whole numbers, to [PARTS, 64] entries; excess
// [PARTS]: -128 · the sum of the entries.
static inline void round_group(const float* from, long count, Vector over, RowEntry* to, int32_t* excess);

// Rounded rows, each of up to `widest` entries.
struct Rounded {
  long groups;
  std::vector<RowEntry> entries;   // [rows, groups, PARTS, 64], in the order of round_group
  std::vector<float> scales;    // [rows, groups]
  std::vector<int32_t> excess;  // [rows, groups, PARTS]

  Rounded(long rows, long widest)
      : groups((widest + GROUP - 1) / GROUP),
        entries(rows * groups * PARTS * GROUP), scales(rows * groups), excess(rows * groups * PARTS) {}

  // Round one row of `in` floats.
  void round(const float* x, long row, long in) {
    for (long start = 0, at = row * groups; start < in; start += GROUP, at++) {
      const float* from = x + start;
      long count = std::min(GROUP, in - start);
      float scale = scale_of(from, count);
      Vector over = all(scale > 0 ? 1.f / scale : 0.f);
      round_group(from, count, over, entries.data() + at * PARTS * GROUP, excess.data() + at * PARTS);
      scales[at] = scale;
    }
  }
};

#ifdef __AVX512VNNI__

// High parts, then low ones.
static inline void round_group(const float* from, long count, Vector over, int8_t* to, int32_t* excess) {
  __m512i sums[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
  for (long i = 0; i < GROUP; i += LANES) {
    Lanes lanes = i < count ? lanes_below(count, i) : no_lanes();
    __m512i whole = _mm512_cvtps_epi32(times(load(from + i, lanes), over));
    __m512i high = _mm512_srai_epi32(_mm512_add_epi32(whole, _mm512_set1_epi32(64)), 7);
    __m512i low = _mm512_sub_epi32(whole, _mm512_slli_epi32(high, 7));
    sums[0] = _mm512_add_epi32(sums[0], high);
    sums[1] = _mm512_add_epi32(sums[1], low);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), _mm512_cvtsepi32_epi8(high));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + GROUP + i), _mm512_cvtsepi32_epi8(low));
  }
  for (int part = 0; part < 2; part++) excess[part] = -128 * _mm512_reduce_add_epi32(sums[part]);
}

// One group of R rows: tile += integer products · scale of the column · scale of the row.
template <int R>
static inline void add_group(const Rounded& x, long row, long g, const uint8_t* w, float* tile) {
  const uint8_t* entries = w + PANEL * 4;
  __m512i sums[2 * R][VECTORS];  // high and low of each row
  const int8_t* from[R];
#pragma GCC unroll 4
  for (int r = 0; r < R; r++) {
    long at = (row + r) * x.groups + g;
    from[r] = x.entries.data() + at * 2 * GROUP;
#pragma GCC unroll 2
    for (int part = 0; part < 2; part++)
#pragma GCC unroll 3
      for (int v = 0; v < VECTORS; v++) sums[2 * r + part][v] = _mm512_set1_epi32(x.excess[2 * at + part]);
  }
  for (long quad = 0; quad < QUADS; quad++) {
    __m512i weights[VECTORS];
#pragma GCC unroll 3
    for (int v = 0; v < VECTORS; v++) {
      const uint8_t* at = entries + (quad * VECTORS + v) * 64;
      weights[v] = _mm512_loadu_si512(at);
      _mm_prefetch(reinterpret_cast<const char*>(at + 3 * GROUP_BYTES), _MM_HINT_T0);
    }
#pragma GCC unroll 8
    for (int r = 0; r < 2 * R; r++) {
      int32_t four;
      __builtin_memcpy(&four, from[r / 2] + r % 2 * GROUP + quad * 4, 4);
      __m512i one = _mm512_set1_epi32(four);
#pragma GCC unroll 3
      for (int v = 0; v < VECTORS; v++) sums[r][v] = _mm512_dpbusd_epi32(sums[r][v], weights[v], one);
    }
  }
#pragma GCC unroll 3
  for (int v = 0; v < VECTORS; v++) {
    Vector columns = load(reinterpret_cast<const float*>(w) + v * LANES);
#pragma GCC unroll 4
    for (int r = 0; r < R; r++) {
      Vector scale = times(columns, all(x.scales[(row + r) * x.groups + g]));
      __m512i whole = _mm512_add_epi32(_mm512_slli_epi32(sums[2 * r][v], 7), sums[2 * r + 1][v]);
      float* to = tile + r * PANEL + v * LANES;
      store(to, fused(_mm512_cvtepi32_ps(whole), scale, load(to)));
    }
  }
}

#else

// Those of even places, then those of odd ones: as a quad of W comes apart when it is widened to
// 16 bits.
static inline void round_group(const float* from, long count, Vector over, int16_t* to, int32_t* excess) {
  int32_t sum = 0;
  for (long i = 0; i < GROUP; i += LANES) {
    Lanes lanes = i < count ? lanes_below(count, i) : no_lanes();
    int32_t whole[LANES];
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(whole), _mm256_cvtps_epi32(times(load(from + i, lanes), over)));
    for (long j = 0; j < LANES; j++) {
      to[j % 2 * (GROUP / 2) + (i + j) / 2] = static_cast<int16_t>(whole[j]);
      sum += whole[j];
    }
  }
  *excess = -128 * sum;
}

// One group of R rows: tile += integer products · scale of the column · scale of the row.
template <int R>
static inline void add_group(const Rounded& x, long row, long g, const uint8_t* w, float* tile) {
  const uint8_t* entries = w + PANEL * 4;
  __m256i sums[R][VECTORS];
  const int16_t* from[R];
#pragma GCC unroll 4
  for (int r = 0; r < R; r++) {
    long at = (row + r) * x.groups + g;
    from[r] = x.entries.data() + at * GROUP;
#pragma GCC unroll 3
    for (int v = 0; v < VECTORS; v++) sums[r][v] = _mm256_set1_epi32(x.excess[at]);
  }
  auto pair = [](const int16_t* at) {
    int32_t two;
    __builtin_memcpy(&two, at, 4);
    return _mm256_set1_epi32(two);
  };
  for (long quad = 0; quad < QUADS; quad++) {
#pragma GCC unroll 3
    for (int v = 0; v < VECTORS; v++) {
      const uint8_t* at = entries + (quad * VECTORS + v) * VECTOR_BYTES;
      __m256i four = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
      __m256i even = _mm256_and_si256(four, _mm256_set1_epi16(0xFF)), odd = _mm256_srli_epi16(four, 8);
      _mm_prefetch(reinterpret_cast<const char*>(at + 6 * GROUP_BYTES), _MM_HINT_T0);
#pragma GCC unroll 4
      for (int r = 0; r < R; r++) {
        sums[r][v] = _mm256_add_epi32(sums[r][v], _mm256_madd_epi16(even, pair(from[r] + 2 * quad)));
        sums[r][v] = _mm256_add_epi32(sums[r][v], _mm256_madd_epi16(odd, pair(from[r] + GROUP / 2 + 2 * quad)));
      }
    }
  }
#pragma GCC unroll 3
  for (int v = 0; v < VECTORS; v++) {
    Vector columns = load(reinterpret_cast<const float*>(w) + v * LANES);
#pragma GCC unroll 4
    for (int r = 0; r < R; r++) {
      Vector scale = times(columns, all(x.scales[(row + r) * x.groups + g]));
      float* to = tile + r * PANEL + v * LANES;
      store(to, fused(_mm256_cvtepi32_ps(sums[r][v]), scale, load(to)));
    }
  }
}

#endif

struct Int8 {
  using Rows = const Rounded&;

  const uint8_t* panels;
  long in;
  long out;

  long count() const { return (out + PANEL - 1) / PANEL; }

  void multiply(Rows x, long from, long to, long panel, float* tile) const {
    long groups = (in + GROUP - 1) / GROUP;
    const uint8_t* w = panels + panel * groups * GROUP_BYTES;
    long rows = to - from, blocks = (rows + INT8_BLOCK - 1) / INT8_BLOCK;
    std::fill(tile, tile + rows * PANEL, 0.f);
    for (long g = 0; g < groups; g++, w += GROUP_BYTES)
      for (long b = 0; b < blocks; b++) {
        long first = rows * b / blocks, size = rows * (b + 1) / blocks - first;
        float* sums = tile + first * PANEL;
        switch (size) {
          case 1: add_group<1>(x, from + first, g, w, sums); break;
          case 2: add_group<2>(x, from + first, g, w, sums); break;
          case 3: add_group<3>(x, from + first, g, w, sums); break;
          default: add_group<4>(x, from + first, g, w, sums);
        }
      }
  }
};

#endif
