#include "tacet/accounting/true_positive_rate.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/accounting/observers.h"
#include "tacet/accounting/paper_for_test.h"
#include "tacet/base/status.h"

namespace tacet::accounting {
namespace {

using ::testing::HasSubstr;

TEST(TruePositiveRateTest, ReproducesTheExplainedFigures) {
  const auto observers = ObserveFederation(PaperFederation());
  ASSERT_TRUE(observers.ok());
  const ObservedRounds& external = observers->front();
  const auto rate =
      MaxTruePositiveRate({{.round = external.round, .count = external.releases}}, 0.01);
  ASSERT_TRUE(rate.ok());
  EXPECT_NEAR(*rate, 0.096, 5e-4);
  const SamplingEvent known{.sampling = Sampling::kNone, .noise_stddev = 6, .clip_norm = 1};
  // Phi(Phi^-1(0.01) + 10/3)
  EXPECT_NEAR(*MaxTruePositiveRate(Repeated(known, 100), 0.01), 0.8431, 2e-4);
  EXPECT_THAT(base::Message(MaxTruePositiveRate({}, 1).status()),
              HasSubstr("the false-positive rate is 1"));
}

// Randomised response with epsilon = ln 3: true-positive rate 3/4 at false-positive rate 1/4,
// straight lines to (0, 0) and (1, 1).
TEST(TruePositiveRateTest, OneEpsilonHasTwoSides) {
  const double epsilon = std::log(3.0);
  EXPECT_NEAR(TruePositiveRateAt(epsilon, 0, 0.01), 0.03, 1e-12);
  EXPECT_NEAR(TruePositiveRateAt(epsilon, 0, 0.25), 0.75, 1e-12);
  EXPECT_NEAR(TruePositiveRateAt(epsilon, 0, 0.7), 0.9, 1e-12);
  EXPECT_NEAR(TruePositiveRateAt(epsilon, 0.02, 0.01), 0.05, 1e-12);
  EXPECT_NEAR(TruePositiveRateAt(50, 0, 0.01), 1, 1e-12);
  // 5 / 6 deviations apart, mostly right: the first side alone would say 1.
  const SamplingEvent known{.sampling = Sampling::kNone, .noise_stddev = 6, .clip_norm = 2.5};
  const double rate = *MaxTruePositiveRate(Repeated(known, 1), 0.9);
  EXPECT_LT(rate, 0.999);
  EXPECT_GE(rate, 0.98269);  // Phi(Phi^-1(0.9) + 5/6)
}

TEST(TruePositiveRateTest, NothingReleasedNothingLearned) {
  EXPECT_NEAR(*MaxTruePositiveRate({}, 0.01), 0.01, 1e-4);
}

}  // namespace
}  // namespace tacet::accounting
