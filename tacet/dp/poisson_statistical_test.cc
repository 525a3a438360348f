// Each comparison: false alarm below 1e-11 (statistics_for_test.h). Power, with 1e6 draws: a mean
// off by 0.011 standard deviations, a variance off by 1.6 %, or about a hundred cells off by 4 %
// each are noticed with probability above 0.999.
#include <cmath>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/crypto/random.h"
#include "tacet/dp/poisson.h"
#include "tacet/dp/statistics_for_test.h"

namespace tacet::dp {
namespace {

using testing::kNormalLimit;

class PoissonStatisticalTest : public ::testing::TestWithParam<double> {};

TEST_P(PoissonStatisticalTest, LawAndMoments) {
  const double rate = GetParam();
  constexpr size_t draws = 1000000;
  constexpr double count = static_cast<double>(draws);
  crypto::InsecureSeededEntropy entropy(1, "poisson");
  crypto::Random random = crypto::Random::FromEntropy(entropy);
  const std::vector<double> rates(draws, rate);
  std::vector<uint32_t> values(draws);
  FillPoisson(rates, random, values);

  const testing::PoissonCells cells(rate);
  std::vector<double> observed(cells.cells);
  double sum = 0;
  double squares = 0;
  for (const uint32_t value : values) {
    observed[cells.CellOf(value)] += 1;
    const double difference = value - rate;
    sum += difference;
    squares += difference * difference;
  }
  std::vector<double> expected = cells.Probabilities(rate);
  for (double& value : expected) value *= count;
  const testing::ChiSquare fit = testing::PearsonChiSquare(observed, expected);
  EXPECT_TRUE(fit.passes()) << fit.statistic << " with " << fit.degrees << " degrees";
  // Var (Y - L)^2 = L + 2 L^2.
  EXPECT_LT(std::abs(sum), kNormalLimit * std::sqrt(count * rate));
  EXPECT_LT(std::abs(squares - count * rate),
            kNormalLimit * std::sqrt(count * (rate + 2 * rate * rate)));
}

INSTANTIATE_TEST_SUITE_P(Rates, PoissonStatisticalTest,
                         ::testing::Values(1.0, 5.0, 9.999, 10.0, 12.75, 30.0, 1e3, 4e4, 40000.37,
                                           1e7));

// Draws at rates that change from value to value, as in an update: the standardised sum.
TEST(PoissonMixedRatesTest, StandardisedSumAndIndependence) {
  constexpr size_t draws = 1000000;
  std::vector<double> rates(draws);
  for (size_t i = 0; i < draws; ++i) rates[i] = std::exp(0.002 * static_cast<double>(i % 8000));
  std::vector<uint32_t> values(draws);
  crypto::InsecureSeededEntropy entropy(1, "mixed");
  crypto::Random random = crypto::Random::FromEntropy(entropy);
  FillPoisson(rates, random, values);
  double sum = 0;
  double squares = 0;
  double variance = 0;
  double lag = 0;
  double last = 0;
  for (size_t i = 0; i < draws; ++i) {
    const double z = (values[i] - rates[i]) / std::sqrt(rates[i]);
    sum += z;
    squares += z * z - 1;
    variance += 2 + 1 / rates[i];
    lag += z * last;
    last = z;
  }
  const double root = std::sqrt(static_cast<double>(draws));
  EXPECT_LT(std::abs(sum), kNormalLimit * root);
  EXPECT_LT(std::abs(squares), kNormalLimit * std::sqrt(variance));
  EXPECT_LT(std::abs(lag), kNormalLimit * root);
}

}  // namespace
}  // namespace tacet::dp
