#include "tacet/dp/mechanism_plan.h"

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/crypto/seeded_random.h"
#include "tacet/dp/mechanism_plan_for_test.h"
#include "tacet/dp/precision.h"

namespace tacet::dp {
namespace {

using ::testing::HasSubstr;

// The published setting with b = 0.1; epsilon of 100 own rounds without amplification.
MechanismSpec PublishedSetting() {
  MechanismSpec spec;
  spec.dimension = 486654;
  spec.params.clip_norm = 1;
  spec.params.coordinate_bound = 0.1;
  spec.params.noise_stddev = 6;
  spec.params.scale = 1e-4;
  spec.cohort = 1000;
  spec.min_participants = 1000;
  spec.attempts = 100;
  spec.delta = 1e-5;
  spec.max_epsilon = 19.13;
  return spec;
}

int BitsOf(uint64_t sum_bound) {
  int bits = 1;
  while ((uint64_t{1} << (bits - 1)) <= sum_bound) ++bits;
  return bits;
}

TEST(MechanismPlanTest, PublishedSetting) {
  const MechanismPlan plan = PlanOf(PublishedSetting());
  const double sigma_k = 6 / std::sqrt(1000.0);
  EXPECT_DOUBLE_EQ(plan.participant_stddev(), sigma_k);
  EXPECT_NEAR(plan.noise_bound(), 13.32084 * sigma_k, 1e-5);
  EXPECT_EQ(plan.offset(), static_cast<uint64_t>(std::ceil((0.1 + plan.noise_bound()) / 1e-4)) + 1);
  EXPECT_DOUBLE_EQ(plan.mu(), -1e-4 * static_cast<double>(plan.offset()));
  EXPECT_NEAR(plan.max_rate(), (0.1 + plan.noise_bound() - plan.mu()) / 1e-4, 1e-3);
  // The smallest rate is at least 1.
  EXPECT_GE((-0.1 - plan.noise_bound() - plan.mu()) / 1e-4, 1 - 1e-9);
  // 22 bits a value, and the room that 100-bit slots need at K = 1000.
  EXPECT_EQ(BitsOf(plan.sum_bound()), 22);
  EXPECT_LE(plan.sum_bound(), 2096127u);
  EXPECT_LT(plan.wrong_value_probability(), 0x1p-40);
  EXPECT_GT(plan.wrong_value_probability(), 0x1p-41);
  EXPECT_GT(plan.sum_bound_stddevs(), 9.2);  // the normal quantile of 2^-40/(d T)
  EXPECT_LT(plan.sum_bound_stddevs(), 9.8);
  // Precision at the published setting.
  EXPECT_NEAR(plan.draws(), 4.87e10, 0.01e10);
  EXPECT_NEAR(plan.rounding(), 4.7e-13, 0.05e-13);
  EXPECT_NEAR(plan.precision_epsilon(), 1.2e-6, 0.02e-6);
  EXPECT_LT(plan.truncation_term(), 1e-20);
  EXPECT_LT(plan.coarse_tail_term(), 1e-16);
  EXPECT_NEAR(plan.precision_delta(), 1.2e-11, 0.05e-11);
  EXPECT_EQ(plan.total_delta_penalty(),
            plan.truncation_term() + plan.coarse_tail_term() + plan.precision_delta());
  EXPECT_TRUE(plan.makes_guarantee());
}

// Updates near -b meet a small rate, but round at the size of b/s: 10^5 shares of noise, b = S.
TEST(MechanismPlanTest, RoundingOfUpdatesThatAreFarLargerThanTheNoise) {
  MechanismSpec spec = PublishedSetting();
  spec.params.coordinate_bound = 1;
  spec.params.noise_stddev = 0.1;
  spec.cohort = 100000;
  spec.min_participants = 100000;
  const MechanismPlan plan = PlanOf(spec);
  // 2.1e-12 is measured at these rates (precision_test.cc); 18 2^-53 sqrt(max_rate) is 2.9e-13.
  EXPECT_GT(plan.rounding(), 2.1e-12);
  EXPECT_LT(plan.rounding(), 10e-12);
}

TEST(MechanismPlanTest, BitsOfOtherCoordinateBounds) {
  MechanismSpec spec = PublishedSetting();
  spec.params.coordinate_bound = 1;
  EXPECT_EQ(BitsOf(PlanOf(spec).sum_bound()), 25);
  spec.params.coordinate_bound = 0.02;
  EXPECT_EQ(BitsOf(PlanOf(spec).sum_bound()), 21);
}

TEST(MechanismPlanTest, VarianceOfASum) {
  const MechanismPlan plan = PlanOf(PublishedSetting());
  const double offset = -plan.mu();
  EXPECT_NEAR(plan.quantisation_variance(1000), 1e-4 * 1000 * offset, 1e-12);
  EXPECT_GT(plan.quantisation_variance(1000), 0.25);
  EXPECT_LT(plan.quantisation_variance(1000), 0.5);
  EXPECT_NEAR(plan.sum_stddev(1000), std::sqrt(36 + 0.1 * offset), 1e-12);
  EXPECT_NEAR(plan.sum_stddev(900, -3), std::sqrt(36 * 0.9 + 0.09 * offset - 3e-4), 1e-12);
}

// The paper's remarks on the sum of quantised updates modulo 2^26 at its setting (ziggurat's bound
// 15.81, updates in [-1, 1]): the deviation over the mean is below 2.22e-3, and Chebyshev's bound
// on passing the modulus is below 1.61e-5, both at the worst sum of updates.
TEST(MechanismPlanTest, PublishedChebyshevBoundAndRatioHold) {
  MechanismSpec spec = PublishedSetting();
  spec.params.coordinate_bound = 1;
  spec.params.sampler = GaussianSampler::kZiggurat;
  const MechanismPlan plan = PlanOf(spec);
  EXPECT_NEAR(-plan.mu(), 1 + 15.81 * 6 / std::sqrt(1000.0), 0.005);
  const auto mean = [&](double sum_u) { return (sum_u - 1000 * plan.mu()) / spec.params.scale; };
  const auto stddev = [&](double sum_u) {
    return plan.sum_stddev(1000, sum_u) / spec.params.scale;
  };
  const double ratio = stddev(-1000) / mean(-1000);
  EXPECT_LT(ratio, 2.22e-3);
  EXPECT_NEAR(ratio, 2.01e-3, 0.01e-3);
  const double chebyshev = std::pow(stddev(1000) / (0x1p26 - mean(1000)), 2);
  EXPECT_LT(chebyshev, 1.61e-5);
  EXPECT_NEAR(chebyshev, 1.24e-5, 0.02e-5);
}

TEST(MechanismPlanTest, CoordinateBoundIsAtMostTheClipNorm) {
  MechanismSpec spec = PublishedSetting();
  spec.params.clip_norm = 0.05;
  EXPECT_EQ(PlanOf(spec).spec().params.coordinate_bound, 0.05);
  spec.params.without_clipping = true;
  EXPECT_EQ(PlanOf(spec).spec().params.coordinate_bound, 0.1);
  EXPECT_FALSE(PlanOf(spec).makes_guarantee());
}

TEST(MechanismPlanTest, FewerParticipantsMeanMoreNoiseEach) {
  MechanismSpec spec = PublishedSetting();
  spec.min_participants = 250;
  const MechanismPlan plan = PlanOf(spec);
  EXPECT_DOUBLE_EQ(plan.participant_stddev(), 6 / std::sqrt(250.0));
  EXPECT_NEAR(plan.sum_stddev(1000) * plan.sum_stddev(1000) - plan.quantisation_variance(1000),
              36 * 4, 1e-9);
}

TEST(MechanismPlanTest, FewerNoiseSharesMeanMoreNoiseEach) {
  MechanismSpec spec = PublishedSetting();
  EXPECT_EQ(PlanOf(spec).spec().noise_shares, 1000u);
  spec.noise_shares = 640;
  const MechanismPlan plan = PlanOf(spec);
  EXPECT_DOUBLE_EQ(plan.participant_stddev(), 6 / std::sqrt(640.0));
  // The noise that is left without the shares of 360 who pool what they know is sigma.
  const double left = plan.participant_stddev() * std::sqrt(640.0);
  EXPECT_DOUBLE_EQ(left, 6);
  const double quantisation = plan.quantisation_variance(1000);
  EXPECT_NEAR(plan.sum_stddev(1000), std::sqrt(36 / 0.64 + quantisation), 1e-9);
  spec.noise_shares = 1001;
  const auto refused = MechanismPlan::Create(spec);
  EXPECT_THAT(base::Message(refused.status()),
              HasSubstr("noise_shares is 1001, above min_participants, which is 1000"));
}

TEST(MechanismPlanTest, SumsOfClippedContributionsAreClampedOnly) {
  MechanismSpec spec = PublishedSetting();
  spec.dimension = 4;
  spec.cohort = spec.min_participants = 4;
  spec.params.clip_norm = 1;
  spec.params.coordinate_bound = 16;
  spec.params.scale = 1e-2;
  EXPECT_DOUBLE_EQ(PlanOf(spec).spec().params.coordinate_bound, 1);
  spec.sums_of_clipped = true;
  const MechanismPlan plan = PlanOf(spec);
  EXPECT_DOUBLE_EQ(plan.spec().params.coordinate_bound, 16);
  EXPECT_TRUE(plan.makes_guarantee());
  const std::vector<float> sum = {3, -20, 0.5f, 16};
  std::vector<float> clamped(4);
  EXPECT_FALSE(Mechanism(plan).Clip(sum, clamped).clipped);
  EXPECT_EQ(clamped, (std::vector<float>{3, -16, 0.5f, 16}));
}

TEST(MechanismPlanTest, WithoutNoise) {
  MechanismSpec spec = PublishedSetting();
  spec.params.without_noise = true;
  for (const double stddev : {0.0, 6.0}) {
    spec.params.noise_stddev = stddev;
    const MechanismPlan plan = PlanOf(spec);
    EXPECT_FALSE(plan.makes_guarantee());
    EXPECT_EQ(plan.noise_bound(), 0);
    EXPECT_EQ(plan.participant_stddev(), 0);
    EXPECT_EQ(plan.offset(), 1001u);
    EXPECT_EQ(plan.total_delta_penalty(), 0);
    EXPECT_EQ(plan.precision_epsilon(), 0);
  }
}

TEST(MechanismPlanTest, RefusesWithOneReasonEach) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  using Change = std::function<void(MechanismSpec&)>;
  const struct {
    Change change;
    const char* reason;
  } cases[] = {
      {[](auto& s) { s.dimension = 0; }, "dimension must be at least 1"},
      {[](auto& s) { s.params.clip_norm = 0; },
       "clip_norm must be finite and at least 1e-30, got 0"},
      {[](auto& s) { s.params.clip_norm = -1; },
       "clip_norm must be finite and at least 1e-30, got -1"},
      {[&](auto& s) { s.params.clip_norm = nan; }, "clip_norm must be finite"},
      {[&](auto& s) { s.params.clip_norm = infinity; }, "clip_norm must be finite"},
      {[](auto& s) { s.params.coordinate_bound = 0; },
       "coordinate_bound must be finite and at least"},
      {[&](auto& s) { s.params.coordinate_bound = nan; }, "coordinate_bound must be finite"},
      {[](auto& s) { s.params.scale = 0; }, "scale must be finite and at least 1e-30, got 0"},
      {[](auto& s) { s.params.scale = -1e-4; },
       "scale must be finite and at least 1e-30, got -0.0001"},
      {[&](auto& s) { s.params.scale = infinity; }, "scale must be finite"},
      {[](auto& s) { s.params.noise_stddev = 0; }, "noise_multiplier is 0, which protects nobody"},
      {[](auto& s) { s.params.noise_stddev = -6; },
       "noise_stddev must be finite and not negative, got -6"},
      {[&](auto& s) { s.params.noise_stddev = nan; },
       "noise_stddev must be finite and not negative"},
      {[](auto& s) { s.cohort = 0; }, "cohort must be at least 1"},
      {[](auto& s) { s.min_participants = 0; }, "min_participants must be at least 1"},
      {[](auto& s) { s.min_participants = 1001; },
       "min_participants is 1001, above the cohort of 1000"},
      {[](auto& s) { s.attempts = 0; }, "attempts must be at least 1"},
      {[](auto& s) { s.delta = 0; }, "delta must lie between 0 and 1, got 0"},
      {[](auto& s) { s.delta = 1; }, "delta must lie between 0 and 1, got 1"},
      {[&](auto& s) { s.delta = nan; }, "delta must lie between 0 and 1, got nan"},
      {[&](auto& s) { s.max_epsilon = infinity; }, "max_epsilon must be finite"},
      {[](auto& s) { s.max_epsilon = -1; }, "max_epsilon must be finite and not negative, got -1"},
      {[](auto& s) { s.params.sampler = static_cast<GaussianSampler>(9); }, "unknown value 9"},
      {[](auto& s) { s.params.scale = 1e-9; }, "noise_stddev 6 is too large for scale 1e-09"},
      {[](auto& s) {
         s.params.clip_norm = 1e6;
         s.params.coordinate_bound = 1e6;
       },
       "coordinate_bound 1000000 is too large for scale 0.0001"},
      {[](auto& s) { s.params.sampler = GaussianSampler::kBoxMuller; },
       "the tails of sampler box-muller and of the quantiser cost"},
      {[](auto& s) { s.max_epsilon = 55; },
       "the tails of sampler default and of the quantiser cost"},
      {[](auto& s) {
         s.params.sampler = GaussianSampler::kZiggurat;
         s.max_epsilon = 55;
       },
       "the tails of sampler ziggurat and of the quantiser cost"},
      {[](auto& s) {
         s.params.scale = 3e-9;
         s.attempts = 20000;
       },
       "the rounding of 9.73e+12 draws costs"},
      {[](auto& s) { s.delta = 1e-28; }, "expected at most delta/1000 = 1e-31"},
  };
  for (const auto& test : cases) {
    MechanismSpec spec = PublishedSetting();
    test.change(spec);
    const auto plan = MechanismPlan::Create(spec);
    EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument) << test.reason;
    EXPECT_THAT(base::Message(plan.status()), HasSubstr(test.reason));
  }
}

