// bf16 values in AVX-512: floats without their lower halves, rounded to nearest even.
#ifndef TACET_LAB_KERNELS_BF16_AVX512_H_
#define TACET_LAB_KERNELS_BF16_AVX512_H_

#include "lab/kernels/avx512.h"

TACET_BEFORE_NAMESPACE(TACET_AVX512);
namespace tacet::lab::kernels::bf16 {

// In the upper halves of 32-bit lanes; the lower are garbage.
HWY_INLINE __m512i RoundUpper(__m512 values) {
  const __m512i bits = _mm512_castps_si512(values);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  return _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
}
HWY_INLINE __m256i Round(__m512 values) {
  return _mm512_cvtepi32_epi16(_mm512_srli_epi32(RoundUpper(values), 16));
}
// One behind the other.
HWY_INLINE __m512i Round(__m512 first, __m512 second) {
  return _mm512_inserti64x4(_mm512_castsi256_si512(Round(first)), Round(second), 1);
}
// One value of the first, one of the second.
HWY_INLINE __m512i Interleave(__m512 first, __m512 second) {
  return _mm512_mask_mov_epi16(_mm512_srli_epi32(RoundUpper(first), 16), 0xaaaaaaaa,
                               RoundUpper(second));
}

}  // namespace tacet::lab::kernels::bf16
TACET_AFTER_NAMESPACE();

#endif  // TACET_LAB_KERNELS_BF16_AVX512_H_
