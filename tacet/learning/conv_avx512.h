// What the files of conv_kernels.h in AVX-512 share.
#ifndef TACET_LEARNING_CONV_AVX512_H_
#define TACET_LEARNING_CONV_AVX512_H_

#include <cstdint>

#include "tacet/learning/avx512.h"
#include "tacet/learning/conv_kernels.h"

namespace tacet::learning::conv {

TACET_AVX512_INLINE __m512 Load(const float* from) { return _mm512_load_ps(from); }

// bf16 of 16 floats, to nearest even, in the upper halves of 32-bit lanes; the lower are garbage.
TACET_AVX512_INLINE __m512i RoundUpper(__m512 values) {
  const __m512i bits = _mm512_castps_si512(values);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  return _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
}

TACET_AVX512_INLINE void StoreMap(__m512 low, __m512 high, float* to) {
  _mm512_store_ps(to, low);
  _mm512_store_ps(to + kLanes, high);
}
TACET_AVX512_INLINE void StoreMap(__m512 low, __m512 high, uint16_t* to) {
  const __m256i first = _mm512_cvtepi32_epi16(_mm512_srli_epi32(RoundUpper(low), 16));
  const __m256i second = _mm512_cvtepi32_epi16(_mm512_srli_epi32(RoundUpper(high), 16));
  _mm512_store_si512(to, _mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1));
}

// The largest of four and 0, and which of them it is.
struct Pooled {
  __m512 value;
  __m128i winner;
};
TACET_AVX512_INLINE Pooled Pool(__m512 a, __m512 b, __m512 c, __m512 d) {
  __m512 best = _mm512_setzero_ps();
  __m512i winner = _mm512_set1_epi32(kNoWinner);
  const __m512 four[4] = {a, b, c, d};
  TACET_UNROLL
  for (int q = 0; q < 4; ++q) {
    const __mmask16 larger = _mm512_cmp_ps_mask(four[q], best, _CMP_GT_OQ);
    best = _mm512_mask_mov_ps(best, larger, four[q]);
    winner = _mm512_mask_mov_epi32(winner, larger, _mm512_set1_epi32(q));
  }
  return {best, _mm512_cvtepi32_epi8(winner)};
}

TACET_AVX512_INLINE void StoreWinners(const Pooled& low, const Pooled& high, uint8_t* to) {
  _mm_store_si128(reinterpret_cast<__m128i*>(to), low.winner);
  _mm_store_si128(reinterpret_cast<__m128i*>(to + kLanes), high.winner);
}

TACET_AVX512_INLINE __m512i Lanes() {
  return _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
}

}  // namespace tacet::learning::conv

#endif  // TACET_LEARNING_CONV_AVX512_H_
