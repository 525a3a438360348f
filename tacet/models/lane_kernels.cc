#include "tacet/models/lane_kernels.h"

#include <cstring>

namespace tacet::models::lanes {
namespace {

#define TACET_LANES_INLINE inline __attribute__((always_inline))

using Floats = float __attribute__((vector_size(4 * kUnit)));
using Doubles = double __attribute__((vector_size(8 * kUnit)));

// kRows x kUnits * kUnit results stay in registers while the inner index runs.
template <size_t kRows, size_t kUnits>
TACET_LANES_INLINE void Tile(const Product& p, size_t row, size_t column) {
  Floats sums[kRows][kUnits] = {};
  const float* a = p.a + row * p.a_row;
  const float* x = p.x + column;
  for (size_t i = 0; i < p.inner; ++i, a += p.a_inner, x += p.x_inner) {
    Floats values[kUnits];
    std::memcpy(values, x, sizeof values);
    for (size_t r = 0; r < kRows; ++r) {
      const float weight = a[r * p.a_row];
      for (size_t u = 0; u < kUnits; ++u) sums[r][u] += weight * values[u];
    }
  }
  for (size_t r = 0; r < kRows; ++r) {
    std::memcpy(p.y + (row + r) * p.y_row + column, sums[r], sizeof sums[r]);
  }
}

template <size_t kRows, size_t kUnits>
TACET_LANES_INLINE void MultiplyIn(const Product& p) {
  size_t column = 0;
  for (; column + kUnits * kUnit <= p.columns; column += kUnits * kUnit) {
    size_t row = 0;
    for (; row + kRows <= p.rows; row += kRows) Tile<kRows, kUnits>(p, row, column);
    for (; row < p.rows; ++row) Tile<1, kUnits>(p, row, column);
  }
  for (; column < p.columns; column += kUnit) {
    size_t row = 0;
    for (; row + kRows <= p.rows; row += kRows) Tile<kRows, 1>(p, row, column);
    for (; row < p.rows; ++row) Tile<1, 1>(p, row, column);
  }
}

TACET_LANES_INLINE void SquaresIn(const float* x, size_t x_inner, size_t inner, size_t columns,
                                  double* square) {
  for (size_t column = 0; column < columns; column += kUnit) {
    Doubles sum = {};
    for (size_t i = 0; i < inner; ++i) {
      Floats values;
      std::memcpy(&values, x + i * x_inner + column, sizeof values);
      const Doubles wide = __builtin_convertvector(values, Doubles);
      sum += wide * wide;
    }
    for (size_t l = 0; l < kUnit; ++l) square[column + l] += sum[l];
  }
}

TACET_LANES_INLINE void AddRowsIn(const float* y, size_t y_row, size_t rows, size_t columns,
                                  double* sum, size_t sum_row) {
  for (size_t r = 0; r < rows; ++r) {
    for (size_t l = 0; l < columns; ++l) {
      sum[r * sum_row + l] += static_cast<double>(y[r * y_row + l]);
    }
  }
}

#define TACET_LANES_FORM(name, attribute, kRows, kUnits)                                     \
  attribute void Multiply##name(const Product& p) { MultiplyIn<kRows, kUnits>(p); }          \
  attribute void Squares##name(const float* x, size_t x_inner, size_t inner, size_t columns, \
                               double* square) {                                             \
    SquaresIn(x, x_inner, inner, columns, square);                                           \
  }                                                                                          \
  attribute void AddRows##name(const float* y, size_t y_row, size_t rows, size_t columns,    \
                               double* sum, size_t sum_row) {                                \
    AddRowsIn(y, y_row, rows, columns, sum, sum_row);                                        \
  }

TACET_LANES_FORM(Scalar, , 2, 1)
TACET_LANES_FORM(Avx2, __attribute__((target("avx2"))), 4, 1)
TACET_LANES_FORM(Avx512, __attribute__((target("avx512f,avx512dq,avx512vl"))), 8, 2)

}  // namespace

void Multiply(const Product& product, base::Simd simd) {
  switch (simd) {
    case base::Simd::kScalar:
      return MultiplyScalar(product);
    case base::Simd::kAvx2:
      return MultiplyAvx2(product);
    case base::Simd::kAvx512:
      return MultiplyAvx512(product);
  }
}

void AddSquares(const float* x, size_t x_inner, size_t inner, size_t columns, double* square,
                base::Simd simd) {
  switch (simd) {
    case base::Simd::kScalar:
      return SquaresScalar(x, x_inner, inner, columns, square);
    case base::Simd::kAvx2:
      return SquaresAvx2(x, x_inner, inner, columns, square);
    case base::Simd::kAvx512:
      return SquaresAvx512(x, x_inner, inner, columns, square);
  }
}

void AddRows(const float* y, size_t y_row, size_t rows, size_t columns, double* sum, size_t sum_row,
             base::Simd simd) {
  switch (simd) {
    case base::Simd::kScalar:
      return AddRowsScalar(y, y_row, rows, columns, sum, sum_row);
    case base::Simd::kAvx2:
      return AddRowsAvx2(y, y_row, rows, columns, sum, sum_row);
    case base::Simd::kAvx512:
      return AddRowsAvx512(y, y_row, rows, columns, sum, sum_row);
  }
}

}  // namespace tacet::models::lanes
