// The number-theoretic transform on vectors, over the Field of field_fma-inl.h or
// field_ifma-inl.h.
//
// Stages whose butterflies pair whole vectors run two at a time, four vectors in registers. The
// last ones of the forward transform (the first of the inverse one), with halves shorter than a
// vector, run on squares of kLanes vectors turned over, so that they pair whole vectors too.
//
// No include guard: kernels_simd.cc and kernels_ifma.cc include this once for each target.

#include <bit>

#include "hwy/highway.h"

#include "tacet/ring/kernels.h"

TACET_RING_BEFORE_NAMESPACE();
namespace tacet::ring::TACET_RING_NAMESPACE {

// x[i] lane j <-> x[j] lane i.
#if HWY_TARGET == HWY_NEON
HWY_INLINE void Transpose(Residue* x) {
  const hn::DFromV<Residue> d;
  const Residue first = hn::InterleaveLower(d, x[0], x[1]);
  x[1] = hn::InterleaveUpper(d, x[0], x[1]);
  x[0] = first;
}
#elif HWY_TARGET == HWY_AVX2
HWY_INLINE void Transpose(Residue* x) {
  const hn::DFromV<Residue> d;
  const Residue a = hn::InterleaveLower(d, x[0], x[1]);
  const Residue b = hn::InterleaveUpper(d, x[0], x[1]);
  const Residue e = hn::InterleaveLower(d, x[2], x[3]);
  const Residue f = hn::InterleaveUpper(d, x[2], x[3]);
  x[0] = hn::ConcatLowerLower(d, e, a);
  x[1] = hn::ConcatLowerLower(d, f, b);
  x[2] = hn::ConcatUpperUpper(d, e, a);
  x[3] = hn::ConcatUpperUpper(d, f, b);
}
#else
// Blocks of 16 bytes: 0 and 2 of a, then of b; 1 and 3 of a, then of b.
HWY_INLINE Residue EvenBlocks(Residue a, Residue b) {
  const auto x = hn::BitCast(D(), a).raw;
  const auto y = hn::BitCast(D(), b).raw;
  return hn::BitCast(hn::DFromV<Residue>(), Doubles{_mm512_shuffle_f64x2(x, y, 0x88)});
}
HWY_INLINE Residue OddBlocks(Residue a, Residue b) {
  const auto x = hn::BitCast(D(), a).raw;
  const auto y = hn::BitCast(D(), b).raw;
  return hn::BitCast(hn::DFromV<Residue>(), Doubles{_mm512_shuffle_f64x2(x, y, 0xdd)});
}
HWY_INLINE void Transpose(Residue* x) {
  const hn::DFromV<Residue> d;
  Residue pairs[8];
  for (size_t i = 0; i < 8; i += 2) {
    pairs[i] = hn::InterleaveLower(d, x[i], x[i + 1]);      // columns 0 2 4 6 of two rows
    pairs[i + 1] = hn::InterleaveUpper(d, x[i], x[i + 1]);  // columns 1 3 5 7
  }
  for (size_t odd = 0; odd < 2; ++odd) {
    const Residue top04 = EvenBlocks(pairs[odd], pairs[2 + odd]);  // columns 0 4 of rows 0 to 3
    const Residue top26 = OddBlocks(pairs[odd], pairs[2 + odd]);
    const Residue bottom04 = EvenBlocks(pairs[4 + odd], pairs[6 + odd]);
    const Residue bottom26 = OddBlocks(pairs[4 + odd], pairs[6 + odd]);
    x[odd] = EvenBlocks(top04, bottom04);
    x[2 + odd] = EvenBlocks(top26, bottom26);
    x[4 + odd] = OddBlocks(top04, bottom04);
    x[6 + odd] = OddBlocks(top26, bottom26);
  }
}
#endif

// The roots of a transform: of block `block` in a stage of `blocks`.
class Roots {
 public:
  HWY_INLINE Roots(const AlignedWords& factors, size_t degree)
      : factors_(factors.data()), degree_(degree) {}
  HWY_INLINE Factor Broadcast(size_t blocks, size_t block) const {
    return Field::BroadcastFactor(factors_, degree_, blocks + block);
  }
  // For row `row` in square `square`, a stage with halves of `half` < kLanes.
  HWY_INLINE Factor InSquare(size_t half, size_t square, size_t row) const {
    const size_t rows = kLanes / (2 * half);
    return Field::LoadFactor(factors_, degree_,
                             degree_ / (2 * half) + (square * rows + row) * kLanes);
  }

