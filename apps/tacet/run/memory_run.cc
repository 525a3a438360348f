#include "apps/tacet/run/memory_run.h"

#include <memory>
#include <utility>

#include "tacet/base/random.h"
#include "tacet/base/status.h"
#include "tacet/federation/data_digest.h"
#include "tacet/federation/simulation.h"
#include "tacet/learning/learner.h"
#include "tacet/transport/local/local_channel.h"

namespace tacet::app {
namespace {

class MemoryLedger final : public federation::LedgerStore {
 public:
  absl::Status Append(std::span<const uint8_t>, std::span<const uint8_t>) override {
    return absl::OkStatus();
  }
};

class MemoryStore final : public federation::RunStore {
 public:
  absl::Status RecordAttempt(const federation::BegunAttempt& attempt) override {
    attempts_.push_back(attempt);
    return absl::OkStatus();
  }
  absl::StatusOr<std::vector<federation::BegunAttempt>> Attempts() const override {
    return attempts_;
  }
  absl::Status SaveCheckpoint(std::span<const uint8_t> checkpoint) override {
    checkpoint_.assign(checkpoint.begin(), checkpoint.end());
    return absl::OkStatus();
  }
  absl::StatusOr<base::Bytes> LoadCheckpoint() const override {
    if (checkpoint_.empty()) return base::NotFound("there is no checkpoint");
    return checkpoint_;
  }
  absl::StatusOr<base::SecretBytes> DataKey() override {
    return base::SystemEntropy().Draw(federation::kDataKeyBytes);
  }
  absl::StatusOr<federation::OpenedLedger> OpenLedger(
      const federation::LedgerHeader& header) override {
    federation::OpenedLedger opened;
    opened.found.header = header;
    opened.store = std::make_unique<MemoryLedger>();
    opened.found.end.genesis = opened.found.end.head = federation::LedgerGenesis(header);
    return opened;
  }

 private:
  std::vector<federation::BegunAttempt> attempts_;
  base::Bytes checkpoint_;
};

class Silent final : public federation::SimulationObserver {
 public:
  absl::Status OnStart(const federation::Manifest&, uint32_t,
                       const federation::Evaluation&) override {
    return absl::OkStatus();
  }
  absl::Status OnRound(const federation::RoundRecord&) override { return absl::OkStatus(); }
  void OnNote(std::string_view) override {}
};

}  // namespace

absl::StatusOr<MemoryRun> TrainInMemory(const RunConfig& config, const learning::Dataset& dataset) {
  TACET_ASSIGN_OR_RETURN(federation::SimulationSpec spec, SimulationSpecOf(config));
  TACET_ASSIGN_OR_RETURN(learning::LearnerSpec learner_spec, LearnerSpecOf(config));
  learner_spec.held_out_share = 0;
  spec.evaluate_every = spec.manifest.rounds;
  TACET_ASSIGN_OR_RETURN(const auto learner, learning::NewLearner(learner_spec, dataset));
  transport::local::LocalChannel channel;
  TACET_ASSIGN_OR_RETURN(const auto simulation,
                         federation::Simulation::Create(std::move(spec), *learner, channel));
  MemoryStore store;
  Silent silent;
  TACET_ASSIGN_OR_RETURN(federation::SimulationResult result, simulation->Run(store, silent));
  return MemoryRun{.model = learner->WholeModel(result.model),
                   .agreed = simulation->manifest().spec(),
                   .epsilon = result.ledger.epsilon};
}

}  // namespace tacet::app
