// Simulation of a whole federation in one process. It plays every client and really seals every
// update.
#ifndef TACET_SIMULATION_SIMULATION_H_
#define TACET_SIMULATION_SIMULATION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/agreement/manifest.h"
#include "tacet/base/unix_clock.h"
#include "tacet/ledger/privacy_ledger.h"
#include "tacet/ledger/shared_budget.h"
#include "tacet/secagg/attempt.h"
#include "tacet/simulation/channel.h"
#include "tacet/simulation/cohort_trainer.h"
#include "tacet/simulation/rank_group.h"
#include "tacet/simulation/rank_team.h"
#include "tacet/simulation/run_store.h"
#include "tacet/simulation/simulated_keys.h"
#include "tacet/simulation/update_path.h"
#include "tacet/trainer/learner.h"

namespace tacet::simulation {

// The data that a run spends. Its ledger has their name for that of a population.
struct SimulatedData {
  std::string name = "simulation";  // 1 to 255 printable ASCII characters
  crypto::Digest digest{};          // of the samples, unkeyed: in memory only (data_digest.h)
};

struct SimulationSpec {
  // Terms of the agreement; the model's dimension, its digest and the members' keys are filled in,
  // for unit record or person also an expected_batch of 0: record_rate times all sites' records
  // (persons).
  agreement::ManifestSpec manifest;
  int threads = 1;
  uint32_t evaluate_every = 1;        // rounds; the last one is always evaluated
  bool weigh_by_samples = false;      // only without noise
  bool without_quantisation = false;  // only without encryption
  SimulatedData data;
  base::UnixClock clock = base::SystemUnixSeconds;
  // Fixes cohorts, noise and keys too: for tests and debugging, never private.
  std::optional<uint64_t> insecure_seed;
  // A budget that several runs share. Charged when the simulation is made; the simulation's end
  // gives back attempts that were not made. Not for a run with labels, nor for one that is
  // continued.
  ledger::BudgetUse budget = {};
};

// Labels of a run that is less than private, in the order of the flags: "insecure-seed",
// "no-encryption", "no-noise", "no-clip", "no-quantisation". Empty for a real run.
std::vector<std::string> SimulationLabels(const SimulationSpec& spec);

struct RoundSeconds {
  // Wall seconds; where threads of one or several ranks work side by side, their sum divided by
  // their number.
  double sample = 0, train = 0, seal = 0, add = 0, open = 0, evaluate = 0;
  double total = 0;  // of the whole round
};

struct RoundRecord {
  uint32_t round = 0;        // from 0
  uint32_t cohort_size = 0;  // K' in the aggregate
  // Participants of a live round that abstained (protocol/abstention.h), and whether this site did.
  uint32_t abstained = 0;
  bool abstains = false;
  uint32_t attempts = 0;          // of this round, all charged
  uint64_t charged_attempts = 0;  // of all rounds so far
  // DigestKey::OfModel of all parameters after the round; absent where a live site took a later
  // round's state from others.
  std::optional<crypto::Digest> model;
  uint32_t model_epoch = 0;  // whose key `model` is under; 0 in a simulation, which has one key
  std::optional<trainer::Evaluation> evaluation;  // after the round
  // agreement::ChargedEpsilon of all attempts so far: of the worst observer that has a guarantee;
  // infinite without one. A forecast.
  double charged_epsilon = 0;
  RoundSeconds seconds;
  uint64_t upload_bytes = 0;
  uint64_t sum_bytes = 0;
};

// Why an attempt gave no sum, in a word that names nobody.
enum class Refusal {
  kTooFewUploads,  // fewer than K_min arrived
  kNotDecrypted,   // no quorum of the committee, or a sum that members refuse
  kOther,
};
std::string_view RefusalName(Refusal refusal);  // too-few-uploads, not-decrypted, other
absl::StatusOr<Refusal> ParseRefusal(std::string_view name);

// Told about the run as it goes; one call at a time.
class SimulationObserver {
 public:
  virtual ~SimulationObserver() = default;

