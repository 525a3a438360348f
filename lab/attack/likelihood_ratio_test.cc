#include "lab/attack/likelihood_ratio.h"

#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/attack/operating_point.h"
#include "tacet/base/status.h"
#include "tacet/crypto/seeded_random.h"

namespace tacet::lab::attack {
namespace {

using tacet::attack::AreaUnderCurve;
using tacet::attack::MembershipScores;
using tacet::attack::OperatingPoint;
using tacet::attack::PointAt;
using tacet::attack::SplitScores;

using ::testing::HasSubstr;

constexpr size_t kShadows = 64;
constexpr size_t kCandidates = 4000;

double Normal(crypto::Random& random) {
  return std::sqrt(-2 * std::log1p(-crypto::Uniform(random))) *
         std::cos(2 * 3.14159265358979 * crypto::Uniform(random));
}

struct World {
  std::vector<double> attacked;
  std::vector<bool> is_member;
  std::vector<ShadowModel> shadows;
};

// Candidates differ in difficulty, which is most of what a score shows; training on a candidate
// raises its score by `shift` deviations.
World MakeWorld(double shift) {
  crypto::Random random = crypto::SeededRandom(7, "world");
  std::vector<double> difficulty(kCandidates);
  for (double& value : difficulty) value = 5 * Normal(random);
  World world;
  world.shadows.resize(kShadows);
  const auto say = [&](size_t i, bool trained) {
    return difficulty[i] + (trained ? shift : 0) + Normal(random);
  };
  for (size_t i = 0; i < kCandidates; ++i) {
    world.is_member.push_back(i % 2 == 0);
    world.attacked.push_back(say(i, world.is_member[i]));
    for (size_t s = 0; s < kShadows; ++s) {
      world.shadows[s].trained_on.push_back((i / 2 + s) % 2 == 0);
      world.shadows[s].confidences.push_back(say(i, world.shadows[s].trained_on[i]));
    }
  }
  return world;
}

// With equal variances the best test's power at 1 % is 1 - Phi(2.326 - shift); knowing means from
// 32 models each costs a little.
TEST(LikelihoodRatiosTest, FindsWhatDifficultyHidesFromAThreshold) {
  const World world = MakeWorld(3);
  const auto ratios = LikelihoodRatios(world.attacked, world.shadows);
  ASSERT_TRUE(ratios.ok()) << ratios.status();
  const OperatingPoint best = PointAt(SplitScores(*ratios, world.is_member), 0.01);
  EXPECT_GT(best.true_positive_rate(), 0.60);
  EXPECT_LT(best.true_positive_rate(), 0.80);  // 0.75 with all known
  const OperatingPoint plain = PointAt(SplitScores(world.attacked, world.is_member), 0.01);
  EXPECT_LT(plain.true_positive_rate(), 0.12);
}

TEST(LikelihoodRatiosTest, FindsNothingWhereThereIsNothing) {
  const World world = MakeWorld(0);
  const MembershipScores scores =
      SplitScores(*LikelihoodRatios(world.attacked, world.shadows), world.is_member);
  EXPECT_NEAR(*AreaUnderCurve(scores), 0.5, 0.03);
  EXPECT_LT(PointAt(scores, 0.01).TruePositiveInterval(0.999).low, 0.01);
}

TEST(LikelihoodRatiosTest, IsTheRatioOfTwoNormalDensities) {
  // Two candidates alike: deviations 1 among those in, 2 among those out, so own and common
  // variance agree.
  World world;
  world.attacked = {1.5, 1.5};
  const std::vector<double> said = {2, 4, 2, 4, -2, 2, -2, 2};
  for (size_t s = 0; s < said.size(); ++s) {
    world.shadows.push_back({.confidences = {said[s], said[s]}, .trained_on = {s < 4, s < 4}});
  }
  const double in = 4.0 / 3, out = 16.0 / 3;  // unbiased variances
  const double expected =
      -0.5 * (std::log(in) + 1.5 * 1.5 / in) + 0.5 * (std::log(out) + 1.5 * 1.5 / out);
  const auto ratios = LikelihoodRatios(world.attacked, world.shadows);
  ASSERT_TRUE(ratios.ok());
  EXPECT_NEAR((*ratios)[0], expected, 1e-12);
}

TEST(LikelihoodRatiosTest, DivergedModelsAndUnseenCandidatesSayNothing) {
  World world = MakeWorld(3);
  const auto before = LikelihoodRatios(world.attacked, world.shadows);
  ShadowModel diverged = world.shadows[0];
  diverged.confidences.assign(kCandidates, std::numeric_limits<double>::quiet_NaN());
  world.shadows.push_back(diverged);
  EXPECT_EQ(*LikelihoodRatios(world.attacked, world.shadows), *before);
  for (ShadowModel& shadow : world.shadows) shadow.trained_on[0] = false;
  EXPECT_EQ((*LikelihoodRatios(world.attacked, world.shadows))[0], 0);
}

TEST(LikelihoodRatiosTest, RefusesWhatDoesNotFit) {
  World world = MakeWorld(1);
  world.shadows[3].confidences.pop_back();
  EXPECT_THAT(base::Message(LikelihoodRatios(world.attacked, world.shadows).status()),
              HasSubstr("shadow model 3 speaks of 3999 candidates, the attack is on 4000"));
  world.shadows.resize(3);
  EXPECT_THAT(base::Message(LikelihoodRatios(world.attacked, world.shadows).status()),
              HasSubstr("3 shadow models, at least 4"));
}

}  // namespace
}  // namespace tacet::lab::attack
