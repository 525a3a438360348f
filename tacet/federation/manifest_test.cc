#include "tacet/federation/manifest.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"

namespace tacet::federation {
namespace {

using ::testing::HasSubstr;

// The paper's setting with b = 0.1.
ManifestSpec Paper() {
  ManifestSpec spec;
  spec.model = "femnist-cnn";
  spec.dimension = 486654;
  spec.clients = 3596;
  spec.cohort = 1000;
  spec.rounds = 100;
  spec.coordinate_bound = 0.1;
  spec.noise_stddev = 6;
  spec.members.resize(3596);
  return spec;
}

std::string Refusal(const ManifestSpec& spec) {
  const auto manifest = Manifest::Create(spec);
  EXPECT_FALSE(manifest.ok());
  return base::Message(manifest.status());
}

TEST(ManifestTest, PlansThePapersSetting) {
  const auto manifest = Manifest::Create(Paper());
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  const he::AggregationParams& aggregation = manifest->terms().aggregation();
  EXPECT_EQ(aggregation.plaintext_bits(), 22u);
  EXPECT_EQ(aggregation.lanes(), 4u);
  EXPECT_EQ(manifest->spec().min_participants, 1000u);
  EXPECT_GT(manifest->max_epsilon(), 5.3);
  EXPECT_EQ(manifest->attempt_budget(), 110u);
}

TEST(ManifestTest, HashCoversEverything) {
  const base::Digest hash = Manifest::Create(Paper())->hash();
  const base::Digest agreement = Manifest::Create(Paper())->agreement();
  ManifestSpec other = Paper();
  other.noise_stddev = 6.5;
  EXPECT_NE(Manifest::Create(other)->hash(), hash);
  other = Paper();
  other.rounds = 99;
  EXPECT_NE(Manifest::Create(other)->agreement(), agreement);
  other = Paper();
  other.optimizer.momentum = 0.5;
  EXPECT_NE(Manifest::Create(other)->agreement(), agreement);
  other = Paper();
  other.plaintext_bits = 24;
  EXPECT_NE(Manifest::Create(other)->agreement(), agreement);
  EXPECT_EQ(Manifest::Create(other)->terms().aggregation().plaintext_bits(), 24u);
  other = Paper();
  other.members[5][0] = 1;  // new keys: another manifest, the same agreement
  EXPECT_NE(Manifest::Create(other)->hash(), hash);
  EXPECT_EQ(Manifest::Create(other)->agreement(), agreement);
}

TEST(ManifestTest, PoissonCohortsGetARangeAroundTheExpectedSize) {
  ManifestSpec spec = Paper();
  spec.sampling = accounting::Sampling::kPoisson;
  const auto manifest = Manifest::Create(spec);
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_LT(manifest->terms().min_participants(), 860u);
  EXPECT_GT(manifest->terms().max_participants(), 1140u);
}

TEST(ManifestTest, RefusesWithAReason) {
  ManifestSpec spec = Paper();
  spec.cohort = 4000;
  EXPECT_THAT(Refusal(spec), HasSubstr("cohort is 4000, but the federation has 3596 clients"));
  spec = Paper();
  spec.cohort = 0;
  EXPECT_THAT(Refusal(spec), HasSubstr("cohort is 0"));
  spec = Paper();
  spec.min_participants = 1001;
  EXPECT_THAT(Refusal(spec), HasSubstr("min_participants is 1001, the cohort has only 1000"));
  spec = Paper();
  spec.rounds = 0;
  EXPECT_THAT(Refusal(spec), HasSubstr("rounds is 0"));
  spec = Paper();
  spec.noise_stddev = 0;
  EXPECT_THAT(Refusal(spec), HasSubstr("noise"));
  spec = Paper();
  spec.scale = 0;
  EXPECT_THAT(Refusal(spec), HasSubstr("scale"));
  spec = Paper();
  spec.scale = -1e-4;
  EXPECT_THAT(Refusal(spec), HasSubstr("scale"));
  spec = Paper();
  spec.clip_norm = -1;
  EXPECT_THAT(Refusal(spec), HasSubstr("clip_norm"));
  spec = Paper();
  spec.members.pop_back();
  EXPECT_THAT(Refusal(spec), HasSubstr("3595 member keys for 3596 clients"));
  spec = Paper();
  spec.optimizer.momentum = 2;
  EXPECT_THAT(Refusal(spec), HasSubstr("server.momentum is 2"));
}

TEST(ManifestTest, NoiseMayBeLeftOutOnPurposeOnly) {
  ManifestSpec spec = Paper();
  spec.without_noise = true;
  const auto manifest = Manifest::Create(spec);
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_EQ(manifest->max_epsilon(), 0);
  EXPECT_EQ(manifest->spec().noise_stddev, 0);
}

}  // namespace
}  // namespace tacet::federation
