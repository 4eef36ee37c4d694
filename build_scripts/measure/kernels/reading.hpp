// Reading memory and nothing else: what a pass, which reads all weights once, is held against.
#pragma once

#include <cstdint>

#include "vectors.hpp"

// One stretch of memory, its vectors combined so that no load can be left out. `bytes` is a
// multiple of a line of 64.
static inline Vector read_stretch(const char* from, long bytes) {
  constexpr long AHEAD = 4096;
  Vector seen[4];
  for (Vector& vector : seen) vector = _mm512_setzero_ps();
  auto line = [](const char* at) { return _mm512_loadu_ps(reinterpret_cast<const float*>(at)); };
  long at = 0;
  for (; at + 256 <= bytes; at += 256)
#pragma GCC unroll 4
    for (long v = 0; v < 4; v++) {
      seen[v] = _mm512_xor_ps(seen[v], line(from + at + 64 * v));
      _mm_prefetch(from + at + 64 * v + AHEAD, _MM_HINT_T0);
    }
  for (; at < bytes; at += 64) seen[0] = _mm512_xor_ps(seen[0], line(from + at));
  return _mm512_xor_ps(_mm512_xor_ps(seen[0], seen[1]), _mm512_xor_ps(seen[2], seen[3]));
}
