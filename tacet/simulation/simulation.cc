#include "tacet/simulation/simulation.h"

#include <set>
#include <utility>

#include "tacet/agreement/aggregate_average.h"
#include "tacet/agreement/cohort.h"
#include "tacet/agreement/initial_model.h"
#include "tacet/agreement/server_optimizer.h"
#include "tacet/base/mutex.h"
#include "tacet/base/status.h"
#include "tacet/base/stopwatch.h"
#include "tacet/ledger/data_digest.h"
#include "tacet/protocol/checkpoint.h"
#include "tacet/secagg/digest_key.h"

namespace tacet::simulation {
namespace {

EntropyFactory MakeEntropyFactory(std::optional<uint64_t> insecure_seed) {
  if (insecure_seed.has_value()) {
    return [seed = *insecure_seed](std::string_view label) -> std::unique_ptr<crypto::Entropy> {
      return std::make_unique<crypto::InsecureSeededEntropy>(seed, label);
    };
  }
  return [](std::string_view) -> std::unique_ptr<crypto::Entropy> {
    return std::make_unique<crypto::SystemEntropy>();
  };
}

MemberKeys MakeKeys(uint64_t members, const EntropyFactory& entropy) {
  MemberKeys keys;
  keys.shared.epoch_key = entropy("epoch key")->Draw(32);
  keys.shared.exchange_seed = entropy("exchange keys")->Draw(32);
  const std::unique_ptr<crypto::Entropy> source = entropy("signing keys");
  keys.signing_keys.reserve(members);
  for (uint64_t member = 0; member < members; ++member) {
    keys.signing_keys.push_back(crypto::SigningKey::Generate(*source));
  }
  return keys;
}

// No other attempt can help.
absl::Status AsFinal(const absl::Status& status) {
  return status.ok() ? status : absl::InternalError(base::Message(status));
}

uint64_t AllUnits(const trainer::Learner& learner) {
  uint64_t units = 0;
  for (uint64_t client = 0; client < learner.clients(); ++client) units += learner.units(client);
  return units;
}

absl::Status CheckUnits(const agreement::ManifestSpec& manifest, const trainer::Learner& learner) {
  if (manifest.privacy.unit == learner.unit()) return absl::OkStatus();
  return base::InvalidArgument("the agreement's unit is {}, the learner was made for unit {}",
                               accounting::UnitName(manifest.privacy.unit),
                               accounting::UnitName(learner.unit()));
}

// Follows from what UpdatePath::Finish answers.
Refusal RefusalOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kFailedPrecondition:
      return Refusal::kTooFewUploads;
    case absl::StatusCode::kPermissionDenied:
      return Refusal::kNotDecrypted;
    default:
      return Refusal::kOther;
  }
}

