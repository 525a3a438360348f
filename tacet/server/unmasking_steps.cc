// Steps while the committee unmasks a closed round: votes, verdicts, and the attempt's end.
#include <algorithm>
#include <utility>

#include "tacet/base/status.h"
#include "tacet/server/lost_objects.h"
#include "tacet/server/round_steps.h"
#include "tacet/server/server_store_rules.h"
#include "tacet/server/silent_seats.h"

namespace tacet::server {
namespace {

// Whether the refusals end the attempt. One of f + 1 refusals comes from an honest seat. Fewer end
// an attempt only when the votes that can still come are too few: a seat that has not voted takes
// its own vote back, nobody else's.
bool IsRefused(const RoundRules& rules, const Unmasking& unmasking) {
  if (unmasking.refusals.size() > rules.spec().committee.corrupt) return true;
  const auto unvoted = std::ranges::count_if(unmasking.refusals, [&](const Submission& refusal) {
    return unmasking.votes.Find(refusal.member) == nullptr;
  });
  return rules.committee().size() - static_cast<size_t>(unvoted) < rules.VoteQuorum();
}

// Whether no seat is expected to give another check row.
bool AllChecked(const RoundRules& rules, const Unmasking& unmasking) {
  const Submissions& unmasked = unmasking.unmask_shares;
  if (unmasking.shares.empty() ||
      !rules.aggregation().sharing().ShowsWrongShares(unmasked.size())) {
    return true;  // nothing to check, or nothing to check with
  }
  return std::ranges::all_of(unmasked, [&](const Submission& share) {
    return unmasking.check_rows.Find(share.member) != nullptr ||
           unmasking.confirmations.Find(share.member) != nullptr;
  });
}

// Whether all seats said all that they can say. Without a quorum there is no share, and with one a
// share of every vote. All shares of all seats decrypt, or are refused. Of fewer a seat may still
// wait for the others, or it was lost before it could confirm: then it is not here, or this server
// has not been here for long.
bool IsSettled(const RoundState& state, const Moment& moment, const Unmasking& unmasking) {
  const RoundRules& rules = *state.rules;
  size_t heard = 0;
  bool all_here = moment.now >= moment.attendance.since() + rules.options().unmasking_seconds;
  for (const secagg::CommitteeSeat& seat : rules.committee()) {
    const bool refused = unmasking.refusals.Find(seat.member) != nullptr;
    const bool voted = unmasking.votes.Find(seat.member) != nullptr;
    const bool silenced = IsSilenced(state, seat.member);
    if (refused || voted || silenced) ++heard;
    if (!refused && !silenced && !moment.attendance.IsHere(seat.member, moment.now))
      all_here = false;
  }
  if (heard < rules.committee().size()) return false;
  const size_t votes = unmasking.votes.size();
  const size_t shares = unmasking.unmask_shares.size();
  if (shares == 0) return votes < rules.VoteQuorum() || all_here;
  return shares >= votes && shares < rules.committee().size() && all_here;
}

bool IsLate(const Transition& step) { return step.moment.now >= step.open().deadline; }

// Asks for the check of the shares, if there is something to check.
absl::Status Check(Transition& step) {
  const auto& unmasking = *StageOf<Unmasking>(step.state);
  if (unmasking.shares.empty() || unmasking.check_rows.empty()) {
    return On(step, SharesChecked());
  }
  step.Ask(CheckShares{.attempt = step.open().attempt,
                       .shares = unmasking.shares,
                       .closed_round = unmasking.closed_round,
                       .roster = unmasking.roster,
                       .rows = unmasking.check_rows});
  return absl::OkStatus();
}

}  // namespace

absl::Status On(Transition& step, const VoteGiven& given) {
  TACET_RETURN_IF_ERROR(step.rules().CheckSeat(given.member));
  TACET_RETURN_IF_ERROR(CheckUnmaskable(step.state, given.attempt));
  const bool late = IsPublishedLast(step.state, given.attempt);
  const Submissions& votes =
      late ? step.state.kept.back().votes : SubmissionsOf(step.state, ItemKind::kVote);
  if (const Submission* const known = votes.Find(given.member)) {
    return CheckSameItem({.kind = ItemKind::kVote, .bytes = given.vote}, known->bytes());
  }
  step.Put(ItemKind::kVote, given.member, given.vote);
  step.CountRevision(false);
  return absl::OkStatus();
}

absl::Status On(Transition& step, const VerdictGiven& given) {
  TACET_RETURN_IF_ERROR(step.rules().CheckSeat(given.member));
  // A member that did not hear that it was taken may say so again.
  if (given.confirmed && IsPublishedLast(step.state, given.attempt)) return absl::OkStatus();
  TACET_RETURN_IF_ERROR(CheckOpen(step.state, given.attempt, protocol::AttemptPhase::kUnmasking));
  const ItemKind kind = given.confirmed ? ItemKind::kConfirmation : ItemKind::kRefusal;
  if (Find(step.state, kind, given.member) == nullptr) step.Put(kind, given.member, {});
  return absl::OkStatus();
}

// Refusals may come before the rows of other seats; the deadline ends the wait for these.
absl::Status MayEnd(Transition& step) {
  const auto* const unmasking = StageOf<Unmasking>(step.state);
  if (unmasking == nullptr) return absl::OkStatus();
  if (!unmasking->named.empty()) {
    const bool disputed = !unmasking->named[0].bytes().empty();
    step.End(protocol::AttemptPhase::kFailed, disputed ? kDisputedShares : kWrongShares);
  } else if (unmasking->confirmations.size() >= step.rules().ConfirmationQuorum()) {
    step.End(protocol::AttemptPhase::kPublished, "");
  } else if (IsRefused(step.rules(), *unmasking) && AllChecked(step.rules(), *unmasking)) {
    return Check(step);
  }
  return absl::OkStatus();
}

void MayEndWithoutVotes(Transition& step) {
  if (OpenAttempt(step.state) == nullptr) return;
  const RoundRules& rules = step.rules();
  const auto silenced = std::ranges::count_if(
      rules.committee(),
      [&step](const secagg::CommitteeSeat& seat) { return IsSilenced(step.state, seat.member); });
  if (rules.committee().size() - static_cast<size_t>(silenced) < rules.VoteQuorum()) {
    step.End(protocol::AttemptPhase::kFailed, kNotDecrypted);
  }
}

void BeginAsking(Transition& step) {
  auto* const opened = std::get_if<OpenedEpoch>(&step.state.epoch);
  auto* const unmasking = opened == nullptr ? nullptr : std::get_if<Unmasking>(&opened->stage);
  if (unmasking == nullptr) return;
  // A deadline that has passed in an earlier process counts, and no time in which no server ran.
  const AttemptRecord& record = step.open();
  const uint64_t deadline = step.rules().options().unmasking_seconds;
  const bool extended = record.deadline > record.noted && record.deadline - record.noted > deadline;
  const uint64_t now = step.moment.now;
  unmasking->since = extended ? now - std::min(now, deadline) : now;
}

absl::Status ExtendOrFail(Transition& step) { return Check(step); }

absl::Status On(Transition& step, const SharesChecked& checked) {
  const auto* const unmasking = StageOf<Unmasking>(step.state);
  if (unmasking == nullptr) return base::FailedPrecondition("no attempt is unmasking");
  const bool refused = IsRefused(step.rules(), *unmasking);
  if (!IsLate(step) && !(refused && AllChecked(step.rules(), *unmasking))) {
    return base::FailedPrecondition("no check of shares is asked for");
  }
  AttemptRecord record = step.open();
  std::vector<Item> named;
  for (const uint64_t member : checked.accused) {
    if (unmasking->accepted.Find(member) == nullptr) continue;
    named.push_back({.kind = ItemKind::kLeftOut,
                     .member = member,
                     .bytes = checked.of_one_seat ? base::Bytes{kInDisputeOfOneSeat}
                              : checked.disputed  ? base::Bytes{kInDispute}
                                                  : base::Bytes()});
  }
  const uint64_t left_out = step.state.exclusions.named_now() + named.size();
  if (!named.empty() && left_out <= step.rules().MostLeftOut()) {
    // The attempt fails, also if this server is killed before it ends.
    step.Do(UpdateAttempt{.record = std::move(record), .items = std::move(named)});
    return absl::OkStatus();
  }
  step.state.suspects.clear();  // those of an earlier attempt, too
  for (const Item& item : named) step.state.suspects.push_back(item.member);
  if (refused) {
    // Nobody is on trial where the server lost what names a culprit.
    const bool lost = checked.objects_lost || HasLost(step.state);
    step.End(protocol::AttemptPhase::kFailed, lost ? kObjectLost : kRefusedFailure);
    return absl::OkStatus();
  }
  // A seat that is absent or silent costs time, but no new attempt and no new charge, as long as
  // the others are too few. A quorum has had its time, unless it is one only since the last
  // deadline: seats that returned late may be about to confirm.
  const uint64_t now = step.moment.now;
  const uint64_t begun = std::min(now, record.begun);
  const bool answers =
      CountAnswering(step.state, step.moment, *unmasking) >= step.rules().VoteQuorum();
  const bool is_new = answers && !unmasking->answered;
  const bool in_vain = answers && !is_new && IsLongUnmasking(step.rules(), step.moment, *unmasking);
  const bool is_over = IsSettled(step.state, step.moment, *unmasking) &&
                       !(is_new && !unmasking->confirmations.empty());
  if (in_vain || is_over || now - begun >= step.rules().options().abandon_seconds) {
    step.End(protocol::AttemptPhase::kFailed, HasLost(step.state) ? kObjectLost : kNotDecrypted);
  } else {
    std::get<Unmasking>(std::get<OpenedEpoch>(step.state.epoch).stage).answered = answers;
    step.Extend(step.rules().options().unmasking_seconds);
  }
  return absl::OkStatus();
}

}  // namespace tacet::server
