// y = x @ W in single precision, for few rows: as fast as W can be read from memory.
//
// W [in, out] is packed in panels of three vectors of columns, 48 or 24: [panels][in][PANEL], the
// last one filled up with zeros: whoever works on neighbouring panels reads one stretch of memory from its beginning to
// its end, once, however many rows there are.
//
// Every sum runs over `in` from 0 upwards, by one fused multiply-add after the other. So the
// result of a row is the same to the last bit, whatever other rows come with it.
#pragma once

#include <algorithm>

#include "vectors.hpp"

constexpr int VECTORS = 3;
constexpr long PANEL = VECTORS * LANES;
// Rows whose sums fit into the registers together: 9 · 3 of 32 or 4 · 3 of 16, with three for
// weights, and one for x.
constexpr int BLOCK = (REGISTERS - VECTORS - 1) / VECTORS;
// Rows whose sums (a tile) stay in the first-level cache while the weights go by.
constexpr long TILE_ROWS = 8 * BLOCK;
// The weights of CHUNK entries of a panel (36 KB or 18 KB) serve all the tile's rows before the next.
constexpr long CHUNK = 192;
// How far ahead weights are asked for, in floats (9 KB).
constexpr long AHEAD = 2304;

template <int R, bool FIRST>
static inline void add_block(const float* x, long in, const float* w, long count, float* tile) {
  Vector sums[R][VECTORS];
#pragma GCC unroll 9
  for (int r = 0; r < R; r++)
#pragma GCC unroll 3
    for (int v = 0; v < VECTORS; v++) sums[r][v] = load(tile + r * PANEL + v * LANES);
  for (long i = 0; i < count; i++, w += PANEL) {
    Vector weights[VECTORS];
#pragma GCC unroll 3
    for (int v = 0; v < VECTORS; v++) {
      weights[v] = load(w + v * LANES);
      // Blocks after the first find the weights in the cache. A line of memory is 16 floats.
      if (FIRST && v * LANES % 16 == 0) _mm_prefetch(reinterpret_cast<const char*>(w + AHEAD + v * LANES), _MM_HINT_T0);
    }
#pragma GCC unroll 9
    for (int r = 0; r < R; r++) {
      Vector one = all(x[r * in + i]);
#pragma GCC unroll 3
      for (int v = 0; v < VECTORS; v++) sums[r][v] = fused(one, weights[v], sums[r][v]);
    }
  }
#pragma GCC unroll 9
  for (int r = 0; r < R; r++)
#pragma GCC unroll 3
    for (int v = 0; v < VECTORS; v++) store(tile + r * PANEL + v * LANES, sums[r][v]);
}

// Larger blocks than there are registers for are never asked for, and need no code.
constexpr int at_most(int rows) { return rows < BLOCK ? rows : BLOCK; }

template <bool FIRST>
static void add_rows(int rows, const float* x, long in, const float* w, long count, float* tile) {
  switch (rows) {
    case 1: return add_block<1, FIRST>(x, in, w, count, tile);
    case 2: return add_block<2, FIRST>(x, in, w, count, tile);
    case 3: return add_block<3, FIRST>(x, in, w, count, tile);
    case 4: return add_block<4, FIRST>(x, in, w, count, tile);
    case 5: return add_block<at_most(5), FIRST>(x, in, w, count, tile);
    case 6: return add_block<at_most(6), FIRST>(x, in, w, count, tile);
    case 7: return add_block<at_most(7), FIRST>(x, in, w, count, tile);
    case 8: return add_block<at_most(8), FIRST>(x, in, w, count, tile);
    default: return add_block<BLOCK, FIRST>(x, in, w, count, tile);
  }
}

// What a matrix is multiplied with: here the rows themselves, [rows, in].
struct Packed {
  using Rows = const float*;

  const float* panels;
  long in;
  long out;

  long count() const { return (out + PANEL - 1) / PANEL; }

  // The products of rows [from, to) with one panel, into tile [to - from, PANEL].
  void multiply(Rows x, long from, long to, long panel, float* tile) const {
    const float* w = panels + panel * in * PANEL;
    long rows = to - from, blocks = (rows + BLOCK - 1) / BLOCK;
    std::fill(tile, tile + rows * PANEL, 0.f);
    for (long start = 0; start < in; start += CHUNK) {
      long count = std::min(CHUNK, in - start);
      for (long b = 0; b < blocks; b++) {
        long first = rows * b / blocks, size = rows * (b + 1) / blocks - first;
        const float* block = x + (from + first) * in + start;
        float* sums = tile + first * PANEL;
        const float* weights = w + start * PANEL;
        if (b == 0) add_rows<true>(size, block, in, weights, count, sums);
        else add_rows<false>(size, block, in, weights, count, sums);
      }
    }
  }
};
