// Copies of an update on its way from the user's function to the sealed upload.
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "tacet/base/temporary_folder_for_test.h"
#include "tacet/storage/file/blob_folder.h"
#include "tacet/trainer/function_learner.h"
#include "tests/integration/lying_channel_for_test.h"
#include "tests/live/allocation_counter_for_test.h"
#include "tests/live/live_members_for_test.h"

namespace tacet::live {
namespace {

using testing::ExactAgreement;
using testing::LiveFederation;

// Nothing else is as long.
constexpr uint64_t kDimension = 30'011;
constexpr size_t kUpdateBytes = kDimension * sizeof(float);

TEST(UpdateCopiesTest, TheHookCountsACopy) {
  const std::vector<float> update(kDimension, 1.0F);
  tacet_count_allocations(kUpdateBytes);
  const auto copy = std::make_unique<std::vector<float>>(update);
  const crypto::SecretVector<float> secret = crypto::SecretVector<float>::CopyOf(update);
  tacet_count_allocations(0);
  EXPECT_EQ((*copy)[1], secret.Expose()[1]);
  EXPECT_EQ(tacet_counted_allocations(), 2u);
}

// The memory that the function writes is sealed: no further memory holds the update.
TEST(UpdateCopiesTest, TheMemoryThatTheFunctionWritesIsSealed) {
  agreement::ManifestSpec spec = ExactAgreement();
  spec.dimension = kDimension;
  spec.initial_model = protocol::testing::ZerosOf(kDimension).Digest();
  LiveFederation live(spec);
  int trained = 0, sealed = 0;
  for (auto& site : live.sites) {
    site->updates.on_update = [&](std::span<const float>) {
      ++trained;
      tacet_count_allocations(kUpdateBytes);
    };
    site->state.on_upload = [&] {
      ++sealed;
      tacet_count_allocations(0);
      EXPECT_EQ(tacet_counted_allocations(), 0u);
    };
  }
  live.Run();
  EXPECT_EQ(trained, 9);
  EXPECT_EQ(sealed, trained);
  live.ExpectNoViolations();
}

// A server with a thousand uploads has 14 MB of shares.
TEST(UpdateCopiesTest, AServerHoldsTheSharesOfOneUploadAtATime) {
  const base::TemporaryFolder folder;
  const auto objects = protocol::testing::ValueOf(storage::file::BlobFolder::Open(folder.path()));
  LiveFederation live;
  live.objects = objects.get();
  live.RestartServer();
  const size_t shares = live.members.manifest().manifest().terms().aggregation().share_bytes();
  tacet_count_allocations(3 * shares);
  live.RunUntil([&] { return live.IsAt(protocol::AttemptPhase::kUnmasking); });
  tacet_count_allocations(0);
  EXPECT_EQ(tacet_counted_allocations(), 0u);
  const auto stored =
      objects->Open(server::BlobKeyOf({protocol::BulkKind::kShares, live.Current()}, 0));
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_EQ((*stored)->size(), 3 * shares);
}

// The same in a simulation.
TEST(UpdateCopiesTest, TheMemoryThatAClientOfASimulationWritesIsSealed) {
  int trained = 0, sealed = 0;
  const auto learner = *trainer::NewFunctionLearner(
      {.initial = std::vector<float>(kDimension),
       .clients = 4,
       .train = [&](uint32_t, uint64_t, std::span<const float>, std::span<float> update) {
         ++trained;
         update[0] = 0.1F;
         tacet_count_allocations(kUpdateBytes);
         return absl::OkStatus();
       }});
  simulation::LyingChannel channel(
      [&](simulation::MessageKind kind, uint64_t, base::Bytes&) -> absl::Status {
        if (kind != simulation::MessageKind::kUpload) return absl::OkStatus();
        ++sealed;
        tacet_count_allocations(0);
        EXPECT_EQ(tacet_counted_allocations(), 0u);
        return absl::OkStatus();
      });
  simulation::SimulationSpec spec = simulation::SmallSpec();
  spec.manifest.model = std::string(trainer::kExternalModel);
  spec.manifest.sampling.cohort = 4;
  spec.threads = 1;
  const base::TemporaryFolder folder;
  const auto store = *storage::file::RunDirectory::Create(folder.path() / "run");
  simulation::Recorder recorder;
  const auto simulation = *simulation::Simulation::Create(spec, *learner, channel);
  ASSERT_TRUE(simulation->Run(*store, recorder).ok());
  EXPECT_EQ(trained, 12);
  EXPECT_EQ(sealed, trained);
}

}  // namespace
}  // namespace tacet::live
