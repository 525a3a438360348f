// Steps between attempts: attestations of the model that comes next, and the beginning of an
// attempt.
#include <algorithm>
#include <utility>

#include "tacet/base/status.h"
#include "tacet/server/gathering.h"
#include "tacet/server/round_steps.h"
#include "tacet/server/server_store_rules.h"

namespace tacet::server {
namespace {

constexpr uint64_t kLongestPause = 3600;  // seconds

// Half as many after every sum of this round that the committee refused: a smaller cohort leaves a
// bad participant out with a greater chance. It is drawn from all clients, independently of the
// cohorts before, as the accountants assume.
uint64_t CohortSize(const RoundState& state, const secagg::Attempt& attempt) {
  const auto refused = std::ranges::count_if(*state.attempts, [&](const AttemptRecord& record) {
    return record.attempt.number.epoch == attempt.number.epoch &&
           record.attempt.number.round == attempt.number.round && record.failure == kRefusedFailure;
  });
  const uint64_t cohort = state.rules->spec().sampling.cohort;
  if (state.rules->EveryMemberUploads()) return cohort;  // others are on trial in turn
  const uint64_t halved = cohort >> std::min<ptrdiff_t>(refused, 31);
  // K_min others are in every cohort.
  return std::max(
      halved, state.rules->min_participants() + SubmissionsOf(state, ItemKind::kLeftOut).size());
}

void Begin(Transition& step, const secagg::Attempt& attempt, std::vector<uint64_t> cohort) {
  const AttemptRecord record{
      .attempt = attempt,
      .phase = protocol::AttemptPhase::kCollecting,
      .begun = step.moment.now,
      .deadline = step.moment.now + step.rules().options().collecting_seconds,
      .noted = step.moment.now,
      .failure = {}};
  step.state.next_check = 0;  // other objects are needed now
  step.Do(BeginAttempt{.record = record, .cohort = std::move(cohort)});
  step.Ask(MakeSum{attempt, {}});
  step.CountRevision(true);
}

// The attempt that may begin now: enough members have been here for long enough, a pause after a
// failure is over, and no operator has paused.
std::optional<secagg::Attempt> Beginnable(Transition& step) {
  auto* const opened = std::get_if<OpenedEpoch>(&step.state.epoch);
  auto* const waiting = opened == nullptr ? nullptr : std::get_if<BetweenAttempts>(&opened->stage);
  if (waiting == nullptr || step.state.draining) return std::nullopt;
  std::optional<secagg::Attempt> next = NextAttempt(step.state);
  if (!next.has_value()) return std::nullopt;
  if (std::string why = WhyStop(step.state, *next); !why.empty()) {
    opened->stage = Stopped{.why = std::move(why)};
    step.CountRevision(true);
    return std::nullopt;
  }
  if (step.state.paused) return std::nullopt;
  const uint64_t now = step.moment.now;
  const Gathering gathering = CountGathering(step.state, step.moment);
  if (!gathering.enough()) {
    waiting->enough_since.reset();
    return std::nullopt;
  }
  // A clock that was set back begins the grace period again.
  if (!waiting->enough_since.has_value() || *waiting->enough_since > now) {
    waiting->enough_since = now;
  }
  // Set by a clock that was ahead.
  waiting->pause_ends = std::min(waiting->pause_ends, now + waiting->pause_seconds);
  if (now < waiting->pause_ends) return std::nullopt;
  const bool waited = now - *waiting->enough_since >= step.rules().options().grace_seconds;
  return gathering.here == MayUpload(step.state) || waited ? next : std::nullopt;
}

}  // namespace

absl::Status MayBegin(Transition& step) {
  const std::optional<secagg::Attempt> next = Beginnable(step);
  if (!next.has_value()) return absl::OkStatus();
  if (!step.rules().DrawsCohorts()) {
    Begin(step, *next, {});
  } else {
    step.Ask(DrawCohort{.attempt = *next, .size = CohortSize(step.state, *next)});
  }
  return absl::OkStatus();
}

absl::Status On(Transition& step, const CohortDrawn& drawn) {
  const std::optional<secagg::Attempt> next = Beginnable(step);
  if (!next.has_value() || *next != drawn.attempt || !step.rules().DrawsCohorts() ||
      drawn.cohort.size() != CohortSize(step.state, *next)) {
    return base::FailedPrecondition("round {} attempt {}: no such cohort is asked for",
                                    drawn.attempt.number.round, drawn.attempt.number.attempt);
  }
  // They are absent, as accountants count it: who is absent is settled before the draw.
  std::vector<uint64_t> cohort = drawn.cohort;
  std::erase_if(cohort, [&step](uint64_t member) { return IsLeftOut(step.state, member); });
  Begin(step, *next, std::move(cohort));
  return absl::OkStatus();
}

void PauseAfterTooFew(Transition& step, uint64_t ended) {
  auto* const opened = std::get_if<OpenedEpoch>(&step.state.epoch);
  auto* const waiting = opened == nullptr ? nullptr : std::get_if<BetweenAttempts>(&opened->stage);
  auto record = step.state.attempts->rbegin();
  if (waiting == nullptr || record->failure != kTooFewUploads) return;
  uint64_t pause = step.rules().options().retry_seconds;
  for (++record; record != step.state.attempts->rend() && record->failure == kTooFewUploads;
       ++record) {
    pause = std::min(2 * pause, kLongestPause);
  }
  waiting->pause_seconds = std::min(pause, kLongestPause);
  waiting->pause_ends = ended + waiting->pause_seconds;
}

absl::Status On(Transition& step, const AttestationGiven& given) {
  const protocol::Attestation& attestation = given.attestation;
  auto* const opened = std::get_if<OpenedEpoch>(&step.state.epoch);
  if (opened == nullptr) {
    return base::FailedPrecondition("attestation for round {}: epoch {} is not opened",
                                    attestation.round, step.rules().manifest().epoch());
  }
  if (attestation.round != opened->round) {
    return base::FailedPrecondition("attestation for round {}: the next round is {}",
                                    attestation.round, opened->round);
  }
  if (const Submission* const known = opened->attestations.Find(attestation.member)) {
    return CheckSameItem({.kind = ItemKind::kAttestation, .bytes = given.bytes}, known->bytes());
  }
  const bool was_final = StatedModel(step.state).has_value();
  step.Put(ItemKind::kAttestation, attestation.member, given.bytes);
  opened->attested.push_back({attestation.member, attestation.model_digest});
  // Members without the state wait for attestations of the committee.
  if (step.rules().HasSeat(attestation.member)) step.CountRevision(false);
  // The roster goes.
  if (!was_final && StatedModel(step.state).has_value()) step.state.sweep_is_due = true;
  return absl::OkStatus();
}

}  // namespace tacet::server
