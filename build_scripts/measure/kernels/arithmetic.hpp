// Multiplying and adding, and nothing else: what the arithmetic units can do at best.
#pragma once

#include "vectors.hpp"

// Multiply-adds that do not wait for one another: more than the units of any processor so far
// take at once (two, each four or five steps long), and few enough for the registers.
constexpr long CHAINS = REGISTERS * 3 / 4;

// Operations of one step: two for each lane of each chain.
constexpr long OPERATIONS = 2 * CHAINS * LANES;

// `steps` steps from `start` on. Every lane comes to 2, so that no number becomes too small or too
// large; their sum is returned, so that no step can be left out.
static inline float multiply_add(long steps, float start) {
  const Vector factor = all(0.5f), summand = all(1.f);
  Vector chains[CHAINS];
#pragma GCC unroll 24
  for (long c = 0; c < CHAINS; c++) chains[c] = all(start + static_cast<float>(c));
  for (long step = 0; step < steps; step++)
#pragma GCC unroll 24
    for (long c = 0; c < CHAINS; c++) chains[c] = fused(chains[c], factor, summand);
  for (long c = 1; c < CHAINS; c++) chains[0] = add(chains[0], chains[c]);
  return sum_of(chains[0]);
}
