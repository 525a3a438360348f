// The kernels on vectors, compiled for AVX2 and AVX-512 (Highway's AVX3), or for NEON. Products
// are not fused with sums: MulAdd would round once.
#include "tacet/models/lane_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tacet/models/lane_kernels_simd.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "tacet/base/vector_targets.h"

#if TACET_IS_VECTOR_TARGET

HWY_BEFORE_NAMESPACE();
namespace tacet::models::lanes::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using F = hn::ScalableTag<float>;
using D = hn::ScalableTag<double>;
using H = hn::Rebind<float, D>;  // as many floats as D has lanes
using Floats = hn::Vec<F>;
using Doubles = hn::Vec<D>;

constexpr size_t kFloats = hn::MaxLanes(F());
constexpr size_t kDoubles = hn::MaxLanes(D());
static_assert(kUnit % kFloats == 0);

// Results that stay in registers while the inner index runs: kRows rows of kVectors vectors.
constexpr size_t kRows = HWY_TARGET == HWY_AVX2 ? 4 : 8;
constexpr size_t kVectors = 2;

template <size_t rows, size_t vectors>
HWY_INLINE void Tile(const Product& p, size_t row, size_t column) {
  Floats sums[rows][vectors];
  for (size_t r = 0; r < rows; ++r) {
    for (size_t v = 0; v < vectors; ++v) sums[r][v] = hn::Zero(F());
  }
  const float* a = p.a + row * p.a_row;
  const float* x = p.x + column;
  for (size_t i = 0; i < p.inner; ++i, a += p.a_inner, x += p.x_inner) {
    Floats values[vectors];
    for (size_t v = 0; v < vectors; ++v) values[v] = hn::LoadU(F(), x + v * kFloats);
    for (size_t r = 0; r < rows; ++r) {
      const Floats weight = hn::Set(F(), a[r * p.a_row]);
      for (size_t v = 0; v < vectors; ++v) {
        sums[r][v] = hn::Add(sums[r][v], hn::Mul(weight, values[v]));
      }
    }
  }
  float* y = p.y + row * p.y_row + column;
  for (size_t r = 0; r < rows; ++r) {
    for (size_t v = 0; v < vectors; ++v) hn::StoreU(sums[r][v], F(), y + r * p.y_row + v * kFloats);
  }
}

template <size_t vectors>
HWY_INLINE void Columns(const Product& p, size_t column) {
  size_t row = 0;
  for (; row + kRows <= p.rows; row += kRows) Tile<kRows, vectors>(p, row, column);
  for (; row < p.rows; ++row) Tile<1, vectors>(p, row, column);
}

void Multiply(const Product& p) {
  size_t column = 0;
  for (; column + kVectors * kFloats <= p.columns; column += kVectors * kFloats) {
    Columns<kVectors>(p, column);
  }
  for (; column < p.columns; column += kFloats) Columns<1>(p, column);
}

void AddSquares(const float* x, size_t x_inner, size_t inner, size_t columns, double* square) {
  constexpr size_t kSums = kUnit / kDoubles;
  for (size_t column = 0; column < columns; column += kUnit) {
    Doubles sums[kSums];
    for (Doubles& sum : sums) sum = hn::Zero(D());
    for (size_t i = 0; i < inner; ++i) {
      for (size_t s = 0; s < kSums; ++s) {
        const Doubles value =
            hn::PromoteTo(D(), hn::LoadU(H(), x + i * x_inner + column + s * kDoubles));
        sums[s] = hn::Add(sums[s], hn::Mul(value, value));
      }
    }
    for (size_t s = 0; s < kSums; ++s) {
      double* to = square + column + s * kDoubles;
      hn::StoreU(hn::Add(hn::LoadU(D(), to), sums[s]), D(), to);
    }
  }
}

void AddRows(const float* y, size_t y_row, size_t rows, size_t columns, double* sum,
             size_t sum_row) {
  for (size_t r = 0; r < rows; ++r, y += y_row, sum += sum_row) {
    size_t l = 0;
    for (; l + kUnit <= columns; l += kUnit) {
      for (size_t at = l; at < l + kUnit; at += kDoubles) {
        const Doubles value = hn::PromoteTo(D(), hn::LoadU(H(), y + at));
        hn::StoreU(hn::Add(hn::LoadU(D(), sum + at), value), D(), sum + at);
      }
    }
    ScalarKernels().add_rows(y + l, y_row, 1, columns - l, sum + l, sum_row);
  }
}

constexpr Kernels kKernels = {.target = TACET_VECTOR_TARGET,
                              .multiply = Multiply,
                              .add_squares = AddSquares,
                              .add_rows = AddRows};

}  // namespace tacet::models::lanes::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // TACET_IS_VECTOR_TARGET

#if HWY_ONCE
namespace tacet::models::lanes {

std::span<const Kernels* const> VectorKernels() {
  static constexpr const Kernels* kVersions[] = {TACET_VECTOR_VERSIONS(kKernels)};
  return kVersions;
}

}  // namespace tacet::models::lanes
#endif  // HWY_ONCE
