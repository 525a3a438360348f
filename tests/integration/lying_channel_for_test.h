// A simulation's store, data and channel, and a channel that lies, for tests of whole simulations.
#ifndef TACET_TESTS_INTEGRATION_LYING_CHANNEL_FOR_TEST_H_
#define TACET_TESTS_INTEGRATION_LYING_CHANNEL_FOR_TEST_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/base/temporary_folder_for_test.h"
#include "tacet/simulation/local_channel.h"
#include "tacet/simulation/simulation.h"
#include "tacet/storage/file/run_directory.h"
#include "tests/integration/simulation_for_test.h"

namespace tacet::simulation {

// Changes bytes, or loses messages, between unmodified parts.
class LyingChannel : public Channel {
 public:
  using Lie = std::function<absl::Status(MessageKind, uint64_t, base::Bytes&)>;
  explicit LyingChannel(Lie lie) : lie_(std::move(lie)) {}
  absl::Status Carry(MessageKind kind, uint64_t member, base::Bytes& message) override {
    return lie_(kind, member, message);
  }

 private:
  Lie lie_;
};

class SimulationTest : public ::testing::Test {
 protected:
  std::unique_ptr<storage::file::RunDirectory> NewStore(const std::string& name) {
    auto store = storage::file::RunDirectory::Create(path_ / name);
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  }

  absl::StatusOr<SimulationResult> Run(const SimulationSpec& spec, RunStore& store,
                                       Recorder& recorder, Channel& channel,
                                       const trainer::Learner& learner) {
    TACET_ASSIGN_OR_RETURN(const auto simulation, Simulation::Create(spec, learner, channel));
    return simulation->Run(store, recorder);
  }
  absl::StatusOr<SimulationResult> Run(const SimulationSpec& spec, const std::string& name) {
    const auto store = NewStore(name);
    return Run(spec, *store, recorder_, channel_, *learner_);
  }
  // The store of a run that ended in `round`, as a process does that is killed there.
  std::unique_ptr<storage::file::RunDirectory> KilledIn(uint32_t round, const SimulationSpec& spec,
                                                        const std::string& name) {
    auto store = NewStore(name);
    Recorder recorder;
    recorder.fail_at = round;
    EXPECT_EQ(Run(spec, *store, recorder, channel_, *learner_).status().code(),
              absl::StatusCode::kAborted);
    return store;
  }
  std::string Refusal(const SimulationSpec& spec) {
    const auto simulation = Simulation::Create(spec, *learner_, channel_);
    EXPECT_FALSE(simulation.ok());
    return base::Message(simulation.status());
  }

  base::TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_.path();
  std::unique_ptr<trainer::Learner> learner_ = SmallLearner();
  LocalChannel channel_;
  Recorder recorder_;
};

}  // namespace tacet::simulation

#endif  // TACET_TESTS_INTEGRATION_LYING_CHANNEL_FOR_TEST_H_
