#include "lab/baselines/baseline_plan.h"

#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"

namespace tacet::app::baselines {
namespace {

using ::testing::HasSubstr;

dp::MechanismSpec Spec(double noise, double scale) {
  dp::MechanismSpec spec;
  spec.dimension = 2000;
  spec.params.clip_norm = 1;
  spec.params.coordinate_bound = 0.1;
  spec.params.noise_stddev = noise;
  spec.params.scale = scale;
  spec.cohort = spec.min_participants = 50;
  spec.attempts = 20;
  spec.max_epsilon = 5;
  return spec;
}

TEST(BaselinePlanTest, SumsHaveTheMeanAndTheDeviationOfThePlan) {
  crypto::InsecureSeededEntropy entropy(1, "baselines");
  crypto::Random random = crypto::Random::FromEntropy(entropy);
  for (const Baseline baseline : kBaselines) {
    const auto plan = BaselinePlan::Create(baseline, Spec(2, 0.02));
    ASSERT_TRUE(plan.ok()) << plan.status();
    const size_t d = plan->spec().dimension;
    const std::vector<float> update(d, 0.02F);  // norm 0.894
    std::vector<int64_t> encoded(d), sums(d);
    for (uint32_t k = 0; k < 50; ++k) {
      plan->Encode(update, random, encoded);
      for (size_t i = 0; i < d; ++i) sums[i] += encoded[i];
    }
    std::vector<double> mean(d);
    plan->DecodeMean(sums, 50, mean);
    double sum = 0, squares = 0;
    for (const double value : mean) {
      sum += value - 0.02;
      squares += (value - 0.02) * (value - 0.02);
    }
    const auto n = static_cast<double>(d);
    const double stddev = plan->sum_stddev() / 50;
    // 7 deviations; rounding takes at most 2 % of the planned variance here.
    EXPECT_NEAR(sum / n, 0, 7 * stddev / std::sqrt(n)) << BaselineName(baseline);
    EXPECT_NEAR(squares / n / (stddev * stddev), 0.99, 0.01 + 7 * std::sqrt(2 / n))
        << BaselineName(baseline);
    for (const int64_t value : sums) {
      ASSERT_LT(2 * std::abs(value), int64_t{1} << plan->sum_bits());
    }
    EXPECT_EQ(plan->residue_bytes(), (d * plan->sum_bits() + 7) / 8);
  }
}

TEST(BaselinePlanTest, RefusesNoiseThatCannotBeDrawn) {
  EXPECT_THAT(base::Message(BaselinePlan::Create(Baseline::kBinomial, Spec(2, 1e-5)).status()),
              HasSubstr("it draws 2 to 1073741824: choose a larger scale"));
  EXPECT_THAT(
      base::Message(BaselinePlan::Create(Baseline::kDiscreteGaussian, Spec(2, 0.9)).status()),
      HasSubstr("the theorem needs 0.5: choose a smaller scale"));
  EXPECT_FALSE(BaselinePlan::Create(Baseline::kSkellam, Spec(-1, 1e-3)).ok());
}

}  // namespace
}  // namespace tacet::app::baselines
