// Steps while an attempt collects uploads.
#include <algorithm>
#include <utility>

#include "tacet/base/status.h"
#include "tacet/server/round_steps.h"
#include "tacet/server/server_store_rules.h"

namespace tacet::server {
namespace {

// In which members return after a start: those that cannot reach the server try again at least
// every 30 s.
constexpr uint64_t kReturnSeconds = 60;
// So often the server notes that it runs, while an attempt collects for its whole time.
constexpr uint64_t kNotesOfAnAttempt = 16;

// Whether a sum can be closed: of K_min uploads, of which enough hold data.
bool HaveEnoughCome(const Transition& step) {
  const auto& collecting = *StageOf<Collecting>(step.state);
  const auto giving = static_cast<uint64_t>(
      std::ranges::count_if(collecting.accepted, [&collecting](const Submission& upload) {
        return collecting.abstentions.Find(upload.member) == nullptr;
      }));
  const bool may_abstain = protocol::MembersAbstain(step.rules().spec());
  return collecting.accepted.size() >= step.rules().min_participants() &&
         (!may_abstain || giving >= step.rules().MinGivers());
}

// Whether all uploads have come that are still expected.
bool IsComplete(const Transition& step) {
  const RoundState& state = step.state;
  const RoundRules& rules = step.rules();
  const auto& collecting = *StageOf<Collecting>(state);
  const uint64_t accepted = collecting.accepted.size();
  if (rules.DrawsCohorts()) {
    if (accepted == collecting.cohort.size()) return true;
  } else {
    if (accepted == MayUpload(state)) return true;
    // A member without an upload is not in the cohort, or on the way: only the member knows.
    if (!rules.EveryMemberUploads()) return false;
  }
  const Attendance& attendance = step.moment.attendance;
  const uint64_t begun = step.open().begun;
  if (!HaveEnoughCome(step) || begun < attendance.since() ||
      step.moment.now < begun + rules.options().grace_seconds) {
    return false;
  }
  for (uint64_t member = 0; member < attendance.members(); ++member) {
    if (IsInvited(state, member) && attendance.SeenSince(member, begun) &&
        collecting.accepted.Find(member) == nullptr) {
      return false;
    }
  }
  return true;
}

bool MayCloseNow(const Transition& step) {
  return StageOf<Collecting>(step.state) != nullptr &&
         (step.moment.now >= step.open().deadline || IsComplete(step));
}

// Notes now and then that the server runs, so that a later process knows the time left.
void NoteTime(Transition& step) {
  const uint64_t now = step.moment.now;
  const uint64_t interval = step.rules().options().collecting_seconds / kNotesOfAnAttempt;
  const AttemptRecord& open = step.open();
  if (now >= open.noted && now - open.noted < std::max<uint64_t>(1, interval)) return;
  AttemptRecord record = open;
  record.noted = now;
  step.Do(UpdateAttempt{.record = std::move(record), .items = {}});
}

}  // namespace

absl::Status MayClose(Transition& step) {
  if (!MayCloseNow(step)) {
    NoteTime(step);
    return absl::OkStatus();
  }
  const RoundRules& rules = step.rules();
  if (HaveEnoughCome(step)) {
    step.Ask(CloseSum{.attempt = step.open().attempt, .key_packets = step.state.key_packets});
  } else if (rules.EveryMemberUploads()) {
    step.Extend(rules.options().collecting_seconds);
  } else {
    step.End(protocol::AttemptPhase::kFailed, kTooFewUploads);
    PauseAfterTooFew(step, step.moment.now);
  }
  return absl::OkStatus();
}

bool ResumeCollecting(Transition& step) {
  const std::optional<uint64_t> read = std::exchange(step.state.read_at, std::nullopt);
  if (!read.has_value() || IsComplete(step)) return false;
  const AttemptRecord& open = step.open();
  const RoundServerOptions& options = step.rules().options();
  const uint64_t now = step.moment.now;
  // An attempt that is too old, be it by a wrong clock, must end. Nothing else is certain of it.
  if (now - std::min(now, open.begun) >= options.abandon_seconds) return false;
  const uint64_t had_left = open.deadline - std::min(open.deadline, open.noted);
  const uint64_t left = std::min(options.collecting_seconds, std::max(had_left, kReturnSeconds));
  const uint64_t deadline = std::min(*read, now) + left;
  if (deadline == open.deadline || deadline <= now) return false;
  step.SetDeadline(deadline);
  return true;
}

absl::Status On(Transition& step, const UploadsLost& lost) {
  auto* const opened = std::get_if<OpenedEpoch>(&step.state.epoch);
  auto* const collecting = opened == nullptr ? nullptr : std::get_if<Collecting>(&opened->stage);
  if (collecting == nullptr) return base::FailedPrecondition("no attempt collects uploads");
  for (const uint64_t member : lost.members) {
    const Submission* const upload = collecting->accepted.Find(member);
    if (upload == nullptr) continue;
    collecting->lost.Add(*upload);
    collecting->accepted.Remove(member);
  }
  return absl::OkStatus();
}

absl::Status On(Transition& step, const SumClosed& closed) {
  const auto* const collecting = StageOf<Collecting>(step.state);
  if (!MayCloseNow(step) || closed.participants != collecting->accepted.size() ||
      !HaveEnoughCome(step)) {
    return base::FailedPrecondition("no sum of {} uploads is to be closed", closed.participants);
  }
  AttemptRecord record = step.open();
  record.phase = protocol::AttemptPhase::kUnmasking;
  record.participants = closed.participants;
  record.deadline = step.moment.now + step.rules().options().unmasking_seconds;
  record.noted = step.moment.now;
  std::vector<Item> items;
  const auto put = [&items](ItemKind kind, const crypto::Digest& digest) {
    items.push_back({.kind = kind, .member = 0, .bytes = {digest.begin(), digest.end()}});
  };
  put(ItemKind::kClosedRound, closed.closed_round);
  put(ItemKind::kRoster, closed.roster);
  if (closed.shares.has_value()) put(ItemKind::kShares, *closed.shares);
  for (const Submission& one : collecting->abstentions) {
    if (collecting->accepted.Find(one.member) == nullptr) continue;
    items.push_back({.kind = ItemKind::kAbstained, .member = one.member, .bytes = one.bytes()});
  }
  step.state.next_check = 0;  // other objects are needed now
  step.Do(UpdateAttempt{.record = std::move(record), .items = std::move(items)});
  BeginAsking(step);
  step.CountRevision(true);
  return absl::OkStatus();
}

absl::Status On(Transition& step, const AbstentionGiven& given) {
  const protocol::Abstention& abstention = given.abstention;
  if (!protocol::MembersAbstain(step.rules().spec())) {
    return base::FailedPrecondition("no member abstains under this agreement");
  }
  TACET_RETURN_IF_ERROR(
      CheckOpen(step.state, abstention.attempt, protocol::AttemptPhase::kCollecting));
  const Submissions& abstentions = SubmissionsOf(step.state, ItemKind::kAbstention);
  if (const Submission* const known = abstentions.Find(abstention.member)) {
    return CheckSameItem({.kind = ItemKind::kAbstention, .bytes = given.bytes}, known->bytes());
  }
  step.Put(ItemKind::kAbstention, abstention.member, given.bytes);
  return absl::OkStatus();
}

void MayEndWithoutGivers(Transition& step) {
  const auto* const collecting = StageOf<Collecting>(step.state);
  if (collecting == nullptr || collecting->abstentions.empty()) return;
  const uint64_t may_give = MayGive(step.state);
  if (may_give >= step.rules().MinGivers()) return;
  const auto on_trial = std::ranges::count_if(
      SubmissionsOf(step.state, ItemKind::kLeftOut), [collecting](const Submission& one) {
        return IsOnTrial(one.bytes()) && collecting->abstentions.Find(one.member) == nullptr;
      });
  // With those on trial there are enough. The next attempt has nobody on trial.
  const bool for_trial = may_give + static_cast<uint64_t>(on_trial) >= step.rules().MinGivers();
  step.End(protocol::AttemptPhase::kFailed, for_trial ? kTooFewUploads : kTooFewGivers);
}

}  // namespace tacet::server
