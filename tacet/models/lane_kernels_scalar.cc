#include <algorithm>

#include "tacet/models/lane_kernels.h"

namespace tacet::models::lanes {
namespace {

void Multiply(const Product& p) {
  for (size_t r = 0; r < p.rows; ++r) {
    float* y = p.y + r * p.y_row;
    std::fill_n(y, p.columns, 0.0f);
    for (size_t i = 0; i < p.inner; ++i) {
      const float weight = p.a[r * p.a_row + i * p.a_inner];
      const float* x = p.x + i * p.x_inner;
      for (size_t l = 0; l < p.columns; ++l) y[l] += weight * x[l];
    }
  }
}

void AddSquares(const float* x, size_t x_inner, size_t inner, size_t columns, double* square) {
  for (size_t column = 0; column < columns; column += kUnit) {
    double sums[kUnit] = {};
    for (size_t i = 0; i < inner; ++i) {
      for (size_t l = 0; l < kUnit; ++l) {
        const double value = x[i * x_inner + column + l];
        sums[l] += value * value;
      }
    }
    for (size_t l = 0; l < kUnit; ++l) square[column + l] += sums[l];
  }
}

void AddRows(const float* y, size_t y_row, size_t rows, size_t columns, double* sum,
             size_t sum_row) {
  for (size_t r = 0; r < rows; ++r) {
    for (size_t l = 0; l < columns; ++l) {
      sum[r * sum_row + l] += static_cast<double>(y[r * y_row + l]);
    }
  }
}

constexpr Kernels kKernels = {.target = base::Target::kScalar,
                              .multiply = Multiply,
                              .add_squares = AddSquares,
                              .add_rows = AddRows};

}  // namespace

const Kernels& ScalarKernels() { return kKernels; }

}  // namespace tacet::models::lanes
