#include "tacet/models/lane_kernels.h"

#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/kernel_versions_for_test.h"

namespace tacet::models::lanes {
namespace {

constexpr base::Target kTargets[] = {base::Target::kNeon, base::Target::kAvx2,
                                     base::Target::kAvx512};

std::vector<float> Values(std::mt19937& generator, size_t size) {
  std::uniform_real_distribution<float> law(-2, 2);
  std::vector<float> values(size);
  for (float& value : values) value = law(generator);
  return values;
}

class LaneKernelsTest : public base::KernelVersionTest<Kernels, AvailableKernels> {};

TEST(LaneKernelSetsTest, EveryVersionOfTheProcessorIsItsOwn) {
  const auto available = AvailableKernels();
  base::ExpectVersions(available, {std::begin(kTargets), std::end(kTargets)});
  EXPECT_EQ(available.front(), &ScalarKernels());
  EXPECT_THAT(available, testing::Contains(&ActiveKernels()));
  for (const Kernels* kernels : available) {
    for (const Kernels* other : available) {
      if (other == kernels) continue;
      EXPECT_NE(other->multiply, kernels->multiply);
      EXPECT_NE(other->add_squares, kernels->add_squares);
      EXPECT_NE(other->add_rows, kernels->add_rows);
    }
  }
}

// The definition, one result after the other.
TEST(LaneKernelSetsTest, TheOracleMultiplies) {
  const std::vector<float> a = {1, 2, 3, 4, 5, 6};  // 2 x 3
  std::vector<float> x(3 * kUnit), y(2 * kUnit);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7);
  ScalarKernels().multiply({.a = a.data(),
                            .a_row = 3,
                            .a_inner = 1,
                            .x = x.data(),
                            .x_inner = kUnit,
                            .y = y.data(),
                            .y_row = kUnit,
                            .rows = 2,
                            .inner = 3,
                            .columns = kUnit});
  for (size_t l = 0; l < kUnit; ++l) {
    EXPECT_EQ(y[l], x[l] + 2 * x[kUnit + l] + 3 * x[2 * kUnit + l]);
    EXPECT_EQ(y[kUnit + l], 4 * x[l] + 5 * x[kUnit + l] + 6 * x[2 * kUnit + l]);
  }
}

TEST_P(LaneKernelsTest, GivesTheOraclesBits) {
  std::mt19937 generator(5);
  for (const size_t rows : {1, 3, 8, 21}) {
    for (const size_t inner : {1, 7, 30}) {
      for (const size_t columns : {16, 32, 48, 80}) {
        const std::vector<float> a = Values(generator, rows * inner);
        const std::vector<float> x = Values(generator, inner * columns);
        const auto run = [&](const Kernels& kernels) {
          std::vector<float> y(rows * columns);
          kernels.multiply({.a = a.data(),
                            .a_row = 1,
                            .a_inner = rows,
                            .x = x.data(),
                            .x_inner = columns,
                            .y = y.data(),
                            .y_row = columns,
                            .rows = rows,
                            .inner = inner,
                            .columns = columns});
          std::vector<double> squares(columns, 1.5), sums(rows * columns, -0.5);
          kernels.add_squares(x.data(), columns, inner, columns, squares.data());
          // Rows that end next to a vector's end, too.
          kernels.add_rows(y.data(), columns, rows, columns - 3, sums.data(), columns);
          return std::tuple(y, squares, sums);
        };
        EXPECT_EQ(run(Tested()), run(ScalarKernels()))
            << rows << " x " << inner << " x " << columns;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, LaneKernelsTest, testing::ValuesIn(kTargets), base::NameOfTarget);

}  // namespace
}  // namespace tacet::models::lanes
