// Multiplying and adding, and nothing else: what the arithmetic units can do at best.
#pragma once

#include "vectors.hpp"

// Multiply-adds that do not wait for one another: more than the units of any processor so far
// take at once (two, each four steps long), and few enough for the 32 registers.
constexpr long CHAINS = 24;

// Operations of one step: two for each lane of each chain.
constexpr long OPERATIONS = 2 * CHAINS * LANES;

// `steps` steps from `start` on. Every lane comes to 2, so that no number becomes too small or too
// large; their sum is returned, so that no step can be left out.
static inline float multiply_add(long steps, float start) {
  const Vector factor = _mm512_set1_ps(0.5f), summand = _mm512_set1_ps(1.f);
  Vector chains[CHAINS];
#pragma GCC unroll 24
  for (long c = 0; c < CHAINS; c++) chains[c] = _mm512_set1_ps(start + static_cast<float>(c));
  for (long step = 0; step < steps; step++)
#pragma GCC unroll 24
    for (long c = 0; c < CHAINS; c++) chains[c] = _mm512_fmadd_ps(chains[c], factor, summand);
  for (long c = 1; c < CHAINS; c++) chains[0] = _mm512_add_ps(chains[0], chains[c]);
  return _mm512_reduce_add_ps(chains[0]);
}
