#include "tacet/trainer/learner_updates.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/trainer/function_learner.h"

namespace tacet::trainer {
namespace {

using ::testing::HasSubstr;

// Without this check the members refuse the sum, after all of them were charged for it.
TEST(LearnerUpdatesTest, ASiteOfMoreUnitsThanExpectedIsRefusedBeforeItIsCharged) {
  const auto learner = *NewFunctionLearner(
      {.initial = {0, 0},
       .clients = 3,
       .unit = accounting::Unit::kRecord,
       .units = {100, 201, 30},
       .sum_clipped = [](uint64_t, std::span<const uint32_t>, double, std::span<const float>,
                         std::span<float>) { return absl::OkStatus(); }});
  agreement::ManifestSpec spec;
  spec.model = "external";
  spec.dimension = 2;
  spec.sampling.clients = 3;
  spec.rounds = 1;
  spec.privacy.unit = accounting::Unit::kRecord;
  spec.sampling.record_rate = 0.1;
  spec.sampling.expected_batch = 20;
  spec.mechanism.coordinate_bound = 5;
  spec.mechanism.noise_stddev = 4;
  const auto manifest = agreement::Manifest::CreateWithoutMembers(spec);
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_TRUE(LearnerUpdates::Create(*manifest, *learner, 0).ok());
  const absl::Status refused = LearnerUpdates::Create(*manifest, *learner, 1).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("this site has 201 records and draws 20.1 a round on average, but the "
                        "agreement expects 20 of all sites"));
}

}  // namespace
}  // namespace tacet::trainer
