#include "apps/tacet/simulate/memory_run.h"

#include <utility>

#include "apps/tacet/simulate/configured_learner.h"
#include "tacet/agreement/charged_terms.h"
#include "tacet/base/status.h"
#include "tacet/crypto/random.h"
#include "tacet/ledger/ledger_in_memory.h"
#include "tacet/run/configured_simulation.h"
#include "tacet/simulation/local_channel.h"
#include "tacet/simulation/simulation.h"
#include "tacet/training/learner.h"

namespace tacet::app::simulate {
namespace {

class MemoryStore final : public simulation::RunStore {
 public:
  absl::Status RecordAttempt(const secagg::AttemptNumber& attempt) override {
    attempts_.push_back(attempt);
    return absl::OkStatus();
  }
  absl::StatusOr<std::vector<secagg::AttemptNumber>> Attempts() const override { return attempts_; }
  absl::Status SaveCheckpoint(std::span<const uint8_t> checkpoint) override {
    checkpoint_.assign(checkpoint.begin(), checkpoint.end());
    return absl::OkStatus();
  }
  absl::StatusOr<base::Bytes> LoadCheckpoint() const override {
    if (checkpoint_.empty()) return base::NotFound("there is no checkpoint");
    return checkpoint_;
  }
  absl::Status CheckData(const crypto::Digest&) override { return absl::OkStatus(); }
  absl::StatusOr<secagg::DigestKey> DigestKey(crypto::Entropy& entropy) override {
    return secagg::DigestKey(entropy.Draw(secagg::DigestKey::kBytes));
  }
  absl::StatusOr<ledger::OpenedLedger> OpenLedger(const ledger::LedgerHeader& header) override {
    return ledger::LedgerInMemory(header);
  }

 private:
  std::vector<secagg::AttemptNumber> attempts_;
  base::Bytes checkpoint_;
};

class RoundsOnly final : public simulation::SimulationObserver {
 public:
  explicit RoundsOnly(const std::function<void(const simulation::RoundRecord&)>& on_round)
      : on_round_(on_round) {}

  absl::Status OnStart(const agreement::Manifest&, uint32_t, const trainer::Evaluation&) override {
    return absl::OkStatus();
  }
  absl::Status OnRound(const simulation::RoundRecord& record) override {
    if (on_round_) on_round_(record);
    return absl::OkStatus();
  }
  void OnNote(std::string_view) override {}

 private:
  const std::function<void(const simulation::RoundRecord&)>& on_round_;
};

}  // namespace

absl::StatusOr<simulation::SimulationResult> RunInMemory(
    simulation::Simulation& simulation,
    const std::function<void(const simulation::RoundRecord&)>& on_round) {
  MemoryStore store;
  RoundsOnly observer(on_round);
  return simulation.Run(store, observer);
}

absl::StatusOr<MemoryRun> TrainInMemory(const config::RunConfig& config,
                                        const data::Dataset& dataset) {
  TACET_ASSIGN_OR_RETURN(simulation::SimulationSpec spec, run::SimulationSpecOf(config));
  TACET_ASSIGN_OR_RETURN(training::LearnerSpec learner_spec, simulate::LearnerSpecOf(config));
  learner_spec.held_out_share = 0;
  spec.evaluate_every = spec.manifest.rounds;
  TACET_ASSIGN_OR_RETURN(const auto learner, training::NewLearner(learner_spec, dataset));
  simulation::LocalChannel channel;
  TACET_ASSIGN_OR_RETURN(const auto simulation,
                         simulation::Simulation::Create(std::move(spec), *learner, channel));
  TACET_ASSIGN_OR_RETURN(simulation::SimulationResult result, RunInMemory(*simulation));
  TACET_ASSIGN_OR_RETURN(const accounting::Guarantees guarantees,
                         agreement::GuaranteesOf(agreement::PermittedTerms(simulation->manifest()),
                                                 accounting::Extent::kHeadline));
  return MemoryRun{.model = learner->WholeModel(result.model),
                   .agreed = simulation->manifest().spec(),
                   .epsilon = guarantees.epsilon()};
}

}  // namespace tacet::app::simulate