TEST(MechanismPlanTest, LabelledRunsReportWhatTheyWouldBeRefusedFor) {
  MechanismSpec spec = PublishedSetting();
  spec.params.sampler = GaussianSampler::kBoxMuller;
  spec.without_guarantee = true;
  const MechanismPlan plan = PlanOf(spec);
  EXPECT_FALSE(plan.makes_guarantee());
  EXPECT_NEAR(plan.truncation_term(), 0.045, 0.001);
  EXPECT_GT(plan.total_delta_penalty(), spec.delta / 1000);
}

TEST(MechanismPlanTest, PublishedSamplersAreUsableWhereTheirTailIsCheapEnough) {
  MechanismSpec spec = PublishedSetting();
  spec.params.sampler = GaussianSampler::kPolar;
  PlanOf(spec);
  spec.params.sampler = GaussianSampler::kZiggurat;
  PlanOf(spec);
  spec.params.sampler = GaussianSampler::kBoxMuller;
  spec.dimension = 1000;
  spec.cohort = 30;
  spec.min_participants = 30;
  spec.max_epsilon = 4.5;
  const MechanismPlan plan = PlanOf(spec);
  // Both parts of the tail are charged: what lies beyond z, and the coarse outermost cell.
  EXPECT_GT(plan.truncation_term(), 0);
  EXPECT_GT(plan.coarse_tail_term(), plan.truncation_term());
}

