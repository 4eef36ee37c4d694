// y = x @ W with W in 8-bit integers: a quarter of the memory to read, and not exactly W.
//
// Columns are cut into groups of 64 entries. Each group of W has a scale, its largest magnitude
// over 127; so has each group of each row of x, which is rounded too, but to 15 bits: 8 would
// cost more acceptance than those of W do. An entry of x is 128 · high + low, both in 8 bits.
// Within a group the products are added exactly, as integers; the groups are added from 0
// upwards in single precision. So here too the result of a row does not depend on other rows.
//
// W is packed in panels of 48 columns, [panels][groups] of: 48 scales (float), then
// [64 / 4][48][4] entries (uint8, 128 added), four of a column being what one instruction takes.
#pragma once

#include "packed.hpp"

#ifdef __AVX512VNNI__

#include <cmath>
#include <cstdint>
#include <vector>

constexpr long GROUP = 64;
constexpr long QUADS = GROUP / 4;
constexpr long GROUP_BYTES = PANEL * 4 + GROUP * PANEL;

// Rows whose sums, two for each, fit into the 32 registers together.
constexpr int INT8_BLOCK = 4;

// Rounded rows, each of up to `widest` entries.
struct Rounded {
  long groups;
  std::vector<int8_t> entries;  // [rows, groups, 2, 64]: high, low
  std::vector<float> scales;    // [rows, groups]
  std::vector<int32_t> excess;  // [rows, groups, 2]: -128 · the sum of the entries

  Rounded(long rows, long widest)
      : groups((widest + GROUP - 1) / GROUP),
        entries(rows * groups * 2 * GROUP), scales(rows * groups), excess(rows * groups * 2) {}

  // Round one row of `in` floats.
  void round(const float* x, long row, long in) {
    for (long start = 0, at = row * groups; start < in; start += GROUP, at++) {
      const float* from = x + start;
      long count = std::min(GROUP, in - start);
      Vector largest = _mm512_setzero_ps();
      for (long i = 0; i < count; i += LANES)
        largest = _mm512_max_ps(largest, _mm512_abs_ps(load(from + i, lanes_below(count, i))));
      float scale = _mm512_reduce_max_ps(largest) / (127 * 128);
      Vector over = _mm512_set1_ps(scale > 0 ? 1.f / scale : 0.f);
      __m512i sums[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
      int8_t* to = entries.data() + at * 2 * GROUP;
      for (long i = 0; i < GROUP; i += LANES) {
        __mmask16 lanes = i < count ? lanes_below(count, i) : 0;
        __m512i whole = _mm512_cvtps_epi32(_mm512_mul_ps(load(from + i, lanes), over));
        __m512i high = _mm512_srai_epi32(_mm512_add_epi32(whole, _mm512_set1_epi32(64)), 7);
        __m512i low = _mm512_sub_epi32(whole, _mm512_slli_epi32(high, 7));
        sums[0] = _mm512_add_epi32(sums[0], high);
        sums[1] = _mm512_add_epi32(sums[1], low);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), _mm512_cvtsepi32_epi8(high));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to + GROUP + i), _mm512_cvtsepi32_epi8(low));
      }
      scales[at] = scale;
      for (int part = 0; part < 2; part++) excess[2 * at + part] = -128 * _mm512_reduce_add_epi32(sums[part]);
    }
  }
};

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
    Vector columns = _mm512_loadu_ps(w + v * 64);
#pragma GCC unroll 4
    for (int r = 0; r < R; r++) {
      Vector scale = _mm512_mul_ps(columns, _mm512_set1_ps(x.scales[(row + r) * x.groups + g]));
      __m512i whole = _mm512_add_epi32(_mm512_slli_epi32(sums[2 * r][v], 7), sums[2 * r + 1][v]);
      float* to = tile + r * PANEL + v * LANES;
      _mm512_storeu_ps(to, _mm512_fmadd_ps(_mm512_cvtepi32_ps(whole), scale, _mm512_loadu_ps(to)));
    }
  }
}

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
