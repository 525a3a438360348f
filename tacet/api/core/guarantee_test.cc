#include "tacet/guarantee.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/accounting/privacy_rows.h"
#include "tacet/api/core/options.h"
#include "tacet/api/core/privacy_model.h"
#include "tacet/api/core/round_for_test.h"
#include "tacet/calibrate.h"
#include "tacet/dp/mechanism_params.h"

namespace tacet::api {
namespace {

using ::testing::HasSubstr;

FederationOptions SmallOptions() {
  FederationOptions options;
  options.clients = 40;
  options.cohort = 10;
  options.rounds = 5;
  options.noise_multiplier = 4;
  return options;
}

TEST(GuaranteeTest, RowsAreTheAccountants) {
  const Guarantee guarantee = ValueOf(ComputeGuarantee(SmallOptions()));
  const accounting::Guarantees expected =
      ValueOf(accounting::GuaranteesOf(ValueOf(PrivacySpecOf(SmallOptions()))));
  ASSERT_EQ(guarantee.rows.size(), expected.rows.size());
  for (size_t i = 0; i < guarantee.rows.size(); ++i) {
    const GuaranteeRow& row = guarantee.rows[i];
    const accounting::PrivacyRow& other = expected.rows[i];
    EXPECT_EQ(Internal(row.observer), other.observer);
    EXPECT_EQ(Internal(row.accountant), other.accountant);
    EXPECT_EQ(Name(row.standing), accounting::StandingName(other.standing));
    EXPECT_EQ(row.hypothetical, other.hypothetical);
    EXPECT_EQ(row.epsilon, other.epsilon);
    EXPECT_EQ(row.epsilon_lower, other.epsilon_lower);
    EXPECT_EQ(row.delta, other.delta);
    EXPECT_EQ(row.order, other.order);
    EXPECT_EQ(Name(row.noise_law), dp::NoiseLawName(other.noise_law));
    EXPECT_EQ(row.noise_stddev, other.noise_stddev);
    EXPECT_EQ(row.sampling_rate, other.sampling_rate);
    EXPECT_EQ(row.releases, other.releases);
    EXPECT_FALSE(row.added_epsilon || row.added_delta);
    EXPECT_EQ(row.note, other.note);
  }
  EXPECT_EQ(guarantee.epsilon, expected.epsilon());
  EXPECT_EQ(guarantee.headline, expected.worst);
  EXPECT_EQ(guarantee.delta, 1e-5);
}

TEST(GuaranteeTest, WordsNameTheObservers) {
  const std::string text = ValueOf(ExplainGuarantee(SmallOptions()));
  EXPECT_THAT(text, HasSubstr("Protected is one client's whole contribution."));
  EXPECT_THAT(text, HasSubstr("accepts a 1 % false-positive rate"));
  EXPECT_THAT(text, HasSubstr("Not guaranteed"));
  EXPECT_THAT(ValueOf(ExplainGuarantee(SmallOptions(), 0.05)), HasSubstr("accepts a 5 %"));
}

TEST(GuaranteeTest, EveryOptionReachesTheAccountants) {
  FederationOptions options;
  options.clients = 50;
  options.cohort = 20;
  options.min_participants = 30;
  options.sampling = Sampling::kPoisson;
  options.dummy_uploads = true;
  options.max_participations = 7;
  options.rounds = 11;
  options.clip_norm = 2;
  options.noise_multiplier = 3;
  options.coordinate_bound = 0.25;
  options.scale = 1e-3;
  options.neighbouring = Neighbouring::kZeroOut;
  options.colluders = 4;
  options.delta = 1e-6;
  options.committee_seats = 15;
  options.corrupt_seats = 6;
  accounting::FederationPrivacySpec spec = ValueOf(PrivacySpecOf(options));
  EXPECT_EQ(spec.sampling, (accounting::SamplingParams{.clients = 50,
                                                       .cohort = 20,
                                                       .min_participants = 30,
                                                       .method = accounting::Sampling::kPoisson,
                                                       .dummy_uploads = true,
                                                       .max_participations = 7}));
  EXPECT_EQ(spec.mechanism,
            (dp::MechanismParams{
                .clip_norm = 2, .coordinate_bound = 0.25, .noise_stddev = 6, .scale = 1e-3}));
  EXPECT_EQ(
      spec.privacy,
      (accounting::PrivacyTarget{
          .neighbouring = accounting::Neighbouring::kZeroOut, .colluders = 4, .delta = 1e-6}));
  EXPECT_EQ(spec.rounds, 11u);
  EXPECT_EQ(spec.committee_seats, 15u);
  EXPECT_EQ(spec.corrupt_seats, 6u);

  options = {};
  options.clients = 5;
  options.rounds = 2;
  options.noise_multiplier = 3;
  options.unit = Unit::kPerson;
  options.record_rate = 0.125;
  options.expected_batch = 40;
  options.appearances = 2;
  spec = ValueOf(PrivacySpecOf(options));
  EXPECT_EQ(spec.privacy.unit, accounting::Unit::kPerson);
  EXPECT_EQ(spec.sampling, (accounting::SamplingParams{.clients = 5,
                                                       .cohort = 5,
                                                       .record_rate = 0.125,
                                                       .expected_batch = 40,
                                                       .appearances = 2}));
}

TEST(GuaranteeTest, RefusalsNameTheOption) {
  FederationOptions options = SmallOptions();
  options.noise_multiplier = 0;
  EXPECT_EQ(ComputeGuarantee(options).status().message(),
            "noise_multiplier is 0, expected a finite number above 0");
  options.noise_stddev = 3;
  EXPECT_EQ(ComputeGuarantee(options).status().message(),
            "noise_multiplier and noise_stddev are both given: give one of them");
  options.noise_multiplier.reset();
  EXPECT_TRUE(ComputeGuarantee(options).ok());
  options.noise_stddev = -3;
  EXPECT_EQ(ComputeGuarantee(options).status().message(),
            "noise_stddev is -3, expected a finite number above 0");
  options.noise_stddev.reset();
  EXPECT_EQ(ComputeGuarantee(options).status().message(),
            "noise_multiplier and noise_stddev are both missing: give one of them");
  options = SmallOptions();
  options.delta = 1;
  EXPECT_EQ(ComputeGuarantee(options).status().code(), absl::StatusCode::kInvalidArgument);
  options = SmallOptions();
  options.clients = 4;
  options.cohort = 4;
  options.committee_seats = 5;
  EXPECT_EQ(ComputeGuarantee(options).status().message(),
            "committee_seats is 5, but there are 4 clients");
}

TEST(CalibrateTest, NoiseIsTheLeastThatReachesTheTarget) {
  FederationOptions options = SmallOptions();
  options.clip_norm = 0.3;
  options.rounds = 10;
  const double multiplier = ValueOf(CalibrateNoise(options, {.epsilon = 2}));
  options.noise_multiplier = multiplier;
  EXPECT_LE(ValueOf(ComputeGuarantee(options)).epsilon, 2);
  options.noise_multiplier = multiplier * (1 - 1e-5);
  EXPECT_GT(ValueOf(ComputeGuarantee(options)).epsilon, 2);
}

TEST(CalibrateTest, RoundsAndCohortAreTheMost) {
  FederationOptions options = SmallOptions();
  const CalibrationTarget target{
      .epsilon = 1, .observer = Observer::kExternal, .accountant = Accountant::kRdp};
  const uint64_t rounds = ValueOf(CalibrateRounds(options, target));
  const auto epsilon = [](const FederationOptions& federation) {
    for (const GuaranteeRow& row : ValueOf(ComputeGuarantee(federation)).rows) {
      if (row.observer == Observer::kExternal && row.accountant == Accountant::kRdp) {
        return row.epsilon.value_or(0);
      }
    }
    return 0.0;
  };
  options.rounds = rounds;
  EXPECT_LE(epsilon(options), 1);
  options.rounds = rounds + 1;
  EXPECT_GT(epsilon(options), 1);

  options.rounds = 10;
  const uint64_t cohort = ValueOf(CalibrateCohort(options, target));
  options.cohort = cohort;
  EXPECT_LE(epsilon(options), 1);
  options.cohort = cohort + 1;
  EXPECT_GT(epsilon(options), 1);
}

TEST(CalibrateTest, ImpossibleTargetsAreRefused) {
  EXPECT_EQ(CalibrateNoise(SmallOptions(), {.epsilon = 0}).status().code(),
            absl::StatusCode::kInvalidArgument);
  FederationOptions options = SmallOptions();
  options.noise_multiplier = 0.1;
  EXPECT_EQ(CalibrateRounds(options, {.epsilon = 1e-3}).status().code(),
            absl::StatusCode::kNotFound);
}

TEST(PrivacyModelTest, WordsAreThoseOfTheAccountants) {
  EXPECT_EQ(Name(Unit::kClient), "client");
  EXPECT_EQ(Name(Unit::kPerson), "person");
  EXPECT_EQ(Name(Unit::kRecord), "record");
  EXPECT_EQ(Name(Neighbouring::kReplaceOne), "replace-one");
  EXPECT_EQ(Name(Neighbouring::kZeroOut), "zero-out");
  EXPECT_EQ(Name(Sampling::kNone), "none");
  EXPECT_EQ(Name(Sampling::kFixedSize), "fixed-size");
  EXPECT_EQ(Name(Sampling::kPoisson), "poisson");
  EXPECT_EQ(Name(Standing::kGuarantee), "guarantee");
  EXPECT_EQ(Name(Standing::kConvention), "convention");
  EXPECT_EQ(Name(Standing::kNone), "none");
  EXPECT_EQ(Name(Accountant::kMoments), "moments");
  EXPECT_EQ(Name(Accountant::kRdp), "rdp");
  EXPECT_EQ(Name(Accountant::kPld), "pld");
  EXPECT_EQ(Name(Accountant::kFixedSizeTight), "fixed-size-tight");
  EXPECT_EQ(Name(Accountant::kFixedOrderRdp), "fixed-order-rdp");
  EXPECT_EQ(Name(Accountant::kGaussianFilter), "gaussian-filter");
  EXPECT_EQ(Name(Accountant::kBudget), "budget");
  EXPECT_EQ(Name(Observer::kExternal), "external");
  EXPECT_EQ(Name(Observer::kCohortAware), "cohort-aware");
  EXPECT_EQ(Name(Observer::kCoalition), "coalition");
}

TEST(PrivacyModelTest, ConversionsAreInverse) {
  for (size_t i = 0; i < std::size(kObservers); ++i) {
    EXPECT_EQ(Internal(kObservers[i]), accounting::kObservers[i].observer);
    EXPECT_EQ(Public(Internal(kObservers[i])), kObservers[i]);
  }
  for (const Unit unit : kUnits) EXPECT_EQ(Public(Internal(unit)), unit);
  for (const Sampling sampling : kSamplings) EXPECT_EQ(Public(Internal(sampling)), sampling);
  for (const auto accountant :
       {Accountant::kMoments, Accountant::kRdp, Accountant::kPld, Accountant::kFixedSizeTight,
        Accountant::kFixedOrderRdp, Accountant::kGaussianFilter, Accountant::kBudget}) {
    EXPECT_EQ(Public(Internal(accountant)), accountant);
  }
}

}  // namespace
}  // namespace tacet::api