// A sampler that reaches farther leaves the quantiser's tail, which is that of `default`.
TEST(MechanismPlanTest, TailOfTheQuantiserIsChargedBesideTheNoises) {
  MechanismSpec spec = PublishedSetting();
  const MechanismPlan plan = PlanOf(spec);
  spec.params.sampler = GaussianSampler::kZiggurat;
  const MechanismPlan farther = PlanOf(spec);
  EXPECT_NEAR(farther.truncation_term() / plan.truncation_term(), 0.5, 0.01);
  EXPECT_NEAR(farther.coarse_tail_term() / plan.coarse_tail_term(), 0.5, 0.01);
  EXPECT_EQ(
      plan.truncation_term(),
      2 * TruncationTerm(plan.draws(), GaussianBound(GaussianSampler::kDefault), spec.max_epsilon));
}

TEST(MechanismTest, ClipUsesThePlansNumbers) {
  const Mechanism mechanism(PlanOf(PublishedSetting()));
  const std::vector<float> update = {3.0f, -4.0f, 0.01f};
  std::vector<float> clipped(3);
  const ClipReport report = mechanism.Clip(update, clipped);
  EXPECT_TRUE(report.clipped);
  EXPECT_LE(static_cast<double>(clipped[0]), 0.1);
  EXPECT_GE(static_cast<double>(clipped[1]), -0.1);
  EXPECT_NEAR(clipped[2], 0.002, 1e-8);

  MechanismSpec spec = PublishedSetting();
  spec.params.without_clipping = true;
  EXPECT_FALSE(Mechanism(PlanOf(spec)).Clip(update, clipped).clipped);
  EXPECT_EQ(clipped[2], 0.01f);
}

