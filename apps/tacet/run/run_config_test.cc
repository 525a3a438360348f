#include "apps/tacet/run/run_config.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tacet::app::run {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(RunConfigTest, WhatIsWrittenReadsBack) {
  RunConfig config;
  config.data.clients = 7;
  config.agreement.plaintext_bits = 26;
  config.run.insecure_seed = 3;
  const auto again = ParseRunConfig(RunConfigToml(config), "test");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->data.clients, 7u);
  EXPECT_EQ(again->agreement.plaintext_bits, 26u);
  EXPECT_EQ(again->run.insecure_seed, 3u);
  EXPECT_EQ(SimulationSpecOf(*again)->manifest.plaintext_bits, 26u);
  EXPECT_THAT(DifferingKeys(config, *again), IsEmpty());
}

TEST(RunConfigTest, ThreadsAndThePlaceOfTheDataMakeNoOtherRun) {
  RunConfig a, b;
  a.run.threads = 1;
  a.data.path = "here";
  b.data.path = "there";
  b.run.publish_evaluation = true;
  EXPECT_THAT(DifferingKeys(a, b), IsEmpty());
  b.data.path.clear();
  b.agreement.mechanism.noise_stddev = 2.5;
  b.run.insecure_seed = 1;
  EXPECT_THAT(
      DifferingKeys(a, b),
      AllOf(HasSubstr("data.path (given, not drawn)"), HasSubstr("privacy.noise (0.0, not 2.5)"),
            HasSubstr("run.insecure_seed"), Not(HasSubstr("threads"))));
}

// Coins of the members, unless the file says who draws, or everybody takes part.
TEST(RunConfigTest, MembersOfALiveFederationDrawTheCohorts) {
  const std::string path = ::testing::TempDir() + "/agreed.toml";
  const auto load = [&](std::string_view keys, uint64_t members) {
    std::ofstream(path) << "[federation]\n" << keys;
    auto config = LoadAgreedConfig(path, members);
    EXPECT_TRUE(config.ok()) << config.status();
    return config->agreement.sampling;
  };
  const accounting::SamplingParams coins = load("cohort = 4\n", 5);
  EXPECT_EQ(coins.method, accounting::Sampling::kPoisson);
  EXPECT_TRUE(coins.dummy_uploads);
  EXPECT_EQ(coins.min_participants, 4u);
  EXPECT_EQ(load("cohort = 4\nmin_participants = 3\n", 5).min_participants, 3u);
  for (const std::string_view keys :
       {"cohort = 5\n", "cohort = 4\nsampling = \"fixed-size\"\n",
        "cohort = 4\ndummy_uploads = false\n", "cohort = 4\n[privacy]\nunit = \"record\"\n", ""}) {
    const accounting::SamplingParams agreed = load(keys, 5);
    EXPECT_EQ(agreed.method, accounting::Sampling::kFixedSize) << keys;
    EXPECT_FALSE(agreed.dummy_uploads) << keys;
  }
  EXPECT_EQ(LoadAgreedConfig(path + ".none", 5).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace tacet::app::run
