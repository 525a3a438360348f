// elementary.h on vectors, operation by operation. Included once for each target of
// kernels_simd.cc, hence the guard that toggles.
#if defined(TACET_DP_ELEMENTARY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TACET_DP_ELEMENTARY_INL_H_
#undef TACET_DP_ELEMENTARY_INL_H_
#else
#define TACET_DP_ELEMENTARY_INL_H_
#endif

#include "hwy/highway.h"

#include "tacet/dp/elementary.h"

HWY_BEFORE_NAMESPACE();
namespace tacet::dp::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<double>;
using U = hn::RebindToUnsigned<D>;
using I = hn::RebindToSigned<D>;
using V = hn::Vec<D>;
using W = hn::Vec<U>;
using Z = hn::Vec<I>;
using M = hn::Mask<D>;

HWY_INLINE V Set(double value) { return hn::Set(D(), value); }
HWY_INLINE W Words(uint64_t value) { return hn::Set(U(), value); }

// Signed and unsigned words to double, rounded to nearest as a scalar conversion rounds.
HWY_INLINE V FromSigned(W word) { return hn::ConvertTo(D(), hn::BitCast(I(), word)); }
HWY_INLINE V FromUnsigned(W word) {
#if HWY_TARGET <= HWY_AVX3
  return hn::ConvertTo(D(), word);
#else
  // 2^84 + high half and 2^52 + low half by their bits; the last sum is the only rounding.
  const V high = hn::BitCast(D(), hn::Or(hn::ShiftRight<32>(word), Words(0x4530000000000000)));
  const V low =
      hn::BitCast(D(), hn::Or(hn::And(word, Words(0xffffffff)), Words(0x4330000000000000)));
  return (high - Set(0x1p84 + 0x1p52)) + low;
#endif
}

HWY_INLINE V Log(V x) {
  const W bits = hn::BitCast(U(), x);
  const W shifted = bits - Words(kLogStart);
  // The exponent as 2^52 + (e + 2048), sign and all, minus that offset: exact.
  const W biased = hn::Xor(hn::ShiftRight<52>(shifted), Words(0x800));
  const V e = hn::BitCast(D(), hn::Or(biased, Words(0x4330000000000000))) - Set(0x1p52 + 2048);
  const V m = hn::BitCast(D(), bits - hn::And(shifted, Words(0xfff0000000000000ULL)));
  const V f = m - Set(1.0);
  const V t = f / (Set(2.0) + f);
  const V z = t * t;
  const V z2 = z * z;
  const double* c = kLogSeries;
  const V even = z2 * (Set(c[1]) + z2 * (Set(c[3]) + z2 * (Set(c[5]) + z2 * Set(c[7]))));
  const V odd = z * (Set(c[0]) + z2 * (Set(c[2]) + z2 * (Set(c[4]) + z2 * Set(c[6]))));
  const V half_square = Set(0.5) * f * f;
  return e * Set(kLn2High) -
         ((half_square - (t * (half_square + (even + odd)) + e * Set(kLn2Low))) - f);
}

HWY_INLINE void Circle(W word, V& cosine, V& sine) {
  const V x = FromSigned(hn::ShiftLeft<2>(word)) * Set(kCircleUnit);
  const V z = x * x;
  const double* p = kSineSeries;
  const double* q = kCosineSeries;
  const V s =
      x + x * z *
              (Set(p[0]) +
               z * (Set(p[1]) +
                    z * (Set(p[2]) +
                         z * (Set(p[3]) + z * (Set(p[4]) + z * (Set(p[5]) + z * Set(p[6])))))));
  const V c = Set(1.0) -
              z * (Set(0.5) -
                   z * (Set(q[0]) +
                        z * (Set(q[1]) +
                             z * (Set(q[2]) + z * (Set(q[3]) + z * (Set(q[4]) + z * Set(q[5])))))));
  // Bit 63 of a word: the sign of the sine; bit 62: swap; their exclusive or: the cosine's sign.
  const W sign = Words(uint64_t{1} << 63);
  const W swap = hn::ShiftLeft<1>(word);
  const M swapped = hn::MaskFromVec(hn::BitCast(D(), hn::BroadcastSignBit(hn::BitCast(I(), swap))));
  const V first = hn::IfThenElse(swapped, s, c);
  const V second = hn::IfThenElse(swapped, c, s);
  cosine = hn::Xor(first, hn::BitCast(D(), hn::And(hn::Xor(word, swap), sign)));
  sine = hn::Xor(second, hn::BitCast(D(), hn::And(word, sign)));
}

}  // namespace tacet::dp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // TACET_DP_ELEMENTARY_INL_H_