TEST(MechanismTest, QuantisesTheNoisedUpdate) {
  const MechanismPlan plan = PlanOf(PublishedSetting());
  const Mechanism mechanism(plan);
  std::vector<float> clipped(5000);
  for (size_t i = 0; i < clipped.size(); ++i) {
    clipped[i] = 0.09f * std::sin(static_cast<float>(i));
  }
  std::vector<double> noised(clipped.size());
  std::vector<uint32_t> counts(clipped.size());
  {
    crypto::Random noise = crypto::SeededRandom(1, "noise");
    crypto::Random poisson = crypto::SeededRandom(1, "poisson");
    mechanism.NoiseAndQuantize(clipped, noise, poisson, counts);
  }
  {
    crypto::Random noise = crypto::SeededRandom(1, "noise");
    mechanism.Noise(clipped, noise, noised);
  }
  // The counts are within Poisson's spread of the very same noised values.
  double spread = 0;
  for (size_t i = 0; i < clipped.size(); ++i) {
    EXPECT_LE(std::abs(noised[i] - clipped[i]), plan.noise_bound());
    const double rate = (noised[i] - plan.mu()) / 1e-4;
    const double z = (counts[i] - rate) / std::sqrt(rate);
    EXPECT_LT(std::abs(z), 7);
    spread += z * z;
  }
  EXPECT_NEAR(spread / 5000, 1, 0.15);

  // Other noise, other counts; the same Poisson generator does not fix them.
  std::vector<uint32_t> others(clipped.size());
  crypto::Random noise = crypto::SeededRandom(1, "another");
  crypto::Random poisson = crypto::SeededRandom(1, "poisson");
  mechanism.NoiseAndQuantize(clipped, noise, poisson, others);
  EXPECT_NE(counts, others);
}

