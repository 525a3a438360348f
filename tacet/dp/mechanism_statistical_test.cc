// Each comparison: false alarm below 1e-11 (statistics_for_test.h); power next to each test.
#include <cmath>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/crypto/random.h"
#include "tacet/dp/mechanism_plan.h"
#include "tacet/dp/poisson_quantizer.h"
#include "tacet/dp/quantize_for_test.h"
#include "tacet/dp/statistics_for_test.h"

namespace tacet::dp {
namespace {

using testing::kNormalLimit;

// Quantising five terms and adding the counts, against quantising their sum with five times the
// offset: 500,000 draws each. A law off by 4 % in each of a hundred cells, or a mean off by 0.02
// standard deviations, is noticed with probability above 0.999.
TEST(QuantizerStatisticalTest, QuantizedTermsSumToTheQuantizedSum) {
  constexpr size_t draws = 500000;
  const double scale = 1e-2;
  const std::vector<double> terms = {-0.93, 0.4, 0.07, -0.311, 0.9};
  const auto each = PoissonQuantizer::Create({.scale = scale, .offset = -1.0});
  const auto whole = PoissonQuantizer::Create({.scale = scale, .offset = -5.0});
  ASSERT_TRUE(each.ok() && whole.ok());
  crypto::InsecureSeededEntropy entropy(1, "terms");
  crypto::Random random = crypto::Random::FromEntropy(entropy);
  crypto::Random other = crypto::Random::FromEntropy(entropy);

  std::vector<uint64_t> added(draws);
  std::vector<uint32_t> counts(draws);
  double sum = 0;
  for (const double term : terms) {
    Quantize(*each, std::vector<double>(draws, term), random, counts);
    for (size_t i = 0; i < draws; ++i) added[i] += counts[i];
    sum += term;
  }
  Quantize(*whole, std::vector<double>(draws, sum), other, counts);

  const double rate = (sum + 5.0) / scale;
  const testing::PoissonCells cells(rate);
  std::vector<double> first(cells.cells);
  std::vector<double> second(cells.cells);
  double difference = 0;
  double squares = 0;
  for (size_t i = 0; i < draws; ++i) {
    first[cells.CellOf(added[i])] += 1;
    second[cells.CellOf(counts[i])] += 1;
    const double a = static_cast<double>(added[i]) - rate;
    const double b = counts[i] - rate;
    difference += a - b;
    squares += a * a - b * b;
  }
  const testing::ChiSquare fit = testing::TwoSampleChiSquare(first, second);
  EXPECT_GT(fit.degrees, 50);
  EXPECT_TRUE(fit.passes()) << fit.statistic << " with " << fit.degrees << " degrees";
  const double count = static_cast<double>(draws);
  EXPECT_LT(std::abs(difference), kNormalLimit * std::sqrt(2 * count * rate));
  EXPECT_LT(std::abs(squares), kNormalLimit * std::sqrt(2 * count * (rate + 2 * rate * rate)));
}

// The error of a sum of K' = 6 of at most 7 uploads with K_min = 5: mean 0 and variance
// sigma^2 K'/K_min + s (K' |mu| + Sum u). With 3e6 coordinates its root is known to 0.28 % at 6.82
// standard deviations, inside the 0.3 % asserted; 0.6 % is noticed with probability above 0.999.
class AggregateNoiseTest : public ::testing::TestWithParam<double> {};

TEST_P(AggregateNoiseTest, HasThePlansMeanAndVariance) {
  constexpr size_t coordinates = 3000000;
  constexpr uint32_t participants = 6;
  MechanismSpec spec;
  spec.dimension = coordinates;
  spec.params.clip_norm = 1;
  spec.params.coordinate_bound = 0.5;
  spec.params.noise_stddev = 1.5;
  spec.params.scale = GetParam();
  spec.cohort = 7;
  spec.min_participants = 5;
  spec.attempts = 1;
  const auto plan = MechanismPlan::Create(spec);
  ASSERT_TRUE(plan.ok()) << plan.status();
  const Mechanism mechanism(*plan);
  crypto::InsecureSeededEntropy entropy(1, "aggregate");

  std::vector<uint64_t> sums(coordinates);
  std::vector<uint32_t> counts(coordinates);
  double sum_u = 0;
  for (uint32_t k = 0; k < participants; ++k) {
    const float u = 0.45f - 0.05f * static_cast<float>(k);
    sum_u += u;
    crypto::Random noise = crypto::Random::FromEntropy(entropy);
    crypto::Random poisson = crypto::Random::FromEntropy(entropy);
    mechanism.NoiseAndQuantize(std::vector<float>(coordinates, u), noise, poisson, counts);
    for (size_t i = 0; i < coordinates; ++i) sums[i] += counts[i];
  }
  std::vector<double> mean(coordinates);
  mechanism.DecodeMean(sums, participants, mean);

  double first = 0;
  double second = 0;
  const double centre = static_cast<double>(participants * plan->offset());
  for (size_t i = 0; i < coordinates; ++i) {
    const double error = mean[i] * participants - sum_u;
    first += error;
    second += error * error;
    EXPECT_LE(std::abs(static_cast<double>(sums[i]) - centre),
              static_cast<double>(plan->sum_bound()));
  }
  const double count = static_cast<double>(coordinates);
  const double stddev = plan->sum_stddev(participants, sum_u);
  EXPECT_NEAR(stddev * stddev,
              1.5 * 1.5 * 6 / 5 + spec.params.scale * (participants * -plan->mu() + sum_u), 1e-9);
  EXPECT_LT(std::abs(first), kNormalLimit * stddev * std::sqrt(count));
  EXPECT_NEAR(std::sqrt(second / count) / stddev, 1.0, 0.003);
}

// A fine scale, where the Gaussian noise is nearly all, and a coarse one, where the quantisation
// makes up half of the variance.
INSTANTIATE_TEST_SUITE_P(Scales, AggregateNoiseTest, ::testing::Values(1e-4, 0.05));

}  // namespace
}  // namespace tacet::dp
