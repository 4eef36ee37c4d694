// Reading memory and nothing else: what a pass, which reads all weights once, is held against.
#pragma once

#include <cstdint>

#include "vectors.hpp"

// One stretch of memory, its vectors combined so that no load can be left out. `bytes` is a
// multiple of a line of 64.
static inline Vector read_stretch(const char* from, long bytes) {
  constexpr long AHEAD = 4096;
  Vector seen[4];
  for (Vector& vector : seen) vector = zeros();
  // A line of memory may take more than one vector.
  auto line = [](const char* at) {
    const float* floats = reinterpret_cast<const float*>(at);
    Vector whole = load(floats);
    for (long i = LANES; i < 16; i += LANES) whole = differing_bits(whole, load(floats + i));
    return whole;
  };
  long at = 0;
  for (; at + 256 <= bytes; at += 256)
#pragma GCC unroll 4
    for (long v = 0; v < 4; v++) {
      seen[v] = differing_bits(seen[v], line(from + at + 64 * v));
      _mm_prefetch(from + at + 64 * v + AHEAD, _MM_HINT_T0);
    }
  for (; at < bytes; at += 64) seen[0] = differing_bits(seen[0], line(from + at));
  return differing_bits(differing_bits(seen[0], seen[1]), differing_bits(seen[2], seen[3]));
}
