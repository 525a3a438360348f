#include "tacet/server/round_protocol.h"

#include <algorithm>
#include <utility>

#include "tacet/base/status.h"
#include "tacet/server/lost_objects.h"
#include "tacet/server/round_steps.h"
#include "tacet/server/server_store_rules.h"

namespace tacet::server {
namespace {

absl::Status On(Transition& step, const StoreRead& read) {
  Replace(step.state, read.stored, read.signed_ones);
  if (!step.state.attempts->empty()) {
    PauseAfterTooFew(step, std::min(step.state.attempts->back().deadline, step.moment.now));
  }
  step.CountRevision(true);
  BeginAsking(step);
  step.state.read_at.reset();
  if (const auto* collecting = StageOf<Collecting>(step.state)) {
    step.state.read_at = step.moment.now;
    step.Ask(MakeSum{step.open().attempt, collecting->accepted});
  }
  return absl::OkStatus();
}

absl::Status On(Transition& step, const DrainAsked&) {
  step.state.draining = true;
  return absl::OkStatus();
}

absl::Status On(Transition& step, const PauseAsked& asked) {
  step.state.paused = asked.paused;
  return absl::OkStatus();
}

// No deadline is further away than its phase may last: it may have been set by a wrong clock.
bool BoundDeadline(Transition& step) {
  const uint64_t latest = step.moment.now + step.rules().SecondsOf(step.open().phase);
  if (step.open().deadline <= latest) return false;
  step.SetDeadline(latest);
  return true;
}

absl::Status On(Transition& step, const TimePassed&) {
  if (OpenAttempt(step.state) != nullptr) {
    const bool collects = StageOf<Collecting>(step.state) != nullptr;
    if (collects && ResumeCollecting(step)) return absl::OkStatus();
    if (BoundDeadline(step)) return absl::OkStatus();
    if (collects) return MayClose(step);
    if (HasLostForLong(step.state, step.moment.now)) {
      step.End(protocol::AttemptPhase::kFailed, kObjectLost);
      return absl::OkStatus();
    }
    return step.moment.now >= step.open().deadline ? ExtendOrFail(step) : absl::OkStatus();
  }
  if (step.state.draining) return absl::OkStatus();
  if (Opened(step.state) != nullptr) return MayBegin(step);
  MayAskForVotes(step);
  return absl::OkStatus();
}

absl::Status On(Transition& step, const Continue&) {
  if (Opened(step.state) == nullptr) return MayOpen(step);
  TACET_RETURN_IF_ERROR(MayEnd(step));
  MayEndWithoutGivers(step);
  MayEndWithoutVotes(step);
  if (step.actions.empty()) MayCheckObjects(step);
  // Uploads that are on their way stay.
  if (step.actions.empty() && step.state.sweep_is_due &&
      StageOf<Collecting>(step.state) == nullptr) {
    step.Ask(SweepOf(step.state));
    step.state.sweep_is_due = false;
  }
  return absl::OkStatus();
}

}  // namespace

void Transition::Do(Change change) {
  Apply(state, change);
  std::visit([this](auto& one) { Ask(std::move(one)); }, change);
}

namespace {

// A member that gives its part acts on what is announced. A seat that may have voted uploads, too.
void TakeBackObjection(RoundState& state, ItemKind kind, uint64_t member) {
  if (kind != ItemKind::kAccepted && kind != ItemKind::kVote) return;
  std::erase_if(state.objections, [&](const protocol::Objection& one) {
    return one.member == member &&
           (kind == ItemKind::kVote || one.reason != protocol::ObjectionReason::kMayHaveVoted);
  });
}

}  // namespace

void Transition::Put(ItemKind kind, uint64_t member, std::span<const uint8_t> bytes) {
  TakeBackObjection(state, kind, member);
  const bool of_beginning = kind == ItemKind::kAttestation || kind == ItemKind::kCheckpoint;
  const secagg::AttemptNumber at = of_beginning ? Beginning(state)
                                   : kind == ItemKind::kOpeningVote || kind == ItemKind::kKeyPacket
                                       ? OpeningNumber(rules().manifest().epoch())
                                       : state.attempts->back().attempt.number;
  Do(PutItem{.at = at,
             .item = {.kind = kind, .member = member, .bytes = {bytes.begin(), bytes.end()}}});
}

void Transition::SetDeadline(uint64_t deadline) {
  AttemptRecord record = open();
  record.deadline = deadline;
  if (record.phase == protocol::AttemptPhase::kCollecting) record.noted = moment.now;
  Do(UpdateAttempt{.record = std::move(record), .items = {}});
  CountRevision(true);
}

void Transition::Extend(uint64_t seconds) {
  ++state.extensions;
  SetDeadline(moment.now + seconds);
}

void Transition::End(protocol::AttemptPhase phase, std::string_view failure) {
  AttemptRecord record = open();
  record.phase = phase;
  record.failure = failure;
  state.next_check = 0;  // other objects are needed now
  Do(EndAttempt{.record = std::move(record)});
  CountRevision(true);
}

void Transition::CountRevision(bool phase) {
  ++state.revision;
  if (!phase) return;
  state.phase_revision = state.revision;
  // Members that object to this, too, say so.
  state.objections.clear();
}

absl::Status On(Transition& step, const ObjectionGiven& given) {
  const protocol::Objection& objection = given.objection;
  // It is about an earlier announcement, or of another process.
  if (objection.revision < step.state.phase_revision || objection.revision > step.state.revision) {
    return absl::OkStatus();
  }
  std::erase_if(step.state.objections,
                [&](const protocol::Objection& one) { return one.member == objection.member; });
  step.state.objections.push_back(objection);
  return absl::OkStatus();
}

absl::Status CheckOpen(const RoundState& state, const secagg::Attempt& attempt,
                       protocol::AttemptPhase phase) {
  const AttemptRecord* const open = OpenAttempt(state);
  if (open == nullptr) {
    return base::FailedPrecondition("round {} attempt {}: no attempt is open", attempt.number.round,
                                    attempt.number.attempt);
  }
  TACET_RETURN_IF_ERROR(secagg::CheckAttempt(attempt, open->attempt, "request"));
  if (open->phase == phase) return absl::OkStatus();
  return base::FailedPrecondition(
      "round {} attempt {} is {}", attempt.number.round, attempt.number.attempt,
      phase == protocol::AttemptPhase::kUnmasking ? "still collecting" : "closed");
}

absl::Status CheckUnmaskable(const RoundState& state, const secagg::Attempt& attempt) {
  if (IsPublishedLast(state, attempt)) return absl::OkStatus();
  return CheckOpen(state, attempt, protocol::AttemptPhase::kUnmasking);
}

Sweep SweepOf(const RoundState& state) {
  using protocol::BulkKind;
  const uint32_t finished = FinishedRounds(state);
  const uint32_t kept_rounds = state.rules->options().kept_rounds;
  Sweep sweep{.forgotten_before = finished - std::min(finished, kept_rounds), .kept = {}};
  const auto keep = [&](const protocol::BulkName& name, const Submissions& submissions) {
    for (const Submission& submission : submissions) {
      sweep.kept.push_back(BlobKeyOf(name, submission.member));
    }
  };
  for (const KeptRound& kept : state.kept) {
    sweep.kept.push_back(BlobKeyOf({BulkKind::kClosedRound, kept.attempt}, 0));
    keep({BulkKind::kUnmaskShare, kept.attempt}, kept.unmask_shares);
  }
  // The roster goes with the attempt's end, or stays as long as a published one is not final.
  if (!state.kept.empty() && IsPublishedLast(state, state.kept.back().attempt) &&
      !StatedModel(state).has_value()) {
    sweep.kept.push_back(BlobKeyOf({BulkKind::kRoster, state.kept.back().attempt}, 0));
  }
  if (const auto* unmasking = StageOf<Unmasking>(state)) {
    const secagg::Attempt& attempt = OpenAttempt(state)->attempt;
    keep({BulkKind::kClosedRound, attempt}, unmasking->closed_round);
    keep({BulkKind::kRoster, attempt}, unmasking->roster);
    keep({BulkKind::kUnmaskShare, attempt}, unmasking->unmask_shares);
    keep({BulkKind::kCheckRow, attempt}, unmasking->check_rows);
    keep({BulkKind::kShares, attempt}, unmasking->shares);
  }
  keep({.kind = BulkKind::kCheckpoint,
        .attempt = {.manifest_hash = state.rules->hash(), .number = Beginning(state)}},
       SubmissionsOf(state, ItemKind::kCheckpoint));
  return sweep;
}

absl::StatusOr<Step> Next(const RoundState& state, const Moment& moment, const Event& event) {
  Transition step{.state = state, .moment = moment};
  TACET_RETURN_IF_ERROR(
      std::visit([&step](const auto& one) -> absl::Status { return On(step, one); }, event));
  return Step{.next = std::move(step.state), .actions = std::move(step.actions)};
}

}  // namespace tacet::server