absl::Status CheckSimulation(const SimulationSpec& spec) {
  if (spec.threads < 1 || spec.threads > 1024) {
    return base::InvalidArgument("threads is {}, it must be from 1 to 1024", spec.threads);
  }
  if (spec.evaluate_every < 1) {
    return base::InvalidArgument("evaluate_every is 0, it must be at least 1");
  }
  if (spec.without_quantisation && !spec.manifest.without_encryption) {
    return base::InvalidArgument(
        "--no-quantisation needs --no-encryption: only integers can be encrypted");
  }
  if (spec.manifest.sampling.max_participations != 0) {
    return base::InvalidArgument(
        "max_participations is {}: only members of a live federation count their rounds, a "
        "simulation keeps no record of its cohorts; remove the key",
        spec.manifest.sampling.max_participations);
  }
  if (spec.weigh_by_samples && !spec.manifest.mechanism.without_noise) {
    return base::InvalidArgument(
        "weights = \"samples\" needs --no-noise: with unequal weights one client can move the "
        "average further than the noise hides");
  }
  if (spec.weigh_by_samples && spec.manifest.privacy.unit != accounting::Unit::kClient) {
    return base::InvalidArgument("weights = \"samples\" is for unit client, not {}",
                                 accounting::UnitName(spec.manifest.privacy.unit));
  }
  if (const std::vector<std::string> labels = SimulationLabels(spec);
      spec.budget.budget != nullptr && !labels.empty()) {
    return base::InvalidArgument(
        "the run is {}, which protects nobody: a session counts only runs that protect. Leave out "
        "one of them",
        labels.front());
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> SimulationLabels(const SimulationSpec& spec) {
  std::vector<std::string> labels;
  if (spec.insecure_seed.has_value()) labels.push_back("insecure-seed");
  if (spec.manifest.without_encryption) labels.push_back("no-encryption");
  if (spec.manifest.mechanism.without_noise) labels.push_back("no-noise");
  if (spec.manifest.mechanism.without_clipping) labels.push_back("no-clip");
  if (spec.without_quantisation) labels.push_back("no-quantisation");
  return labels;
}

std::string_view RefusalName(Refusal refusal) {
  switch (refusal) {
    case Refusal::kTooFewUploads:
      return "too-few-uploads";
    case Refusal::kNotDecrypted:
      return "not-decrypted";
    case Refusal::kOther:
      break;
  }
  return "other";
}

absl::StatusOr<Refusal> ParseRefusal(std::string_view name) {
  for (const Refusal refusal : {Refusal::kTooFewUploads, Refusal::kNotDecrypted, Refusal::kOther}) {
    if (name == RefusalName(refusal)) return refusal;
  }
  return base::InvalidArgument("expected too-few-uploads, not-decrypted or other, found \"{}\"",
                               name);
}

struct Simulation::State {
  RunStore& store;
  SimulationObserver& observer;
  uint32_t round = 0;  // the next one
  uint64_t charged_attempts = 0;
  // Begun by earlier processes and not in the ledger: charged before the next attempt.
  std::vector<secagg::AttemptNumber> missing = {};
  std::vector<float> model;
  agreement::ServerOptimizer optimizer;
  CohortTrainer trainer;
  std::unique_ptr<ledger::PrivacyLedger> ledger = nullptr;  // the members', all equal
  std::optional<accounting::PrivacyFilter> plan = {};       // the server's
  std::string stopped = {};                                 // why the server announces no more
  std::unique_ptr<base::Mutex> note_mutex = std::make_unique<base::Mutex>();  // of OnNote
  ledger::AttemptCost cost = {};
  secagg::DigestKey digest_key;  // of the run: of RoundRecord::model

  void Note(std::string_view text) {
    const base::MutexLock lock(*note_mutex);
    observer.OnNote(text);
  }
};

Simulation::Simulation(SimulationSpec spec, agreement::Manifest manifest, MemberKeys keys,
                       std::vector<float> initial, EntropyFactory entropy,
                       const trainer::Learner& learner, Channel& channel, RankGroup& ranks)
    : spec_(std::move(spec)),
      manifest_(std::move(manifest)),
      keys_(std::move(keys)),
      initial_model_(std::move(initial)),
      entropy_(std::move(entropy)),
      learner_(learner),
      channel_(channel),
      ranks_(ranks),
      leader_(ranks) {}

absl::StatusOr<std::unique_ptr<Simulation>> Simulation::Create(SimulationSpec spec,
                                                               const trainer::Learner& learner,
                                                               Channel& channel, RankGroup& ranks) {
  TACET_RETURN_IF_ERROR(CheckSimulation(spec));
  TACET_RETURN_IF_ERROR(CheckUnits(spec.manifest, learner));
  EntropyFactory entropy = MakeEntropyFactory(spec.insecure_seed);
  std::vector<float> initial = learner.InitialModel();
  spec.manifest.dimension = learner.dimension();
  spec.manifest.sampling.clients = learner.clients();
  if (spec.manifest.privacy.unit != accounting::Unit::kClient &&
      spec.manifest.sampling.expected_batch == 0) {
    spec.manifest.sampling.expected_batch =
        spec.manifest.sampling.record_rate * static_cast<double>(AllUnits(learner));
  }
  const std::vector<float> whole = learner.WholeModel(initial);
  spec.manifest.initial_model = agreement::InitialModel{.parameters = whole}.Digest();
  spec.manifest.federated_part = learner.federated_part();
  spec.manifest.whole_dimension = spec.manifest.federated_part.empty() ? 0 : whole.size();
  // Members' keys, and all that grows with their number, are rank 0's alone.
  const bool leads = ranks.rank() == 0;
  MemberKeys keys = leads ? MakeKeys(learner.clients(), entropy) : MemberKeys{};
  spec.manifest.members.clear();
  for (uint64_t member = 0; member < keys.signing_keys.size(); ++member) {
    spec.manifest.members.push_back(
        {.signing_key = keys.signing_keys[member].public_key(),
         .exchange_key = ExchangeKeyOf(keys.shared.exchange_seed, member).public_key()});
  }
  TACET_ASSIGN_OR_RETURN(agreement::Manifest manifest,
                         leads ? agreement::Manifest::Create(spec.manifest)
                               : agreement::Manifest::CreateWithoutMembers(spec.manifest));
  const ledger::BudgetUse use = spec.budget;
  std::unique_ptr<Simulation> simulation(
      new Simulation(std::move(spec), std::move(manifest), std::move(keys), std::move(initial),
                     std::move(entropy), learner, channel, ranks));
  if (leads && use.budget != nullptr) {
    TACET_ASSIGN_OR_RETURN(simulation->charge_,
                           use.budget->Charge(use.name, simulation->manifest_.spec()));
  }
  return simulation;
}

absl::StatusOr<Simulation::State> Simulation::Restore(RunStore& store,
                                                      SimulationObserver& observer) {
  TACET_ASSIGN_OR_RETURN(
      agreement::ServerOptimizer optimizer,
      agreement::ServerOptimizer::Create(manifest_.spec().optimizer, manifest_.spec().dimension));
  TACET_ASSIGN_OR_RETURN(CohortTrainer trainer, NewTrainer());
  TACET_ASSIGN_OR_RETURN(secagg::DigestKey digest_key, store.DigestKey(*entropy_("digest key")));
  State state{.store = store,
              .observer = observer,
              .model = initial_model_,
              .optimizer = std::move(optimizer),
              .trainer = std::move(trainer),
              .digest_key = std::move(digest_key)};
  const absl::StatusOr<base::Bytes> saved = store.LoadCheckpoint();
  if (saved.ok()) {
    TACET_ASSIGN_OR_RETURN(
        protocol::Checkpoint checkpoint,
        protocol::ReadCheckpoint(*saved, manifest_.federation(), manifest_.spec().training,
                                 protocol::StateSizeOf(manifest_.spec())));
    state.round = checkpoint.next_round;
    state.model = std::move(checkpoint.model);
    TACET_RETURN_IF_ERROR(state.optimizer.RestoreVelocity(checkpoint.velocity));
  } else if (saved.status().code() != absl::StatusCode::kNotFound) {
    return saved.status();
  }
  TACET_RETURN_IF_ERROR(OpenLedger(state));
  return state;
}

// Opens the members' ledger and reconciles it with what earlier processes began. The ledger is
// charged first, so it may know one attempt more; it knows fewer only when it was lost.
absl::Status Simulation::OpenLedger(State& state) {
  ledger::LedgerHeader header = ledger::LedgerHeaderOf(manifest_.spec());
  TACET_RETURN_IF_ERROR(state.store.CheckData(spec_.data.digest));
  header.population = spec_.data.name;
  header.identity = manifest_.federation();
  header.created = spec_.clock();
  TACET_ASSIGN_OR_RETURN(ledger::OpenedLedger opened, state.store.OpenLedger(header));
  if (opened.found.torn_bytes > 0) {
    state.Note(
        fmt::format("{} bytes of a charge that was cut short were removed from the ledger: "
                    "nothing had been sealed for it",
                    opened.found.torn_bytes));
  }
  TACET_ASSIGN_OR_RETURN(state.ledger,
                         ledger::PrivacyLedger::Create(std::move(opened), spec_.clock));
  // Earlier rounds were announced under other keys, or are in the ledger.
  state.cost = ledger::AttemptCostOf(manifest_, header, ledger::ChargingRule::kAnnouncedAttempts,
                                     state.round);
  std::set<secagg::AttemptNumber> charged;
  for (const ledger::LedgerEntry& entry : state.ledger->entries()) {
    if (entry.federation != manifest_.federation()) continue;
    charged.insert(entry.label.number);
  }
  TACET_ASSIGN_OR_RETURN(const std::vector<secagg::AttemptNumber> begun, state.store.Attempts());
  for (const secagg::AttemptNumber& number : begun) {
    if (charged.insert(number).second) state.missing.push_back(number);
  }
  state.charged_attempts = state.ledger->ChargesOf(manifest_.federation()) + state.missing.size();
  if (charge_ != nullptr && state.charged_attempts > charge_->made()) {
    return base::FailedPrecondition(
        "the run has begun before, and its {} attempts are not in the session: begin another run, "
        "or "
        "continue without a session",
        state.charged_attempts);
  }
  // With `insecure_seed` the interrupted attempt is repeated, draw for draw; otherwise keys are
  // new.
  if (!spec_.insecure_seed.has_value() && !charged.empty()) {
    keys_.epoch = charged.rbegin()->epoch + 1;
  }
  TACET_ASSIGN_OR_RETURN(state.plan, accounting::PrivacyFilter::Create(header.spending));
  return absl::OkStatus();
}

absl::StatusOr<CohortTrainer> Simulation::NewTrainer() const {
  return CohortTrainer::Create({.manifest = manifest_,
                                .learner = learner_,
                                .entropy = entropy_,
                                .weigh_by_samples = spec_.weigh_by_samples},
                               spec_.threads);
}

absl::Status Simulation::Assist() {
  TACET_ASSIGN_OR_RETURN(CohortTrainer trainer, NewTrainer());
  RankMember member(ranks_);
  TACET_RETURN_IF_ERROR(member.Greet(manifest_.agreement(), spec_.data.digest));
  while (true) {
    TACET_ASSIGN_OR_RETURN(
        std::optional<RankMember::Work> work,
        member.Next(manifest_.spec().dimension, manifest_.spec().sampling.clients));
    if (!work.has_value()) return absl::OkStatus();
    keys_.epoch = work->job.attempt.number.epoch;
    keys_.shared = std::move(work->task.secrets);
    RankReport report{.threads = trainer.threads()};
    base::Mutex mutex;  // of the notes in `report`
    const auto note = [&](std::string_view text) {
      const base::MutexLock lock(mutex);
      report.Note(text);
    };
    const MemberLog log = [&](uint64_t, std::string_view text) { note(text); };
    const secagg::Attempt& attempt = work->job.attempt;
    const base::Stopwatch watch;
    TACET_ASSIGN_OR_RETURN(const std::unique_ptr<UpdatePath> path, NewPath(attempt, {}, log));
    report.seal_seconds = watch.Seconds() * spec_.threads;
    TACET_ASSIGN_OR_RETURN(report.train_seconds,
                           trainer.Train(work->task.share, attempt, work->job.model, *path, note));
    TACET_RETURN_IF_ERROR(MergeAtRankZero(ranks_, *path, report));
  }
}

absl::StatusOr<SimulationResult> Simulation::Run(RunStore& store, SimulationObserver& observer) {
  TACET_ASSIGN_OR_RETURN(State state, Restore(store, observer));
  TACET_RETURN_IF_ERROR(leader_.Greet(manifest_.agreement(), spec_.data.digest));
  TACET_ASSIGN_OR_RETURN(trainer::Evaluation evaluation,
                         learner_.Evaluate(state.model, spec_.threads));
  TACET_RETURN_IF_ERROR(observer.OnStart(manifest_, state.round, evaluation));
  TACET_RETURN_IF_ERROR(SayWhatFits(state));
  while (state.round < manifest_.spec().rounds) {
    const absl::StatusOr<RoundRecord> ran = RunRound(state);
    if (!state.stopped.empty()) {
      TACET_ASSIGN_OR_RETURN(evaluation, learner_.Evaluate(state.model, spec_.threads));
      break;
    }
    TACET_RETURN_IF_ERROR(ran.status());
    const RoundRecord& record = *ran;
    if (record.evaluation.has_value()) evaluation = *record.evaluation;
    TACET_RETURN_IF_ERROR(observer.OnRound(record));
    ++state.round;
    TACET_RETURN_IF_ERROR(
        store.SaveCheckpoint(protocol::WriteCheckpoint({.federation = manifest_.federation(),
                                                        .training = manifest_.spec().training,
                                                        .next_round = state.round,
                                                        .model = state.model,
                                                        .velocity = state.optimizer.velocity()})));
    if (state.round < manifest_.spec().rounds && observer.EndRequested()) {
      state.stopped =
          fmt::format("ended as asked after {} of {} rounds", state.round, manifest_.spec().rounds);
      if (!record.evaluation.has_value()) {
        TACET_ASSIGN_OR_RETURN(evaluation, learner_.Evaluate(state.model, spec_.threads));
      }
      break;
    }
    if (state.round < manifest_.spec().rounds && observer.StopRequested()) {
      TACET_RETURN_IF_ERROR(leader_.End());
      return absl::CancelledError(
          fmt::format("stopped as asked after {} of {} rounds; the run can be resumed", state.round,
                      manifest_.spec().rounds));
    }
  }
  TACET_RETURN_IF_ERROR(leader_.End());
  SimulationResult result;
  result.model = std::move(state.model);
  result.evaluation = evaluation;
  result.rounds = state.round;
  result.charged_attempts = state.charged_attempts;
  result.stopped = std::move(state.stopped);
  result.ledger_charges = state.ledger->spending().charges();
  TACET_ASSIGN_OR_RETURN(result.charged_epsilon,
                         agreement::ChargedEpsilon(manifest_, state.charged_attempts));
  TACET_ASSIGN_OR_RETURN(result.ledger, state.ledger->spending().Epsilon());
  return result;
}

absl::StatusOr<RoundRecord> Simulation::RunRound(State& state) {
  const base::Stopwatch total;
  RoundRecord record;
  record.round = state.round;
  absl::StatusOr<Average> average = absl::UnknownError("no attempt was made");
  for (uint32_t attempt = 0; attempt <= manifest_.spec().spare_attempts; ++attempt) {
    average = RunAttempt(state, attempt, record);
    ++record.attempts;
    if (average.ok()) break;
    const absl::StatusCode code = average.status().code();
    const bool final = code == absl::StatusCode::kResourceExhausted ||
                       code == absl::StatusCode::kInvalidArgument ||
                       code == absl::StatusCode::kInternal;
    if (final) return average.status();
    TACET_RETURN_IF_ERROR(
        state.observer.OnRefused({.epoch = keys_.epoch, .round = state.round, .attempt = attempt},
                                 RefusalOf(average.status())));
    state.Note(fmt::format("round {} attempt {} failed: {}", state.round, attempt,
                           base::Message(average.status())));
  }
  if (!average.ok()) {
    return base::FailedPrecondition("round {} failed in all {} attempts, the last time: {}",
                                    state.round, record.attempts, base::Message(average.status()));
  }
  base::Stopwatch watch;
  state.optimizer.Apply(state.round, average->mean, state.model);
  record.seconds.open += watch.Restart();
  record.cohort_size = average->participants;
  record.charged_attempts = state.charged_attempts;
  record.model = state.digest_key.OfModel(learner_.WholeModel(state.model));
  record.upload_bytes = average->upload_bytes;
  record.sum_bytes = average->sum_bytes;
  if ((state.round + 1) % spec_.evaluate_every == 0 || state.round + 1 == manifest_.spec().rounds) {
    TACET_ASSIGN_OR_RETURN(record.evaluation, learner_.Evaluate(state.model, spec_.threads));
    record.seconds.evaluate = watch.Seconds();
  }
  TACET_ASSIGN_OR_RETURN(record.charged_epsilon,
                         agreement::ChargedEpsilon(manifest_, state.charged_attempts));
  record.seconds.total = total.Seconds();
  return record;
}

// The server's own limits, kept from what it announced itself.
absl::Status Simulation::PlanAttempt(State& state, const secagg::AttemptNumber& number) const {
  const ledger::ChargeLabel label{.manifest_hash = manifest_.hash(), .number = number};
  if (state.ledger->Holds(label)) return absl::OkStatus();  // it is repeated
  if (state.charged_attempts >= manifest_.attempt_budget()) {
    return base::ResourceExhausted(
        "round {}: all {} attempts that the agreement allows ({} rounds and {} spare) were "
        "charged; another one would cost more privacy than was agreed",
        state.round, manifest_.attempt_budget(), manifest_.spec().rounds,
        manifest_.spec().spare_attempts);
  }
  accounting::PrivacyFilter& plan = *state.plan;
  TACET_RETURN_IF_ERROR(plan.Add(state.cost.event, state.charged_attempts - plan.charges()));
  const absl::Status room = plan.CheckRoomFor(state.cost.event);
  if (room.code() == absl::StatusCode::kResourceExhausted) {
    state.stopped = fmt::format("the budget ends the run after {} of {} rounds: {}", state.round,
                                manifest_.spec().rounds, base::Message(room));
  }
  return room;
}

absl::Status Simulation::SayWhatFits(State& state) const {
  if (manifest_.spec().privacy.budget_epsilon == 0 || state.round == manifest_.spec().rounds) {
    return absl::OkStatus();
  }
  TACET_ASSIGN_OR_RETURN(const uint64_t fits,
                         state.plan->ChargesThatFit(state.cost.event, manifest_.attempt_budget()));
  if (fits < manifest_.spec().rounds) {
    state.Note(fmt::format(
        "the budget epsilon {} at delta {} holds for {} attempts, the schedule has {} rounds: the "
        "run will end early",
        manifest_.spec().privacy.budget_epsilon, manifest_.spec().privacy.delta, fits,
        manifest_.spec().rounds));
  }
  return absl::OkStatus();
}

absl::StatusOr<Average> Simulation::RunAttempt(State& state, uint32_t attempt,
                                               RoundRecord& record) {
  const secagg::AttemptNumber number{keys_.epoch, state.round, attempt};
  TACET_RETURN_IF_ERROR(PlanAttempt(state, number));
  const secagg::Attempt id{
      .manifest_hash = manifest_.hash(),
      .number = number,
      .model_digest = secagg::DigestKey::OfEpoch(keys_.shared.epoch_key, manifest_.spec().scheme,
                                                 manifest_.hash(), number.epoch)
                          .OfModel(state.model)};
  if (charge_ != nullptr) charge_->Made(state.charged_attempts + 1);
  // Every member charges its ledger; only then is anything drawn, trained or sealed.
  const absl::Status charged = state.ledger->ChargeForSealing(state.cost, number, state.missing);
  if (charged.code() == absl::StatusCode::kResourceExhausted) return charged;
  TACET_RETURN_IF_ERROR(AsFinal(charged));
  state.missing.clear();
  state.charged_attempts = state.ledger->ChargesOf(manifest_.federation());
  TACET_RETURN_IF_ERROR(state.store.RecordAttempt(number));

  base::Stopwatch watch;
  const std::unique_ptr<crypto::Entropy> cohort_entropy =
      entropy_(fmt::format("cohort/{}/{}/{}", number.epoch, number.round, number.attempt));
  crypto::Random cohort_random = crypto::Random::FromEntropy(*cohort_entropy);
  const std::vector<uint64_t> cohort =
      agreement::DrawCohort(*manifest_.spec().sampling.method, manifest_.spec().sampling.clients,
                            manifest_.spec().sampling.cohort, cohort_random);
  std::vector<uint64_t> covers;
  if (manifest_.spec().sampling.dummy_uploads)
    covers = agreement::NotIn(cohort, manifest_.spec().sampling.clients);
  record.seconds.sample += watch.Restart();
  // Which member noted something is left out: it would name a member of the cohort.
  const MemberLog log = [&state](uint64_t, std::string_view text) { state.Note(text); };
  const std::vector<CohortShare> shares =
      SplitCohort(learner_, {.trained = cohort, .covers = covers}, ranks_.size());
  std::vector<uint64_t> participants(cohort.size() + covers.size());
  for (const CohortShare& share : shares) {
    for (const Seat& seat : share.seats) participants[seat.place] = seat.client;
  }
  TACET_ASSIGN_OR_RETURN(const std::unique_ptr<UpdatePath> path,
                         NewPath(id, std::move(participants), log));
  const double setup_seconds = watch.Seconds();  // the round's public polynomials
  const absl::StatusOr<RankReport> trained = TrainCohort(state, id, shares, *path);
  TACET_RETURN_IF_ERROR(trained.status());
  absl::StatusOr<Average> average = path->Finish();
  const PrivacySeconds spent = path->seconds();
  const double setups = setup_seconds * spec_.threads;
  record.seconds.train += trained->train_seconds / trained->threads;
  record.seconds.seal += (trained->seal_seconds + spent.seal + setups) / trained->threads;
  record.seconds.add += (trained->add_seconds + spent.add) / trained->threads;
  record.seconds.open += spent.open;
  if (average.ok())
    agreement::DivideByExpected(manifest_.spec(), average->participants, average->mean);
  return average;
}

absl::StatusOr<RankReport> Simulation::TrainCohort(State& state, const secagg::Attempt& attempt,
                                                   std::span<const CohortShare> shares,
                                                   UpdatePath& path) {
  TACET_RETURN_IF_ERROR(AsFinal(leader_.Begin(attempt, state.model, keys_.shared, shares)));
  RankReport report{.threads = state.trainer.threads()};
  const auto note = [&state](std::string_view text) { state.Note(text); };
  TACET_ASSIGN_OR_RETURN(report.train_seconds,
                         state.trainer.Train(shares.front(), attempt, state.model, path, note));
  TACET_RETURN_IF_ERROR(AsFinal(MergeAtRankZero(ranks_, path, report)));
  for (const std::string& text : report.notes) state.Note(text);
  if (report.more_notes > 0) {
    state.Note(fmt::format("{} more notes of other ranks", report.more_notes));
  }
  return report;
}

absl::StatusOr<std::unique_ptr<UpdatePath>> Simulation::NewPath(const secagg::Attempt& attempt,
                                                                std::vector<uint64_t> participants,
                                                                const MemberLog& log) {
  if (spec_.without_quantisation) return NewPlainPath(manifest_, attempt, entropy_);
  if (manifest_.spec().without_encryption) return NewQuantizedPath(manifest_, attempt, entropy_);
  if (pair_keys_ == nullptr) {
    pair_keys_ = std::make_unique<PairKeys>(keys_.shared, manifest_, attempt.manifest_hash,
                                            attempt.number.epoch);
  }
  return NewEncryptedPath({.manifest = manifest_,
                           .keys = keys_,
                           .pair_keys = *pair_keys_,
                           .participants = std::move(participants),
                           .channel = channel_,
                           .entropy = entropy_,
                           .log = log},
                          attempt);
}

}  // namespace tacet::simulation
