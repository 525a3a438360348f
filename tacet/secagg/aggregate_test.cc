#include "tacet/secagg/aggregate.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/crypto/random.h"
#include "tacet/secagg/testing/small_round.h"

namespace tacet::secagg {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kParticipants = 20;
constexpr uint64_t kSumDimension = 4000;

dp::MechanismPlan Plan(bool sums_of_clipped = false) {
  dp::MechanismSpec spec = testing::SmallTerms(kSumDimension, kParticipants).mechanism;
  spec.sums_of_clipped = sums_of_clipped;
  return testing::ValueOf(dp::MechanismPlan::Create(spec));
}

absl::Status CheckOf(const dp::MechanismPlan& plan, const std::vector<double>& x) {
  AggregateBound bound(plan, kParticipants);
  std::vector<uint64_t> sums;
  for (const double value : x) {
    sums.push_back(static_cast<uint64_t>(static_cast<int64_t>(kParticipants * plan.offset()) +
                                         std::llround(value / plan.spec().params.scale)));
  }
  bound.Append(std::span(sums).first(1000));
  bound.Append(std::span(sums).subspan(1000));
  return bound.Check();
}

// Honest sums of real seals, all of them as large as clipping allows and in one direction.
TEST(AggregateBoundTest, HonestSumsPass) {
  const dp::MechanismPlan plan = Plan();
  const dp::Mechanism mechanism(plan);
  std::vector<float> update(kSumDimension, 1e6f);  // clipped to norm S
  std::vector<float> clipped(kSumDimension);
  mechanism.Clip(update, clipped);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<uint64_t> sums(kSumDimension);
    for (uint32_t k = 0; k < kParticipants; ++k) {
      crypto::InsecureSeededEntropy entropy(100 * seed + k, "honest");
      crypto::Random noise = crypto::Random::FromEntropy(entropy);
      crypto::Random poisson = crypto::Random::FromEntropy(entropy);
      std::vector<uint32_t> counts(kSumDimension);
      mechanism.NoiseAndQuantize(clipped, noise, poisson, counts);
      for (size_t i = 0; i < kSumDimension; ++i) sums[i] += counts[i];
    }
    AggregateBound bound(plan, kParticipants);
    bound.Append(sums);
    EXPECT_TRUE(bound.Check().ok()) << base::Message(bound.Check());
  }
}

// One client adds 2^(w-2) to each count: far below the field's range, so that nothing overflows.
TEST(AggregateBoundTest, OneModifiedClientIsNoticed) {
  const dp::MechanismPlan plan = Plan();
  const Terms terms =
      testing::ValueOf(Terms::Create(testing::SmallTerms(kSumDimension, kParticipants)));
  const double shift = plan.spec().params.scale *
                       std::ldexp(1.0, static_cast<int>(terms.aggregation().plaintext_bits()) - 2);
  EXPECT_THAT(base::Message(CheckOf(plan, std::vector<double>(kSumDimension, shift))),
              HasSubstr("a participant sent more than clipping allows"));
}

TEST(AggregateBoundTest, CoordinatesAndNormAreBounded) {
  const dp::MechanismPlan plan = Plan();
  const double most = kParticipants * 0.1;
  const double stddev = plan.sum_stddev(kParticipants, most);
  std::vector<double> x(kSumDimension);
  x[7] = -(most + 9.9 * stddev);
  EXPECT_TRUE(CheckOf(plan, x).ok());
  x[7] = -(most + 10.1 * stddev);
  EXPECT_THAT(base::Message(CheckOf(plan, x)), HasSubstr("a coordinate of the sum"));
  // All coordinates within their bound, but too many of them large.
  EXPECT_THAT(base::Message(CheckOf(plan, std::vector<double>(kSumDimension, 3 * stddev))),
              HasSubstr("has norm"));
  // A sum of records' gradients has no bound on its norm.
  EXPECT_TRUE(CheckOf(Plan(true), std::vector<double>(kSumDimension, 3 * stddev)).ok());
}

}  // namespace
}  // namespace tacet::secagg
