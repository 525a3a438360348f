// The tight accountant against the two-member adversary on 2,000 random settings.
#include <cmath>
#include <random>

#include "fmt/core.h"
#include <gtest/gtest.h>

#include "tacet/accounting/fixed_size_accountant.h"
#include "tacet/accounting/two_member_adversary_for_test.h"

namespace tacet::accounting {
namespace {

// 2,000 settings in twenty parts, so that they can run side by side.
class FixedSizeRandomLongTest : public testing::TestWithParam<int> {};

TEST_P(FixedSizeRandomLongTest, IsNeverBelowTheTwoMemberAdversary) {
  std::mt19937_64 random(static_cast<uint64_t>(GetParam()));
  const auto uniform = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  const auto log_uniform = [&](double low, double high) {
    return std::exp(uniform(std::log(low), std::log(high)));
  };
  int compared = 0, close = 0;
  for (int i = 0; i < 100; ++i) {
    const double q = i % 10 == 0 ? 1 : log_uniform(0.02, 1);
    const double noise = log_uniform(0.4, 30);
    const int rounds = static_cast<int>(log_uniform(2, 60));
    const double delta = log_uniform(1e-12, 0.3);
    const bool replace_one = i % 2 == 0;
    const SamplingEvent event = {
        .neighbouring = replace_one ? Neighbouring::kReplaceOne : Neighbouring::kZeroOut,
        .sampling = Sampling::kFixedSize,
        .sampling_rate = q,
        .noise_stddev = noise};
    const auto tight = FixedSizeEpsilon(Repeated(event, static_cast<uint64_t>(rounds)), delta);
    ASSERT_TRUE(tight.ok()) << tight.status();
    if (!tight->has_value()) continue;
    ++compared;
    const std::string setting = fmt::format("q {} noise {} rounds {} delta {} replace-one {}", q,
                                            noise, rounds, delta, replace_one);
    const AdversarySetting adversary = {
        .members = replace_one ? ReplaceOneMembers(q, 2 / noise) : ZeroOutMembers(q, 1 / noise),
        .rounds = rounds,
        .resolution = 12};
    // The adversary's bound has rounding errors of about 1e-13 of delta.
    EXPECT_LE(AdversaryDelta(adversary, (*tight)->epsilon), delta * (1 + 1e-9)) << setting;
    EXPECT_LE((*tight)->epsilon_lower, (*tight)->epsilon) << setting;
    close += AdversaryDelta(adversary, 0.9 * (*tight)->epsilon) > delta ? 1 : 0;
  }
  // Most comparisons would notice a figure that is a tenth too small.
  EXPECT_GE(compared, 60);
  EXPECT_GE(close, compared / 2);
}

INSTANTIATE_TEST_SUITE_P(Seeds, FixedSizeRandomLongTest, testing::Range(0, 20));

}  // namespace
}  // namespace tacet::accounting
