#include "tacet/server/lost_objects.h"

#include <algorithm>
#include <utility>

#include "tacet/base/status.h"

namespace tacet::server {
namespace {

using protocol::BulkKind;

constexpr uint64_t kBetweenChecks = 5;  // seconds
// In which all come that have an object, and send it: members that cannot reach the server try
// again at least every 30 s.
constexpr uint64_t kGiveBackSeconds = 180;

// Objects of members, or the server's own, of which `submissions` are the digests. A digest of
// another length is that of no object.
void Need(const protocol::BulkName& name, const Submissions& submissions,
          std::vector<StoredObject>& needed) {
  for (const Submission& submission : submissions) {
    StoredObject object{.key = BlobKeyOf(name, submission.member)};
    const base::Bytes& digest = submission.bytes();
    std::copy_n(digest.begin(), std::min(digest.size(), object.digest.size()),
                object.digest.begin());
    needed.push_back(object);
  }
}

// Uploads are in the sum.
bool IsOfUnmasking(const RoundState& state, const LostObject& lost) {
  const protocol::BulkName& name = lost.object.key.name;
  return StageOf<Unmasking>(state) != nullptr && name.kind != BulkKind::kUpload &&
         name.attempt == OpenAttempt(state)->attempt;
}

std::vector<StoredObject> KeptObjects(const RoundState& state) {
  std::vector<StoredObject> kept;
  for (const KeptRound& round : state.kept) {
    Need({BulkKind::kClosedRound, round.attempt}, round.closed_round, kept);
    Need({BulkKind::kUnmaskShare, round.attempt}, round.unmask_shares, kept);
  }
  return kept;
}

bool IsUpload(const LostObject& lost) { return lost.object.key.name.kind == BulkKind::kUpload; }

// Everybody hears of it, unless only uploads came back and others are missing still: there may be
// as many as members.
void SetLost(Transition& step, std::vector<LostObject> lost) {
  std::vector<LostObject>& known = step.state.lost;
  if (known == lost) return;
  const bool only_uploads = !lost.empty() && lost.size() < known.size() &&
                            std::ranges::all_of(known, [&lost](const LostObject& one) {
                              return IsUpload(one) || std::ranges::find(lost, one) != lost.end();
                            });
  known = std::move(lost);
  if (!only_uploads) step.CountRevision(true);
}

// One checkpoint is enough.
void ForgetSpareCheckpoints(const std::vector<StoredObject>& needed,
                            std::vector<LostObject>& lost) {
  const auto is_checkpoint = [](const StoredObject& object) {
    return object.key.name.kind == BulkKind::kCheckpoint;
  };
  const auto is_lost_checkpoint = [&](const LostObject& one) { return is_checkpoint(one.object); };
  if (std::ranges::count_if(lost, is_lost_checkpoint) <
      std::ranges::count_if(needed, is_checkpoint)) {
    std::erase_if(lost, is_lost_checkpoint);
  }
}

}  // namespace

std::vector<StoredObject> NeededObjects(const RoundState& state) {
  std::vector<StoredObject> needed;
  if (Opened(state) == nullptr) return needed;
  const AttemptRecord* const open = OpenAttempt(state);
  if (const auto* const collecting = StageOf<Collecting>(state)) {
    Need({BulkKind::kUpload, open->attempt}, collecting->accepted, needed);
  } else if (const auto* const unmasking = StageOf<Unmasking>(state)) {
    Need({BulkKind::kClosedRound, open->attempt}, unmasking->closed_round, needed);
    Need({BulkKind::kRoster, open->attempt}, unmasking->roster, needed);
    Need({BulkKind::kUnmaskShare, open->attempt}, unmasking->unmask_shares, needed);
  } else if (!state.kept.empty() && IsPublishedLast(state, state.kept.back().attempt)) {
    const KeptRound& last = state.kept.back();
    Need({BulkKind::kClosedRound, last.attempt}, last.closed_round, needed);
    Need({BulkKind::kUnmaskShare, last.attempt}, last.unmask_shares, needed);
  }
  Need({.kind = BulkKind::kCheckpoint,
        .attempt = {.manifest_hash = state.rules->hash(), .number = Beginning(state)}},
       SubmissionsOf(state, ItemKind::kCheckpoint), needed);
  return needed;
}

const LostObject* FindLost(const RoundState& state, const BlobKey& key) {
  const auto found =
      std::ranges::find(state.lost, key, [](const LostObject& lost) { return lost.object.key; });
  return found == state.lost.end() ? nullptr : &*found;
}

bool IsServersOwn(BulkKind kind) {
  return kind == BulkKind::kClosedRound || kind == BulkKind::kRoster || kind == BulkKind::kShares;
}

BlobKey GivenKeyOf(const protocol::BulkName& name, uint64_t member) {
  return BlobKeyOf(name, IsServersOwn(name.kind) ? member + 1 : member);
}

void MayCheckObjects(Transition& step) {
  RoundState& state = step.state;
  const uint64_t now = step.moment.now;
  // A clock that was set back does not put it off.
  const bool is_early = now < state.next_check && state.next_check <= now + kBetweenChecks;
  if (is_early && !state.unchecked) return;
  CheckObjects check{.objects = NeededObjects(state), .read = state.unchecked};
  if (state.unchecked) check.earlier = KeptObjects(state);
  step.Ask(std::move(check));
  state.next_check = now + kBetweenChecks;
  state.unchecked = false;
}

absl::Status On(Transition& step, const ObjectsChecked& checked) {
  const std::vector<StoredObject> needed = NeededObjects(step.state);
  const uint64_t now = step.moment.now;
  std::vector<LostObject> lost;
  for (const StoredObject& object : checked.lost) {
    if (std::ranges::find(needed, object) == needed.end()) {
      return base::FailedPrecondition("an object that nothing refers to is not lost");
    }
    const LostObject* const known = FindLost(step.state, object.key);
    lost.push_back(
        {.object = object, .since = known == nullptr ? now : std::min(known->since, now)});
  }
  ForgetSpareCheckpoints(needed, lost);
  SetLost(step, std::move(lost));
  return absl::OkStatus();
}

bool TakeBack(Transition& step, const ObjectArrived& arrived) {
  const bool own = IsServersOwn(arrived.name.kind);
  const BlobKey key = BlobKeyOf(arrived.name, own ? 0 : arrived.member);
  const LostObject* const known = FindLost(step.state, key);
  if (known == nullptr || known->object.digest != arrived.digest) return false;
  if (own) {
    step.Ask(RestoreObject{.name = arrived.name, .whole = arrived.whole});
    step.state.sweep_is_due = true;  // of the copy
  }
  std::vector<LostObject> lost = step.state.lost;
  std::erase(lost, *known);
  SetLost(step, std::move(lost));
  return true;
}

bool HasLost(const RoundState& state) {
  return std::ranges::any_of(
      state.lost, [&state](const LostObject& lost) { return IsOfUnmasking(state, lost); });
}

bool HasLostForLong(const RoundState& state, uint64_t now) {
  return std::ranges::any_of(state.lost, [&](const LostObject& lost) {
    return IsOfUnmasking(state, lost) && IsServersOwn(lost.object.key.name.kind) &&
           now - std::min(now, lost.since) >= kGiveBackSeconds;
  });
}

}  // namespace tacet::server