  // Before the first round of this process; `evaluation` is that of the model it starts with.
  virtual absl::Status OnStart(const agreement::Manifest& manifest, uint32_t next_round,
                               const trainer::Evaluation& evaluation) = 0;
  // After an attempt was charged and gave no sum.
  virtual absl::Status OnRefused(const secagg::AttemptNumber& /*attempt*/, Refusal /*why*/) {
    return absl::OkStatus();
  }
  // After a round was applied and before its checkpoint is saved.
  virtual absl::Status OnRound(const RoundRecord& record) = 0;
  // An attempt that failed, or what a member noted in its own log (which this process plays).
  virtual void OnNote(std::string_view text) = 0;
  // Asked after every checkpoint but the last: true ends the run there, with nothing begun that
  // would be charged again.
  virtual bool StopRequested() { return false; }
  // Asked at the same places before it: true ends the run there with its model. The guarantee stays
  // that of all permitted attempts, since such an end may depend on the models.
  virtual bool EndRequested() { return false; }
};

struct SimulationResult {
  std::vector<float> model;
  trainer::Evaluation evaluation;
  uint32_t rounds = 0;
  uint64_t charged_attempts = 0;
  double charged_epsilon = 0;  // as in RoundRecord
  // Why the run ended before its last round: the budget would not have held, or the observer asked
  // for it. Empty when it did not.
  std::string stopped;
  // The members' ledger: charges of every federation over this data.
  accounting::EpsilonBounds ledger;
  uint64_t ledger_charges = 0;
};

class Simulation {
 public:
  // `learner`, `channel` and `ranks` must outlive the simulation. InvalidArgument for settings that
  // are out of range or contradict each other, those of SharedBudget::Charge.
  static absl::StatusOr<std::unique_ptr<Simulation>> Create(SimulationSpec spec,
                                                            const trainer::Learner& learner,
                                                            Channel& channel,
                                                            RankGroup& ranks = OneProcess());
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  // Runs from the store's checkpoint, or from the start when it has none, to the last round.
  // An interrupted round is run again as another attempt, and charged again; with `insecure_seed`
  // it is repeated exactly. FailedPrecondition when a round fails in all its attempts;
  // Cancelled when the observer asked for it: another Run continues from there.
  //
  // Under announced-attempts all members' ledgers are equal: the store's one stands for them. Every
  // attempt is charged to it before anything is sealed. A server's plan that would exceed the
  // manifest's budget ends the run in time (`stopped`); an attempt that the members' ledger refuses
  // is ResourceExhausted.
  //
  // With several ranks this is rank 0's part, which plans, charges, decrypts and stores; it returns
  // an error while other ranks may be at work, and the caller then ends them.
  absl::StatusOr<SimulationResult> Run(RunStore& store, SimulationObserver& observer);

  // The part of every other rank: trains, seals and adds its share of each cohort until rank 0 is
  // done. Results do not depend on how many ranks there are. An error ends the run for all.
  absl::Status Assist();

  const agreement::Manifest& manifest() const { return manifest_; }

 private:
  struct State;

  Simulation(SimulationSpec spec, agreement::Manifest manifest, MemberKeys keys,
             std::vector<float> initial, EntropyFactory entropy, const trainer::Learner& learner,
             Channel& channel, RankGroup& ranks);

  absl::Status OpenLedger(State& state);
  absl::Status SayWhatFits(State& state) const;
  absl::StatusOr<State> Restore(RunStore& store, SimulationObserver& observer);
  absl::StatusOr<RoundRecord> RunRound(State& state);
  absl::StatusOr<Average> RunAttempt(State& state, uint32_t attempt, RoundRecord& record);
  absl::Status PlanAttempt(State& state, const secagg::AttemptNumber& number) const;
  // Gives the updates of the cohort to `path`, on all ranks.
  absl::StatusOr<RankReport> TrainCohort(State& state, const secagg::Attempt& attempt,
                                         std::span<const CohortShare> shares, UpdatePath& path);
  absl::StatusOr<CohortTrainer> NewTrainer() const;
  // `participants` by place; none on ranks that only contribute.
  absl::StatusOr<std::unique_ptr<UpdatePath>> NewPath(const secagg::Attempt& attempt,
                                                      std::vector<uint64_t> participants,
                                                      const MemberLog& log);

  SimulationSpec spec_;
  agreement::Manifest manifest_;
  MemberKeys keys_;
  std::unique_ptr<PairKeys> pair_keys_;  // of the epoch; made for the first attempt
  std::vector<float> initial_model_;
  EntropyFactory entropy_;
  std::unique_ptr<ledger::RunCharge> charge_;  // to a shared budget; may be null
  const trainer::Learner& learner_;
  Channel& channel_;
  RankGroup& ranks_;
  RankLeader leader_;
};

}  // namespace tacet::simulation

#endif  // TACET_SIMULATION_SIMULATION_H_