 private:
  const uint64_t* factors_;
  size_t degree_;
};

// Coefficients below 2p, or what the stage before has stored.
template <bool kFirst>
HWY_INLINE Residue LoadForward(const Field& field, const uint64_t* memory) {
  return kFirst ? field.FromBelowTwoP(hn::LoadU(U(), memory)) : Field::Load(memory);
}

// The stage with halves of degree / 2.
HWY_INLINE void ForwardFirst(const Field& field, const Roots& roots, size_t degree, uint64_t* a) {
  const size_t half = degree / 2;
  const Factor w = roots.Broadcast(1, 0);
  for (size_t i = 0; i < half; i += kLanes) {
    Residue u = LoadForward<true>(field, a + i);
    Residue v = LoadForward<true>(field, a + half + i);
    field.ForwardButterfly<false>(u, v, w);
    Field::Store(u, a + i);
    Field::Store(v, a + half + i);
  }
}

// The stages with halves of 2 quarter and quarter.
template <bool kFirst, bool kSettle>
HWY_INLINE void ForwardPair(const Field& field, const Roots& roots, size_t degree, size_t quarter,
                            uint64_t* a) {
  const size_t blocks = degree / (4 * quarter);
  for (size_t block = 0; block < blocks; ++block) {
    const Factor outer = roots.Broadcast(blocks, block);
    const Factor left = roots.Broadcast(2 * blocks, 2 * block);
    const Factor right = roots.Broadcast(2 * blocks, 2 * block + 1);
    uint64_t* const start = a + 4 * block * quarter;
    for (uint64_t* at = start; at < start + quarter; at += kLanes) {
      Residue x0 = LoadForward<kFirst>(field, at);
      Residue x1 = LoadForward<kFirst>(field, at + quarter);
      Residue x2 = LoadForward<kFirst>(field, at + 2 * quarter);
      Residue x3 = LoadForward<kFirst>(field, at + 3 * quarter);
      field.ForwardButterfly<kSettle>(x0, x2, outer);
      field.ForwardButterfly<kSettle>(x1, x3, outer);
      field.ForwardButterfly<false>(x0, x1, left);
      field.ForwardButterfly<false>(x2, x3, right);
      Field::Store(x0, at);
      Field::Store(x1, at + quarter);
      Field::Store(x2, at + 2 * quarter);
      Field::Store(x3, at + 3 * quarter);
    }
  }
}

// The stages with halves below kLanes, the first of them settled, and back to canonical words.
HWY_INLINE void ForwardSquares(const Field& field, const Roots& roots, size_t degree, uint64_t* a) {
  for (size_t square = 0; square < degree / (kLanes * kLanes); ++square) {
    uint64_t* const rows = a + square * kLanes * kLanes;
    Residue x[kLanes];
    for (size_t i = 0; i < kLanes; ++i) x[i] = Field::Load(rows + i * kLanes);
    Transpose(x);
    if constexpr (kLanes == 8) {
      const Factor w = roots.InSquare(4, square, 0);
      for (size_t i = 0; i < 4; ++i) field.ForwardButterfly<true>(x[i], x[i + 4], w);
    }
    for (size_t row = 0; row < kLanes / 4; ++row) {
      constexpr bool kSettle = kLanes == 4;
      const Factor w = roots.InSquare(2, square, row);
      field.ForwardButterfly<kSettle>(x[4 * row], x[4 * row + 2], w);
      field.ForwardButterfly<kSettle>(x[4 * row + 1], x[4 * row + 3], w);
    }
    for (size_t row = 0; row < kLanes / 2; ++row) {
      constexpr bool kSettle = kLanes == 2;
      field.ForwardButterfly<kSettle>(x[2 * row], x[2 * row + 1], roots.InSquare(1, square, row));
    }
    Transpose(x);
    for (size_t i = 0; i < kLanes; ++i) {
      hn::StoreU(field.ToCanonical(x[i]), U(), rows + i * kLanes);
    }
  }
}

// Bounds of field_fma: B = 1 at first. A settled stage leaves 1/2 + T(B) <= 5/4, a plain one
// B + T(B): 1.83, 2.45, 3.10, 3.79 after 5/4 (1.56, 2.16, 2.80, 3.47 after 1). Products take up to
// 4, so that the fifth stage in a row has to be a settled one.
void Forward(const NttTables& tables, uint64_t* polynomial) {
  const size_t degree = tables.degree;
  const Field field(tables.modulus);
  const Roots roots(tables.roots, degree);
  size_t half = degree / 2;
  size_t plain_stages;
  if (std::countr_zero(half / kLanes) % 2 == 0) {
    ForwardFirst(field, roots, degree, polynomial);
    half /= 2;
    plain_stages = 1;
  } else {
    ForwardPair<true, false>(field, roots, degree, half / 2, polynomial);
    half /= 4;
    plain_stages = 2;
  }
  for (; half >= 2 * kLanes; half /= 4) {
    if (plain_stages <= 2) {
      ForwardPair<false, false>(field, roots, degree, half / 2, polynomial);
      plain_stages += 2;
    } else {
      ForwardPair<false, true>(field, roots, degree, half / 2, polynomial);
      plain_stages = 1;
    }
  }
  ForwardSquares(field, roots, degree, polynomial);
}

// The stages with halves below kLanes on the vectors x of a square turned over: B = 1 in and out.
// In field_fma, row 0 of each four sums up to 4 and row 1 to 5/4 after two stages; of eight lanes
// row 0 must be settled before the third, which leaves 1, 5/2, 3/2, 5/4 in rows 0 to 3. Of two
// lanes there is one stage: 2 in row 0.
HWY_INLINE void InverseSquare(const Field& field, const Roots& roots, size_t square, Residue* x) {
  for (size_t row = 0; row < kLanes / 2; ++row) {
    field.InverseButterfly(x[2 * row], x[2 * row + 1], roots.InSquare(1, square, row));
  }
  for (size_t row = 0; row < kLanes / 4; ++row) {
    const Factor w = roots.InSquare(2, square, row);
    field.InverseButterfly(x[4 * row], x[4 * row + 2], w);
    field.InverseButterflyOfLoose(x[4 * row + 1], x[4 * row + 3], w);
    x[4 * row] = field.Settle(x[4 * row]);
  }
  if constexpr (kLanes == 8) {
    const Factor w = roots.InSquare(4, square, 0);
    field.InverseButterfly(x[0], x[4], w);
    field.InverseButterfly(x[1], x[5], w);
    field.InverseButterflyOfLoose(x[2], x[6], w);
    field.InverseButterflyOfLoose(x[3], x[7], w);
    x[2] = field.Settle(x[2]);
    x[3] = field.Settle(x[3]);
  }
  constexpr size_t kLoose = kLanes == 2 ? 0 : 1;
  x[kLoose] = field.Settle(x[kLoose]);
  for (size_t i = kLanes / 2; i < kLanes; ++i) x[i] = field.Tight(x[i]);
}

// The stages with halves of `quarter` and 2 quarter. In field_fma, B <= 1 in: sums of sums reach 4,
// sums of products 5/4 (both settled), products 3/4.
HWY_INLINE void InversePair(const Field& field, const Roots& roots, size_t degree, size_t quarter,
                            uint64_t* a) {
  const size_t blocks = degree / (4 * quarter);
  for (size_t block = 0; block < blocks; ++block) {
    const Factor left = roots.Broadcast(2 * blocks, 2 * block);
    const Factor right = roots.Broadcast(2 * blocks, 2 * block + 1);
    const Factor outer = roots.Broadcast(blocks, block);
    uint64_t* const start = a + 4 * block * quarter;
    for (uint64_t* at = start; at < start + quarter; at += kLanes) {
      Residue x0 = Field::Load(at);
      Residue x1 = Field::Load(at + quarter);
      Residue x2 = Field::Load(at + 2 * quarter);
      Residue x3 = Field::Load(at + 3 * quarter);
      field.InverseButterfly(x0, x1, left);
      field.InverseButterfly(x2, x3, right);
      field.InverseButterfly(x0, x2, outer);
      field.InverseButterflyOfLoose(x1, x3, outer);
      Field::Store(field.Settle(x0), at);
      Field::Store(field.Settle(x1), at + quarter);
      Field::Store(field.Tight(x2), at + 2 * quarter);
      Field::Store(field.Tight(x3), at + 3 * quarter);
    }
  }
}

// The stage with halves of degree / 2: B <= 2 out.
HWY_INLINE void InverseLast(const Field& field, const Roots& roots, size_t degree, uint64_t* a) {
  const size_t half = degree / 2;
  const Factor w = roots.Broadcast(1, 0);
  for (size_t i = 0; i < half; i += kLanes) {
    Residue u = Field::Load(a + i);
    Residue v = Field::Load(a + half + i);
    field.InverseButterfly(u, v, w);
    Field::Store(u, a + i);
    Field::Store(field.Tight(v), a + half + i);
  }
}

// The stages with halves of kLanes and more; B <= 1 in, 2 out.
HWY_INLINE void InverseOuter(const Field& field, const Roots& roots, size_t degree, uint64_t* a) {
  size_t quarter = kLanes;
  for (; 4 * quarter <= degree; quarter *= 4) InversePair(field, roots, degree, quarter, a);
  if (2 * quarter <= degree) InverseLast(field, roots, degree, a);
}

HWY_INLINE void CanonicalWords(const Field& field, size_t size, uint64_t* a) {
  for (size_t i = 0; i < size; i += kLanes) {
    hn::StoreU(field.ToCanonical(Field::Load(a + i)), U(), a + i);
  }
}

// N times the coefficients, in the field's form with B <= 2, of values that `load(i)` gives.
template <typename Load>
HWY_INLINE void InverseOf(const Field& field, const NttTables& tables, Load load, uint64_t* a) {
  const Roots roots(tables.inverse_roots, tables.degree);
  for (size_t square = 0; square < tables.degree / (kLanes * kLanes); ++square) {
    const size_t start = square * kLanes * kLanes;
    Residue x[kLanes];
    for (size_t i = 0; i < kLanes; ++i) x[i] = load(start + i * kLanes);
    Transpose(x);
    InverseSquare(field, roots, square, x);
    Transpose(x);
    for (size_t i = 0; i < kLanes; ++i) Field::Store(x[i], a + start + i * kLanes);
  }
  InverseOuter(field, roots, tables.degree, a);
}

struct CanonicalLoader {
  const Field& field;
  const uint64_t* values;
  HWY_INLINE Residue operator()(size_t i) const {
    return field.FromCanonical(hn::LoadU(U(), values + i));
  }
};
struct ProductLoader {
  const Field& field;
  const uint64_t* values;
  const uint64_t* factors;
  size_t size;
  HWY_INLINE Residue operator()(size_t i) const {
    return field.Multiply(field.FromCanonical(hn::LoadU(U(), values + i)),
                          Field::LoadFactor(factors, size, i));
  }
};

void Inverse(const NttTables& tables, uint64_t* polynomial) {
  const Field field(tables.modulus);
  InverseOf(field, tables, CanonicalLoader{field, polynomial}, polynomial);
  CanonicalWords(field, tables.degree, polynomial);
}

// As `multiply_inverse`, left in the field's form.
void MultiplyInverseLazy(const NttTables& tables, const uint64_t* values, const uint64_t* factors,
                         uint64_t* product) {
  const Field field(tables.modulus);
  InverseOf(field, tables, ProductLoader{field, values, factors, tables.degree}, product);
}

void MultiplyInverse(const NttTables& tables, const uint64_t* values, const uint64_t* factors,
                     uint64_t* product) {
  MultiplyInverseLazy(tables, values, factors, product);
  CanonicalWords(Field(tables.modulus), tables.degree, product);
}

void Multiply(const Modulus& modulus, const uint64_t* values, const uint64_t* factors, size_t size,
              uint64_t* product) {
  const Field field(modulus);
  const ProductLoader load{field, values, factors, size};
  for (size_t i = 0; i < size; i += kLanes) {
    hn::StoreU(field.ToCanonical(load(i)), U(), product + i);
  }
}

void MakeFactors(const Modulus& modulus, const uint64_t* values, uint64_t scale, size_t size,
                 uint64_t* factors) {
  const Field field(modulus);
  const Factor by_scale = field.MakeFactor(Word(scale));
  for (size_t i = 0; i < size; i += kLanes) {
    const Residue scaled =
        field.Multiply(field.FromCanonical(hn::LoadU(U(), values + i)), by_scale);
    Field::StoreFactor(field.MakeFactor(field.ToCanonical(scaled)), factors, size, i);
  }
}

void Add(const Modulus& modulus, const uint64_t* term, size_t size, uint64_t* sum) {
  const Words p = Word(modulus.prime());
  size_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    const Words x = hn::LoadU(U(), sum + i) + hn::LoadU(U(), term + i) - p;
    hn::StoreU(x + hn::And(p, SignMask(x)), U(), sum + i);
  }
  ScalarKernels().add(modulus, term + i, size - i, sum + i);
}

}  // namespace tacet::ring::TACET_RING_NAMESPACE
TACET_RING_AFTER_NAMESPACE();
