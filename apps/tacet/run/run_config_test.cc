#include "apps/tacet/run/run_config.h"

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

}  // namespace
}  // namespace tacet::app::run
