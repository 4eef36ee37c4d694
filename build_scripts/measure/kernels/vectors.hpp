// Small pieces on vectors of 16 floats (AVX-512), all with a fixed order of additions.
#pragma once

#include <immintrin.h>

#include <cstdint>

using Vector = __m512;
constexpr long LANES = 16;

// The lanes of the vector at `at` that lie below `count`.
static inline __mmask16 lanes_below(long count, long at) {
  long left = count - at;
  return left >= LANES ? 0xFFFF : static_cast<__mmask16>((1u << left) - 1);
}

static inline Vector load(const float* from, __mmask16 lanes) { return _mm512_maskz_loadu_ps(lanes, from); }

static inline void store(float* to, __mmask16 lanes, Vector v) { _mm512_mask_storeu_ps(to, lanes, v); }

static inline float dot(const float* a, const float* b, long count) {
  Vector sum = _mm512_setzero_ps();
  for (long i = 0; i < count; i += LANES) {
    __mmask16 lanes = lanes_below(count, i);
    sum = _mm512_fmadd_ps(load(a + i, lanes), load(b + i, lanes), sum);
  }
  return _mm512_reduce_add_ps(sum);
}

// e^x to about 1e-7 of itself: 2^n · e^r with |r| <= ln(2) / 2, e^r by Taylor up to r^7.
// 0 far below, infinity far above.
static inline Vector exponential(Vector x) {
  x = _mm512_min_ps(_mm512_max_ps(x, _mm512_set1_ps(-110.f)), _mm512_set1_ps(110.f));
  Vector n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504f)),
                                  _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  // ln(2) in two parts, so that n · ln(2) keeps its digits.
  Vector r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375f), x);
  r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440e-4f), r);
  Vector p = _mm512_set1_ps(1.f / 5040);
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.f / 720));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.f / 120));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.f / 24));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.f / 6));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.f / 2));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.f));
  return _mm512_scalef_ps(p, n);
}

// gate / (1 + e^-gate) · up
static inline Vector swiglu(Vector gate, Vector up) {
  Vector one = _mm512_set1_ps(1.f);
  Vector below = _mm512_add_ps(one, exponential(_mm512_sub_ps(_mm512_setzero_ps(), gate)));
  return _mm512_mul_ps(_mm512_div_ps(gate, below), up);
}
