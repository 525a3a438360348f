#include "tacet/agreement/privacy_warnings.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tacet::agreement {
namespace {

using accounting::FederationPrivacySpec;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// `noise` of table 1 (configs/table1/noise.toml), of 486,654 parameters.
FederationPrivacySpec Table1(double noise_over_clip = 6, uint64_t rounds = 100) {
  return {.sampling = {.clients = 3596, .cohort = 1000, .min_participants = 1000},
          .mechanism = {.clip_norm = 0.4, .noise_stddev = 0.4 * noise_over_clip},
          .rounds = rounds};
}
constexpr uint64_t kFemnist = 486'654;

std::vector<std::string> Warnings(const FederationPrivacySpec& spec, uint64_t dimension) {
  const auto warnings = PrivacyWarnings(spec, dimension);
  EXPECT_TRUE(warnings.ok()) << warnings.status();
  return warnings.value_or(std::vector<std::string>());
}

TEST(PrivacyWarningsTest, RunsThatTrainWellHaveNone) {
  EXPECT_NEAR(NoiseOverClipNorm(Table1(), kFemnist), 4.1856, 1e-4);  // sqrt(486654) 6 / 1000
  EXPECT_THAT(Warnings(Table1(), kFemnist), IsEmpty());
  EXPECT_THAT(Warnings(Table1(10, 40), kFemnist), IsEmpty());
  EXPECT_THAT(Warnings(Table1(2, 40), kFemnist), IsEmpty());  // 46.3 for those who know the cohorts
  // Four hospitals: 736 records for training, of which a fifth is drawn.
  EXPECT_THAT(Warnings({.sampling = {.clients = 4, .record_rate = 0.2, .expected_batch = 147.2},
                        .mechanism = {.noise_stddev = 4.82},
                        .privacy = {.unit = accounting::Unit::kRecord,
                                    .neighbouring = accounting::Neighbouring::kZeroOut},
                        .rounds = 100},
                       58),
              IsEmpty());
}

TEST(PrivacyWarningsTest, DeltaIsBelowOneOverTheUnits) {
  FederationPrivacySpec spec = Table1();
  spec.privacy.delta = 0.99 / 3596;
  EXPECT_THAT(Warnings(spec, kFemnist), IsEmpty());
  spec.privacy.delta = 1.01 / 3596;
  EXPECT_THAT(Warnings(spec, kFemnist),
              ElementsAre(AllOf(HasSubstr("for 3596 clients"),
                                EndsWith("set `privacy.delta` well below 0.00028"))));
  // Records are counted by those drawn on average, where that is known.
  FederationPrivacySpec records{.sampling = {.clients = 4, .record_rate = 0.2},
                                .mechanism = {.noise_stddev = 5},
                                .privacy = {.unit = accounting::Unit::kRecord, .delta = 0.002},
                                .rounds = 10};
  EXPECT_THAT(Warnings(records, 0), IsEmpty());
  records.sampling.expected_batch = 99;
  EXPECT_THAT(Warnings(records, 58), IsEmpty());
  records.sampling.expected_batch = 101;
  EXPECT_THAT(Warnings(records, 58), ElementsAre(HasSubstr("for 505 records")));
}

TEST(PrivacyWarningsTest, NoiseThatDrownsTheUpdate) {
  // 10 sqrt(100) clip norms in one average.
  FederationPrivacySpec spec = Table1(143);
  EXPECT_NEAR(NoiseOverClipNorm(spec, kFemnist), 99.76, 0.01);
  EXPECT_THAT(Warnings(spec, kFemnist), IsEmpty());
  spec = Table1(144);
  EXPECT_THAT(
      Warnings(spec, kFemnist),
      ElementsAre(AllOf(HasSubstr("its norm over 486654 parameters is 100 times the clip norm"),
                        HasSubstr("raise `federation.cohort`"),
                        EndsWith("lower `privacy.noise_multiplier`"))));
  EXPECT_THAT(Warnings(spec, 0), IsEmpty()) << "the dimension is not known";
  // Fewer shares than uploads carry sigma, so all uploads together carry more.
  spec = Table1(100);
  spec.sampling.min_participants = 250;
  EXPECT_NEAR(NoiseOverClipNorm(spec, kFemnist), 2 * 69.76, 0.01);
  EXPECT_THAT(Warnings(spec, kFemnist), ElementsAre(HasSubstr("drowns the update")));
  const FederationPrivacySpec records{
      .sampling = {.clients = 4, .record_rate = 0.2, .expected_batch = 50},
      .mechanism = {.noise_stddev = 500},
      .privacy = {.unit = accounting::Unit::kRecord, .colluders = 3},
      .rounds = 100};
  EXPECT_NEAR(NoiseOverClipNorm(records, 100), 200, 1e-9);
  EXPECT_THAT(Warnings(records, 100), ElementsAre(HasSubstr("raise `privacy.record_rate`")));
}

TEST(PrivacyWarningsTest, AnEpsilonThatProtectsNobodyEndsWithTheNoise) {
  EXPECT_THAT(Warnings(Table1(2, 100), kFemnist),
              ElementsAre(AllOf(HasSubstr("for observer cohort-aware"),
                                EndsWith("raise `privacy.noise_multiplier`"))));
  // With hardly any noise every observer is above the limit; the largest epsilon is told.
  EXPECT_THAT(Warnings(Table1(0.1), kFemnist),
              ElementsAre(AllOf(HasSubstr("epsilon is 2.085e+04"),
                                EndsWith("raise `privacy.noise_multiplier`"))));
  FederationPrivacySpec from_target = Table1(0.1);
  from_target.privacy.target_epsilon = 20'000;
  EXPECT_THAT(Warnings(from_target, 0), ElementsAre(EndsWith("lower `privacy.target_epsilon`")));
}

TEST(PrivacyWarningsTest, LabelledRunsHaveNone) {
  agreement::ManifestSpec agreed;
  agreed.sampling.clients = 4;
  agreed.sampling.cohort = 2;
  agreed.rounds = 1;
  agreed.dimension = 1000;
  agreed.mechanism.noise_stddev = 0.01;
  const auto warned = PrivacyWarnings(agreed);
  ASSERT_TRUE(warned.ok()) << warned.status();
  EXPECT_EQ(warned->size(), 1u);
  agreed.mechanism.without_clipping = true;
  EXPECT_THAT(*PrivacyWarnings(agreed), IsEmpty());
  agreed.mechanism.without_clipping = false;
  agreed.mechanism.without_noise = true;
  agreed.mechanism.noise_stddev = 0;
  EXPECT_THAT(*PrivacyWarnings(agreed), IsEmpty());
}

TEST(PrivacyWarningsTest, AreParagraphsAndLines) {
  EXPECT_EQ(WarningsText({}), "");
  EXPECT_EQ(WarningsText({"a", "b"}), "Warnings\n- a\n- b\n");
  EXPECT_EQ(WarningLines({"a", "b"}), "warning     a\nwarning     b\n");
}

}  // namespace
}  // namespace tacet::agreement
