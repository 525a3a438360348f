// Matrix products whose columns are computed side by side in SIMD `lanes`. A column's result
// depends on that column alone, not on its neighbours, its place or how many there are.
#ifndef TACET_MODELS_LANE_KERNELS_H_
#define TACET_MODELS_LANE_KERNELS_H_

#include <cstddef>

#include "tacet/base/cpu.h"

namespace tacet::models::lanes {

inline constexpr size_t kUnit = 16;  // columns come in multiples of this

// y[r][l] = sum over i < inner of a[r][i] x[i][l], in the order of i, each product and each sum
// rounded to float: every instruction set gives the same bits. a[r][i] is at a[r * a_row +
// i * a_inner], x[i][l] at x[i * x_inner + l], y[r][l] at y[r * y_row + l].
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
void Multiply(const Product& product, base::Simd simd = base::ActiveSimd());

// square[l] += sum over i < inner of x[i][l]^2 in double, l < columns.
void AddSquares(const float* x, size_t x_inner, size_t inner, size_t columns, double* square,
                base::Simd simd = base::ActiveSimd());

// sum[r][l] += y[r][l] in double: `columns` values of `rows` rows, any number.
void AddRows(const float* y, size_t y_row, size_t rows, size_t columns, double* sum, size_t sum_row,
             base::Simd simd = base::ActiveSimd());

}  // namespace tacet::models::lanes

#endif  // TACET_MODELS_LANE_KERNELS_H_