TEST(MechanismTest, WithoutNoiseQuantisesTheUpdateItself) {
  MechanismSpec spec = PublishedSetting();
  spec.params.without_noise = true;
  const MechanismPlan plan = PlanOf(spec);
  const Mechanism mechanism(plan);
  const std::vector<float> clipped = {0.05f, -0.0625f};
  std::vector<double> noised(2);
  crypto::Random noise = crypto::SeededRandom(1, "noise");
  mechanism.Noise(clipped, noise, noised);
  EXPECT_EQ(noised[0], static_cast<double>(0.05f));
  EXPECT_EQ(noised[1], -0.0625);
  crypto::Random poisson = crypto::SeededRandom(1, "poisson");
  std::vector<uint32_t> counts(2);
  mechanism.NoiseAndQuantize(clipped, noise, poisson, counts);
  EXPECT_NEAR(counts[0], 1501, 7 * std::sqrt(1501.0));
  EXPECT_NEAR(counts[1], 376, 7 * std::sqrt(376.0));
}

TEST(MechanismTest, DecodesTheMean) {
  const MechanismPlan plan = PlanOf(PublishedSetting());
  const Mechanism mechanism(plan);
  const uint64_t centre = 937 * plan.offset();
  const std::vector<uint64_t> sums = {centre, centre + 12345, centre - 1, 0};
  std::vector<double> mean(sums.size());
  mechanism.DecodeMean(sums, 937, mean);
  EXPECT_EQ(mean[0], 0.0);
  EXPECT_DOUBLE_EQ(mean[1], 1.2345 / 937);
  EXPECT_DOUBLE_EQ(mean[2], -1e-4 / 937);
  EXPECT_DOUBLE_EQ(mean[3], plan.mu());
}

TEST(MechanismTest, EmptyUpdatesAreFine) {
  const Mechanism mechanism(PlanOf(PublishedSetting()));
  crypto::Random noise = crypto::SeededRandom(1, "noise");
  crypto::Random poisson = crypto::SeededRandom(1, "poisson");
  mechanism.NoiseAndQuantize({}, noise, poisson, {});
  mechanism.Noise({}, noise, {});
  mechanism.DecodeMean({}, 1, {});
}

TEST(MechanismPlanTest, TermsFollowFromSamplerSharesAndGuarantee) {
  MechanismSpec spec = PublishedSetting();
  spec.max_epsilon = 5.3;
  const MechanismPlan plan = PlanOf(spec);
  const ImplementationTerms terms = plan.TermsAt(spec.max_epsilon, spec.delta);
  EXPECT_DOUBLE_EQ(terms.epsilon, 2 * plan.precision_epsilon());
  EXPECT_DOUBLE_EQ(terms.delta, plan.total_delta_penalty());
  EXPECT_GT(plan.TermsAt(19.13, spec.delta).delta, terms.delta);
  EXPECT_EQ(plan.TermsAt(1000, spec.delta).delta, 1);

  MechanismSpec other = spec;
  other.without_guarantee = true;
  other.params.sampler = GaussianSampler::kBoxMuller;
  EXPECT_GT(PlanOf(other).TermsAt(5.3, spec.delta).delta, 1e4 * terms.delta);
  other = spec;
  other.noise_shares = spec.min_participants / 4;
  EXPECT_GT(PlanOf(other).TermsAt(5.3, spec.delta).epsilon, terms.epsilon);
  other = spec;
  other.params.without_noise = true;
  EXPECT_EQ(PlanOf(other).TermsAt(5.3, spec.delta).delta, 0);
}

}  // namespace
}  // namespace tacet::dp
