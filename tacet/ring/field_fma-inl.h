// Residues mod p < 2^50 in vectors of double: for processors with fused multiply-add.
//
// A residue is any integer x = r mod p with |x| <= 4p < 2^52, so that sums and differences are
// exact. A factor is w in (-p/2, p/2) with fl(w / p). For |x| <= 4p,
//   q = round(x fl(w / p)),  x w = h + l exactly (h rounded, l by a fused step),  (h - q p) + l
// is x w - q p: q is off from x w / p by at most 1/2 of rounding and |x| 2^-54 <= 1/4 of the
// factor's own, so the result lies within (1/2 + |x| / 16p) p <= 3p/4, and h - q p is exact because
// it is a multiple of an ulp of h and below 2^53 of them. In the comments B is a bound in units of
// p: a product of x <= B p is below T(B) p, T(B) = 1/2 + B/16.
//
// No include guard: kernels_simd.cc and kernels_ifma.cc include this once for each target.

#include "hwy/highway.h"

#include "tacet/ring/kernels.h"

TACET_RING_BEFORE_NAMESPACE();
namespace tacet::ring::TACET_RING_NAMESPACE {

// Integers below 2^52 to double and back.
HWY_INLINE Doubles ToDouble(Words x) {
  return hn::BitCast(D(), hn::Or(x, Word(0x4330000000000000))) - Double(0x1p52);
}
HWY_INLINE Words ToWord(Doubles x) {
  return hn::Xor(hn::BitCast(U(), x + Double(0x1p52)), Word(0x4330000000000000));
}
// |x| <= 2^51.
HWY_INLINE Words ToSignedWord(Doubles x) {
  return hn::BitCast(U(), x + Double(kRounder)) - Word(0x4338000000000000);
}

HWY_INLINE Words PopCount(Words x) { return hn::PopulationCount(x); }

using Residue = Doubles;
struct Factor {
  Doubles value;
  Doubles quotient;
};

class Field {
 public:
  HWY_INLINE explicit Field(const Modulus& modulus)
      : p_(Double(static_cast<double>(modulus.prime()))),
        inverse_p_(Double(1.0 / static_cast<double>(modulus.prime()))) {}

  // x < 2p, out |x| <= p.
  HWY_INLINE Residue FromBelowTwoP(Words x) const { return ToDouble(x) - p_; }
  // x < p.
  HWY_INLINE Residue FromCanonical(Words x) const { return ToDouble(x); }
  HWY_INLINE Words ToCanonical(Residue x) const {
    const Residue settled = Settle(x);
    return ToWord(settled + hn::IfThenElseZero(hn::Lt(settled, hn::Zero(D())), p_));
  }

  static HWY_INLINE Residue Load(const uint64_t* memory) {
    return hn::BitCast(D(), hn::LoadU(U(), memory));
  }
  static HWY_INLINE void Store(Residue x, uint64_t* memory) {
    hn::StoreU(hn::BitCast(U(), x), U(), memory);
  }

  // Made from a canonical value; w / p is rounded as a division rounds, but for 2^-50 of an ulp, by
  // one step of correction: a division may take longer for some operands.
  HWY_INLINE Factor MakeFactor(Words value) const {
    const Doubles canonical = ToDouble(value);
    const Doubles w = canonical - hn::IfThenElseZero(hn::Gt(canonical, p_ * Double(0.5)), p_);
    const Doubles q = w * inverse_p_;
    return {w, hn::MulAdd(hn::NegMulAdd(q, p_, w), inverse_p_, q)};
  }
  static HWY_INLINE Factor LoadFactor(const uint64_t* factors, size_t size, size_t index) {
    return {hn::BitCast(D(), hn::LoadU(U(), factors + index)),
            hn::BitCast(D(), hn::LoadU(U(), factors + size + index))};
  }
  static HWY_INLINE Factor BroadcastFactor(const uint64_t* factors, size_t size, size_t index) {
    return {hn::BitCast(D(), Word(factors[index])), hn::BitCast(D(), Word(factors[size + index]))};
  }
  static HWY_INLINE void StoreFactor(Factor factor, uint64_t* factors, size_t size, size_t index) {
    hn::StoreU(hn::BitCast(U(), factor.value), U(), factors + index);
    hn::StoreU(hn::BitCast(U(), factor.quotient), U(), factors + size + index);
  }

  // |x| <= 4p; the result is below T(B).
  HWY_INLINE Residue Multiply(Residue x, Factor w) const {
    const Doubles high = x * w.value;
    const Doubles low = hn::MulSub(x, w.value, high);
    const Doubles q = hn::MulAdd(x, w.quotient, Double(kRounder)) - Double(kRounder);
    return hn::NegMulAdd(q, p_, high) + low;
  }
  // The representative nearest to 0 (two, near p/2, may be chosen); |x| <= 8p.
  HWY_INLINE Residue Settle(Residue x) const {
    const Doubles q = hn::MulAdd(x, inverse_p_, Double(kRounder)) - Double(kRounder);
    return hn::NegMulAdd(q, p_, x);
  }

  // (u, v) <- (u + v w, u - v w), `settle` first brings u to 1/2: B grows by T(B), or becomes
  // 1/2 + T(B).
  template <bool kSettle>
  HWY_INLINE void ForwardButterfly(Residue& u, Residue& v, Factor w) const {
    if constexpr (kSettle) u = Settle(u);
    const Residue t = Multiply(v, w);
    v = u - t;
    u = u + t;
  }
  // (u, v) <- (u + v, (u - v) w): 2B and T(2B).
  HWY_INLINE void InverseButterfly(Residue& u, Residue& v, Factor w) const {
    const Residue difference = u - v;
    u = u + v;
    v = Multiply(difference, w);
  }
  // Products need no care here (field_ifma).
  HWY_INLINE void InverseButterflyOfLoose(Residue& u, Residue& v, Factor w) const {
    InverseButterfly(u, v, w);
  }
  HWY_INLINE Residue Tight(Residue x) const { return x; }

 private:
  Doubles p_;
  Doubles inverse_p_;
};

// The Garner step, d = (x1 - x0) / p0 mod p1: x0 + p0 d has the residues x0 and x1.
struct Garner {
  Words x0;       // signed, |x0| <= 2^51
  Words d;        // signed, |d| <= 2^51
  Doubles share;  // p0 d / Q, within 2^-40
};
class Composer {
 public:
  HWY_INLINE Composer()
      : field0_(kModulus0),
        field_(kModulus1),
        inverse_(field_.MakeFactor(Word(kModulus1.Inverse(kPrime0 - kPrime1)))) {}

  // |x| <= 2p.
  HWY_INLINE Garner Compose(Residue x0, Residue x1) const {
    return Finish(x0, field_.Multiply(x1 - x0, inverse_));
  }
  // c - x for canonical c; |x| <= 2p. Settled, c0 - x0 is within p/2: the difference is
  // within 3.5p.
  HWY_INLINE Garner ComposeDifference(Words c0, Residue x0, Words c1, Residue x1) const {
    const Residue y0 = field0_.Settle(ToDouble(c0) - x0);
    return Finish(y0, field_.Multiply(ToDouble(c1) - x1 - y0, inverse_));
  }

 private:
  static HWY_INLINE Garner Finish(Residue x0, Residue d) {
    return {ToSignedWord(x0), ToSignedWord(d), d * Double(1.0 / static_cast<double>(kPrime1))};
  }

  Field field0_;
  Field field_;
  Factor inverse_;
};

}  // namespace tacet::ring::TACET_RING_NAMESPACE
TACET_RING_AFTER_NAMESPACE();
