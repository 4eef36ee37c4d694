// The vectors of floats that this processor has, of 16 (AVX-512) or of 8 (AVX2), and small pieces
// made of them, all with a fixed order of additions. Only this file and int8.hpp tell them apart.
#pragma once

#include <immintrin.h>

#include <cstdint>

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)

using Vector = __m512;
using Lanes = __mmask16;  // which of a vector's floats count
constexpr long LANES = 16;
constexpr int REGISTERS = 32;

static inline Lanes no_lanes() { return 0; }

// The lanes of the vector at `at` that lie below `count`, which is above `at`.
static inline Lanes lanes_below(long count, long at) {
  long left = count - at;
  return left >= LANES ? 0xFFFF : static_cast<Lanes>((1u << left) - 1);
}

static inline Vector all(float value) { return _mm512_set1_ps(value); }
static inline Vector zeros() { return _mm512_setzero_ps(); }
static inline Vector load(const float* from) { return _mm512_loadu_ps(from); }
static inline Vector load(const float* from, Lanes lanes) { return _mm512_maskz_loadu_ps(lanes, from); }
static inline void store(float* to, Vector v) { _mm512_storeu_ps(to, v); }
static inline void store(float* to, Lanes lanes, Vector v) { _mm512_mask_storeu_ps(to, lanes, v); }

static inline Vector add(Vector a, Vector b) { return _mm512_add_ps(a, b); }
static inline Vector subtract(Vector a, Vector b) { return _mm512_sub_ps(a, b); }
static inline Vector times(Vector a, Vector b) { return _mm512_mul_ps(a, b); }
static inline Vector divide(Vector a, Vector b) { return _mm512_div_ps(a, b); }
static inline Vector larger(Vector a, Vector b) { return _mm512_max_ps(a, b); }
static inline Vector smaller(Vector a, Vector b) { return _mm512_min_ps(a, b); }
static inline Vector differing_bits(Vector a, Vector b) { return _mm512_xor_ps(a, b); }
static inline Vector magnitude(Vector v) { return _mm512_abs_ps(v); }

// a · b + c and c - a · b, rounded once.
static inline Vector fused(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
static inline Vector fused_less(Vector a, Vector b, Vector c) { return _mm512_fnmadd_ps(a, b, c); }

// a where a lane does not count.
static inline Vector add_in(Lanes lanes, Vector a, Vector b) { return _mm512_mask_add_ps(a, lanes, a, b); }
static inline Vector larger_in(Lanes lanes, Vector a, Vector b) { return _mm512_mask_max_ps(a, lanes, a, b); }

static inline float sum_of(Vector v) { return _mm512_reduce_add_ps(v); }
static inline float largest_of(Vector v) { return _mm512_reduce_max_ps(v); }

static inline Vector nearest_whole(Vector v) {
  return _mm512_roundscale_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
// v · 2^n for a whole n.
static inline Vector scaled(Vector v, Vector n) { return _mm512_scalef_ps(v, n); }

#elif defined(__AVX2__) && defined(__FMA__)

using Vector = __m256;
using Lanes = __m256i;
constexpr long LANES = 8;
constexpr int REGISTERS = 16;

static inline Lanes no_lanes() { return _mm256_setzero_si256(); }

static inline Lanes lanes_below(long count, long at) {
  long left = count - at;
  Lanes lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(left < LANES ? left : LANES)), lane);
}

static inline Vector all(float value) { return _mm256_set1_ps(value); }
static inline Vector zeros() { return _mm256_setzero_ps(); }
static inline Vector load(const float* from) { return _mm256_loadu_ps(from); }
static inline Vector load(const float* from, Lanes lanes) { return _mm256_maskload_ps(from, lanes); }
static inline void store(float* to, Vector v) { _mm256_storeu_ps(to, v); }
static inline void store(float* to, Lanes lanes, Vector v) { _mm256_maskstore_ps(to, lanes, v); }

static inline Vector add(Vector a, Vector b) { return _mm256_add_ps(a, b); }
static inline Vector subtract(Vector a, Vector b) { return _mm256_sub_ps(a, b); }
static inline Vector times(Vector a, Vector b) { return _mm256_mul_ps(a, b); }
static inline Vector divide(Vector a, Vector b) { return _mm256_div_ps(a, b); }
static inline Vector larger(Vector a, Vector b) { return _mm256_max_ps(a, b); }
static inline Vector smaller(Vector a, Vector b) { return _mm256_min_ps(a, b); }
static inline Vector differing_bits(Vector a, Vector b) { return _mm256_xor_ps(a, b); }
static inline Vector magnitude(Vector v) { return _mm256_andnot_ps(all(-0.f), v); }

static inline Vector fused(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
static inline Vector fused_less(Vector a, Vector b, Vector c) { return _mm256_fnmadd_ps(a, b, c); }

static inline Vector add_in(Lanes lanes, Vector a, Vector b) {
  return _mm256_blendv_ps(a, add(a, b), _mm256_castsi256_ps(lanes));
}
static inline Vector larger_in(Lanes lanes, Vector a, Vector b) {
  return _mm256_blendv_ps(a, larger(a, b), _mm256_castsi256_ps(lanes));
}

static inline float sum_of(Vector v) {
  __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
static inline float largest_of(Vector v) {
  __m128 four = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

static inline Vector nearest_whole(Vector v) {
  return _mm256_round_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
// In two steps, since 2^n itself may lie beyond what a float holds. |n| is at most 252.
static inline Vector scaled(Vector v, Vector n) {
  auto power = [](__m256i e) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(e, _mm256_set1_epi32(127)), 23));
  };
  __m256i whole = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(whole, 1);
  return times(times(v, power(half)), power(_mm256_sub_epi32(whole, half)));
}

#else
#error "the kernels need AVX-512 (F, BW, DQ, VL) or AVX2 with FMA"
#endif

static inline float dot(const float* a, const float* b, long count) {
  Vector sum = zeros();
  for (long i = 0; i < count; i += LANES) {
    Lanes lanes = lanes_below(count, i);
    sum = fused(load(a + i, lanes), load(b + i, lanes), sum);
  }
  return sum_of(sum);
}

// e^x to about 1e-7 of itself: 2^n · e^r with |r| <= ln(2) / 2, e^r by Taylor up to r^7.
// 0 far below, infinity far above.
static inline Vector exponential(Vector x) {
  x = smaller(larger(x, all(-110.f)), all(110.f));
  Vector n = nearest_whole(times(x, all(1.44269504f)));
  // ln(2) in two parts, so that n · ln(2) keeps its digits.
  Vector r = fused_less(n, all(0.693359375f), x);
  r = fused_less(n, all(-2.12194440e-4f), r);
  Vector p = all(1.f / 5040);
  for (float coefficient : {1.f / 720, 1.f / 120, 1.f / 24, 1.f / 6, 1.f / 2, 1.f, 1.f})
    p = fused(p, r, all(coefficient));
  return scaled(p, n);
}

// gate / (1 + e^-gate) · up
static inline Vector swiglu(Vector gate, Vector up) {
  Vector below = add(all(1.f), exponential(subtract(zeros(), gate)));
  return times(divide(gate, below), up);
}
