// Vector types and helpers that all vector kernels share.
//
// No include guard: kernels_simd.cc and kernels_ifma.cc include this once for each target.

#include "hwy/highway.h"

#include "tacet/ring/kernels.h"

TACET_RING_BEFORE_NAMESPACE();
namespace tacet::ring::TACET_RING_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<double>;
using U = hn::RebindToUnsigned<D>;
using I = hn::RebindToSigned<D>;
using Doubles = hn::Vec<D>;
using Words = hn::Vec<U>;
constexpr size_t kLanes = hn::MaxLanes(D());

HWY_INLINE Words Word(uint64_t value) { return hn::Set(U(), value); }
HWY_INLINE Doubles Double(double value) { return hn::Set(D(), value); }

// All ones where the top bit is set, else zero.
HWY_INLINE Words SignMask(Words x) {
  return hn::BitCast(U(), hn::BroadcastSignBit(hn::BitCast(I(), x)));
}

// Adding and taking away 1.5 * 2^52 rounds |x| <= 2^51 to the nearest integer, which is also in
// the low bits of the sum.
constexpr double kRounder = 0x1.8p52;

}  // namespace tacet::ring::TACET_RING_NAMESPACE
TACET_RING_AFTER_NAMESPACE();
