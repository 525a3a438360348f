// Matrix products whose columns are computed side by side in vectors. A column's result depends on
// that column alone, not on its neighbours, its place or how many there are. Each product and each
// sum is rounded by itself, so every version gives the same bits; lane_kernels_scalar.cc is the
// oracle.
#ifndef TACET_MODELS_LANE_KERNELS_H_
#define TACET_MODELS_LANE_KERNELS_H_

#include <cstddef>
#include <span>

#include "tacet/base/target.h"

namespace tacet::models::lanes {

inline constexpr size_t kUnit = 16;  // columns come in multiples of this

// y[r][l] = sum over i < inner of a[r][i] x[i][l] in float, in the order of i. a[r][i] is at
// a[r * a_row + i * a_inner], x[i][l] at x[i * x_inner + l], y[r][l] at y[r * y_row + l].
struct Product {
  const float* a = nullptr;
  size_t a_row = 0;
  size_t a_inner = 0;
  const float* x = nullptr;
  size_t x_inner = 0;
  float* y = nullptr;
  size_t y_row = 0;
  size_t rows = 0;
  size_t inner = 0;
  size_t columns = 0;  // a multiple of kUnit
};

struct Kernels {
  base::Target target = base::Target::kScalar;

  void (*multiply)(const Product& product) = nullptr;
  // square[l] += sum over i < inner of x[i][l]^2 in double, in the order of i; l < columns, a
  // multiple of kUnit.
  void (*add_squares)(const float* x, size_t x_inner, size_t inner, size_t columns,
                      double* square) = nullptr;
  // sum[r][l] += y[r][l] in double: `columns` values, any number, of `rows` rows.
  void (*add_rows)(const float* y, size_t y_row, size_t rows, size_t columns, double* sum,
                   size_t sum_row) = nullptr;
};

// Choice at run time (base/kernel_sets.h): the widest version that may be used, and every version
// of this processor.
const Kernels& ActiveKernels();
std::span<const Kernels* const> AvailableKernels();

// The versions themselves, those on vectors from the narrowest to the widest.
const Kernels& ScalarKernels();
std::span<const Kernels* const> VectorKernels();

}  // namespace tacet::models::lanes

#endif  // TACET_MODELS_LANE_KERNELS_H_
