// Residues mod p < 2^50 in vectors of 52-bit integers: for processors with AVX-512 IFMA, whose
// multiply-add gives either half of the 104-bit product of two 52-bit integers.
//
// A residue is x in [0, 2p), a difference at most 4p < 2^52. A factor is w < p with
// floor(w 2^52 / p) (Shoup): q = floor(x w' / 2^52) is at most one below floor(x w / p) for any
// x < 2^52, so x w - q p is in [0, 2p), and known from its low 52 bits.
//
// No include guard: kernels_simd.cc and kernels_ifma.cc include this once for each target.

#include "hwy/highway.h"

#include "tacet/ring/kernels.h"

TACET_RING_BEFORE_NAMESPACE();
namespace tacet::ring::TACET_RING_NAMESPACE {

constexpr uint64_t kLow52 = (uint64_t{1} << 52) - 1;

HWY_INLINE Doubles ToDouble(Words x) { return hn::ConvertTo(D(), x); }
HWY_INLINE Words PopCount(Words x) { return Words{_mm512_popcnt_epi64(x.raw)}; }

// accumulator + the low or high 52 bits of the product of the low 52 bits of a and b.
HWY_INLINE Words AddLow(Words accumulator, Words a, Words b) {
  return Words{_mm512_madd52lo_epu64(accumulator.raw, a.raw, b.raw)};
}
HWY_INLINE Words AddHigh(Words accumulator, Words a, Words b) {
  return Words{_mm512_madd52hi_epu64(accumulator.raw, a.raw, b.raw)};
}
// x - bound when x >= bound, else x: the smaller one of the two as unsigned words.
HWY_INLINE Words Reduce(Words x, Words bound) { return hn::Min(x, x - bound); }

using Residue = Words;
struct Factor {
  Words value;
  Words quotient;
};

class Field {
 public:
  HWY_INLINE explicit Field(const Modulus& modulus)
      : p_(Word(modulus.prime())),
        two_p_(Word(2 * modulus.prime())),
        minus_p_(Word((uint64_t{1} << 52) - modulus.prime())),
        reciprocal_(Double(0x1p52 / static_cast<double>(modulus.prime()))) {}

  HWY_INLINE Residue FromBelowTwoP(Words x) const { return x; }
  HWY_INLINE Residue FromCanonical(Words x) const { return x; }
  // x < 4p.
  HWY_INLINE Words ToCanonical(Residue x) const { return Reduce(Reduce(x, two_p_), p_); }

  static HWY_INLINE Residue Load(const uint64_t* memory) { return hn::LoadU(U(), memory); }
  static HWY_INLINE void Store(Residue x, uint64_t* memory) { hn::StoreU(x, U(), memory); }

  // The quotient from double precision is off by less than 2 and then cut: less one it is 0 to 3
  // too small, and the remainder, below 4p < 2^52, says how many.
  HWY_INLINE Factor MakeFactor(Words value) const {
    const Doubles real = ToDouble(value);
    const Words estimate = hn::BitCast(U(), hn::ConvertTo(I(), real * reciprocal_)) - Word(1);
    const Words remainder = hn::And(AddLow(hn::Zero(U()), estimate, minus_p_), Word(kLow52));
    Words quotient = estimate;
    for (const Words bound : {p_, two_p_, two_p_ + p_}) {
      quotient = quotient + Word(1) + SignMask(remainder - bound);
    }
    return {value, quotient};
  }
  static HWY_INLINE Factor LoadFactor(const uint64_t* factors, size_t size, size_t index) {
    return {hn::LoadU(U(), factors + index), hn::LoadU(U(), factors + size + index)};
  }
  static HWY_INLINE Factor BroadcastFactor(const uint64_t* factors, size_t size, size_t index) {
    return {Word(factors[index]), Word(factors[size + index])};
  }
  static HWY_INLINE void StoreFactor(Factor factor, uint64_t* factors, size_t size, size_t index) {
    hn::StoreU(factor.value, U(), factors + index);
    hn::StoreU(factor.quotient, U(), factors + size + index);
  }

  // x < 2^52 (only these bits are looked at), out below 2p.
  HWY_INLINE Residue Multiply(Residue x, Factor w) const { return Tight(MultiplyLoose(x, w)); }
  // Both low halves are added, - p as 2^52 - p. The carry stays: a loose product is known from its
  // low 52 bits, and Tight cuts it off.
  HWY_INLINE Residue MultiplyLoose(Residue x, Factor w) const {
    const Words q = AddHigh(hn::Zero(U()), x, w.quotient);
    const Words product = AddLow(hn::Zero(U()), x, w.value);
    return AddLow(product, q, minus_p_);
  }
  HWY_INLINE Residue Tight(Residue x) const { return hn::And(x, Word(kLow52)); }
  // Every value is settled all the time.
  HWY_INLINE Residue Settle(Residue x) const { return x; }

  // (u, v) <- (u + v w, u - v w): below 4p in and out.
  template <bool kSettle>
  HWY_INLINE void ForwardButterfly(Residue& u, Residue& v, Factor w) const {
    const Residue settled = Reduce(u, two_p_);
    const Residue t = Multiply(v, w);
    u = settled + t;
    v = settled + two_p_ - t;
  }
  // (u, v) <- (u + v, (u - v) w): below 2p in and out; v comes out loose.
  HWY_INLINE void InverseButterfly(Residue& u, Residue& v, Factor w) const {
    const Residue difference = u + two_p_ - v;
    u = Reduce(u + v, two_p_);
    v = MultiplyLoose(difference, w);
  }
  // The same for two loose products: one cut for the sum, none for the difference.
  HWY_INLINE void InverseButterflyOfLoose(Residue& u, Residue& v, Factor w) const {
    const Residue difference = u + two_p_ - v;
    u = Reduce(Tight(u + v), two_p_);
    v = MultiplyLoose(difference, w);
  }

  HWY_INLINE Words p() const { return p_; }
  HWY_INLINE Words two_p() const { return two_p_; }

 private:
  Words p_;
  Words two_p_;
  Words minus_p_;
  Doubles reciprocal_;
};

// The Garner step, d = (x1 - x0) / p0 mod p1: x0 + p0 d has the residues x0 and x1.
struct Garner {
  Words x0;       // [0, p0)
  Words d;        // [0, 2 p1)
  Doubles share;  // p0 d / Q, within 2^-40
};
class Composer {
 public:
  HWY_INLINE Composer()
      : field0_(kModulus0),
        field1_(kModulus1),
        inverse_(field1_.MakeFactor(Word(kModulus1.Inverse(kPrime0 - kPrime1)))) {}

  // x < 2p. x1 - x0 + 2 p1 is positive, since x0 < p0 < 2 p1, and below 4 p1.
  HWY_INLINE Garner Compose(Residue x0, Residue x1) const {
    const Words y0 = Reduce(x0, field0_.p());
    const Words d = field1_.Multiply(x1 + field1_.two_p() - y0, inverse_);
    return {y0, d, ToDouble(d) * Double(1.0 / static_cast<double>(kPrime1))};
  }
  // c - x for canonical c; x < 2p: c - x + 2p < 3p is reduced below 2p.
  HWY_INLINE Garner ComposeDifference(Words c0, Residue x0, Words c1, Residue x1) const {
    return Compose(Reduce(c0 + field0_.two_p() - x0, field0_.two_p()),
                   Reduce(c1 + field1_.two_p() - x1, field1_.two_p()));
  }

 private:
  Field field0_;
  Field field1_;
  Factor inverse_;
};

}  // namespace tacet::ring::TACET_RING_NAMESPACE
TACET_RING_AFTER_NAMESPACE();
