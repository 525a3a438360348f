#include "tacet/models/lane_kernels.h"

#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace tacet::models::lanes {
namespace {

std::vector<float> Values(std::mt19937& generator, size_t size) {
  std::uniform_real_distribution<float> law(-2, 2);
  std::vector<float> values(size);
  for (float& value : values) value = law(generator);
  return values;
}

TEST(LaneKernelsTest, EveryInstructionSetGivesThePlainLoopsBits) {
  std::mt19937 generator(5);
  for (const size_t rows : {1, 3, 8, 21}) {
    for (const size_t inner : {1, 7, 30}) {
      for (const size_t columns : {16, 32, 48, 80}) {
        const std::vector<float> a = Values(generator, rows * inner);
        const std::vector<float> x = Values(generator, inner * columns);
        std::vector<float> expected(rows * columns);
        std::vector<double> squares(columns, 1.5), sums(rows * columns, -0.5);
        for (size_t l = 0; l < columns; ++l) {
          for (size_t r = 0; r < rows; ++r) {
            float sum = 0;
            for (size_t i = 0; i < inner; ++i) sum += a[i * rows + r] * x[i * columns + l];
            expected[r * columns + l] = sum;
            sums[r * columns + l] += static_cast<double>(sum);
          }
          double square = 0;
          for (size_t i = 0; i < inner; ++i) {
            square += static_cast<double>(x[i * columns + l]) * x[i * columns + l];
          }
          squares[l] += square;
        }
        for (const base::Simd simd :
             {base::Simd::kScalar, base::Simd::kAvx2, base::Simd::kAvx512}) {
          if (simd > base::ActiveSimd()) continue;
          std::vector<float> y(rows * columns);
          Multiply({.a = a.data(),
                    .a_row = 1,
                    .a_inner = rows,
                    .x = x.data(),
                    .x_inner = columns,
                    .y = y.data(),
                    .y_row = columns,
                    .rows = rows,
                    .inner = inner,
                    .columns = columns},
                   simd);
          EXPECT_EQ(y, expected) << base::SimdName(simd);
          std::vector<double> square(columns, 1.5), sum(rows * columns, -0.5);
          AddSquares(x.data(), columns, inner, columns, square.data(), simd);
          EXPECT_EQ(square, squares) << base::SimdName(simd);
          AddRows(y.data(), columns, rows, columns, sum.data(), columns, simd);
          EXPECT_EQ(sum, sums) << base::SimdName(simd);
        }
      }
    }
  }
}

}  // namespace
}  // namespace tacet::models::lanes
