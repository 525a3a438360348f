// Shared parts of the AVX-512 files that implement conv_kernels.h.
#ifndef TACET_LAB_KERNELS_CONV_AVX512_H_
#define TACET_LAB_KERNELS_CONV_AVX512_H_

#include <cstdint>

#include "lab/kernels/avx512.h"
#include "lab/kernels/bf16_avx512.h"
#include "lab/kernels/conv_kernels.h"

TACET_BEFORE_NAMESPACE(TACET_AVX512);
namespace tacet::lab::kernels::conv {

HWY_INLINE __m512 Load(const float* from) { return _mm512_load_ps(from); }

HWY_INLINE void StoreMap(__m512 low, __m512 high, float* to) {
  _mm512_store_ps(to, low);
  _mm512_store_ps(to + kLanes, high);
}
HWY_INLINE void StoreMap(__m512 low, __m512 high, uint16_t* to) {
  _mm512_store_si512(to, bf16::Round(low, high));
}

// The largest of four and 0, and which of them it is.
struct Pooled {
  __m512 value;
  __m128i winner;
};
HWY_INLINE Pooled Pool(__m512 a, __m512 b, __m512 c, __m512 d) {
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

HWY_INLINE void StoreWinners(const Pooled& low, const Pooled& high, uint8_t* to) {
  _mm_store_si128(reinterpret_cast<__m128i*>(to), low.winner);
  _mm_store_si128(reinterpret_cast<__m128i*>(to + kLanes), high.winner);
}

// `count` pooled positions of the first map where the image is blank: 32 channels, all of whose
// four values are the biases.
template <typename Map>
HWY_INLINE void StoreFirstOnBlank(const float* biases, size_t count, Map* map, uint8_t* winner) {
  const __m512 low = Load(biases);
  const __m512 high = Load(biases + kLanes);
  const Pooled first = Pool(low, low, low, low);
  const Pooled second = Pool(high, high, high, high);
  for (size_t n = 0; n < count; ++n) {
    StoreMap(first.value, second.value, map + n * kBlock);
    StoreWinners(first, second, winner + n * kFirstMaps);
  }
}

HWY_INLINE __m512i Lanes() {
  return _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
}

}  // namespace tacet::lab::kernels::conv
TACET_AFTER_NAMESPACE();

#endif  // TACET_LAB_KERNELS_CONV_AVX512_H_
