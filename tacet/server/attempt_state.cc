#include "tacet/server/attempt_state.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tacet/base/status.h"
#include "tacet/crypto/hash.h"
#include "tacet/secagg/attempt.h"
#include "tacet/server/server_store_rules.h"

namespace tacet::server {
namespace {

constexpr std::string_view kEpochEnded = "epoch-ended";

constexpr std::array kForgottenOfPublished = {ItemKind::kAccepted, ItemKind::kRoster,
                                              ItemKind::kRefusal,  ItemKind::kConfirmation,
                                              ItemKind::kCheckRow, ItemKind::kShares};
constexpr std::array kForgottenOfFailed = {
    ItemKind::kAccepted,     ItemKind::kRoster,      ItemKind::kRefusal,
    ItemKind::kConfirmation, ItemKind::kClosedRound, ItemKind::kVote,
    ItemKind::kUnmaskShare,  ItemKind::kCheckRow,    ItemKind::kShares};

// What is given to the round that comes next, not to an attempt.
bool IsOfBeginning(ItemKind kind) {
  return kind == ItemKind::kAttestation || kind == ItemKind::kCheckpoint;
}

}  // namespace

BlobKey BlobKeyOf(const protocol::BulkName& name, uint64_t member) {
  BlobKey key{.name = name, .member = member};
  if (name.kind == protocol::BulkKind::kCheckpoint) key.name.attempt.model_digest = {};
  return key;
}

AttemptState::AttemptState(const agreement::SignedManifest& manifest, uint32_t kept_rounds,
                           ServerStore& store, BlobStore& blobs)
    : manifest_(manifest), kept_rounds_(kept_rounds), store_(store), blobs_(blobs) {}

absl::StatusOr<std::unique_ptr<AttemptState>> AttemptState::Load(
    const agreement::SignedManifest& manifest, uint32_t kept_rounds, ServerStore& store,
    BlobStore& blobs) {
  std::unique_ptr<AttemptState> state(new AttemptState(manifest, kept_rounds, store, blobs));
  TACET_RETURN_IF_ERROR(state->Read());
  return state;
}

absl::Status AttemptState::Read() {
  TACET_ASSIGN_OR_RETURN(attempts_, store_.Attempts());
  if (!attempts_.empty()) TACET_RETURN_IF_ERROR(ReadLast());
  std::erase_if(attempts_, [this](const AttemptRecord& record) {
    return record.attempt.number.epoch < manifest_.training();
  });
  TACET_RETURN_IF_ERROR(ReadKept());
  TACET_ASSIGN_OR_RETURN(std::vector<Item> votes, store_.Items(OpeningNumber()));
  for (Item& vote : votes) opening_votes_.push_back({vote.member, std::move(vote.bytes)});
  if (IsOpening()) {
    sweep_is_due_ = false;  // what belongs to the first round is not known yet
    return absl::OkStatus();
  }
  TACET_RETURN_IF_ERROR(ReadSubmissions(Beginning(), IsOfBeginning));
  TACET_RETURN_IF_ERROR(ReadLeftOut());
  // Parts of uploads that were on their way stay.
  sweep_is_due_ = Open() == nullptr || Open()->phase != protocol::AttemptPhase::kCollecting;
  return absl::OkStatus();
}

absl::Status AttemptState::ReadLast() {
  const AttemptRecord& last = attempts_.back();
  if (last.attempt.number.epoch > manifest_.epoch()) {
    return base::FailedPrecondition(
        "the server's store has gone on to epoch {}, its manifest is of epoch {}",
        last.attempt.number.epoch, manifest_.epoch());
  }
  const crypto::Digest& hash = last.attempt.manifest_hash;
  if ((last.attempt.number.epoch == manifest_.epoch() && hash != manifest_.manifest().hash()) ||
      (last.attempt.number.epoch + 1 == manifest_.epoch() && hash != manifest_.predecessor())) {
    return base::FailedPrecondition(
        "the server's store has attempts of epoch {} under another manifest than the server's, or "
        "than its predecessor: two manifests were signed for that epoch",
        last.attempt.number.epoch);
  }
  if (Open() == nullptr) return absl::OkStatus();
  if (last.attempt.number.epoch < manifest_.epoch())
    return Finish(protocol::AttemptPhase::kFailed, kEpochEnded);
  TACET_ASSIGN_OR_RETURN(cohort_, store_.Cohort());
  return ReadSubmissions(last.attempt.number, [](ItemKind kind) {
    return !IsOfBeginning(kind) && kind != ItemKind::kLeftOut;
  });
}

// Of all attempts of the round that is going on which have ended.
absl::Status AttemptState::ReadLeftOut() {
  const secagg::AttemptNumber beginning = Beginning();
  for (const AttemptRecord& record : attempts_) {
    const secagg::AttemptNumber& number = record.attempt.number;
    if (number.epoch != beginning.epoch || number.round != beginning.round) continue;
    if (!HasEnded(record.phase)) continue;
    TACET_RETURN_IF_ERROR(
        ReadSubmissions(number, [](ItemKind kind) { return kind == ItemKind::kLeftOut; }));
  }
  return absl::OkStatus();
}

absl::Status AttemptState::ReadKept() {
  const uint32_t oldest = finished() - std::min(finished(), kept_rounds_);
  for (const AttemptRecord& record : attempts_) {
    if (record.phase != protocol::AttemptPhase::kPublished ||
        record.attempt.number.round < oldest || record.attempt.number.epoch != manifest_.epoch()) {
      continue;
    }
    KeptRound kept{.attempt = record.attempt};
    TACET_ASSIGN_OR_RETURN(std::vector<Item> items, store_.Items(record.attempt.number));
    for (Item& item : items) {
      if (item.kind == ItemKind::kVote) {
        kept.votes.push_back({item.member, std::move(item.bytes)});
      } else if (item.kind == ItemKind::kUnmaskShare) {
        kept.unmask_shares.push_back({item.member, std::move(item.bytes)});
      }
    }
    kept_.push_back(std::move(kept));
  }
  return absl::OkStatus();
}

// A round's beginning has the number of its first attempt: `wanted` tells their items apart.
template <typename Wanted>
absl::Status AttemptState::ReadSubmissions(const secagg::AttemptNumber& at, Wanted wanted) {
  TACET_ASSIGN_OR_RETURN(std::vector<Item> items, store_.Items(at));
  for (Item& item : items) {
    if (wanted(item.kind)) submissions_[item.kind].push_back({item.member, std::move(item.bytes)});
  }
  return absl::OkStatus();
}

template <typename Act>
absl::Status AttemptState::Change(Act act) {
  TACET_RETURN_IF_ERROR(CheckFresh());
  const absl::Status status = act();
  if (status.ok() || status.code() == absl::StatusCode::kAlreadyExists) return status;
  stale_ = true;
  // Whatever the store says is nothing that a requester did wrong: it is to ask again.
  return absl::UnavailableError(status.message());
}

absl::Status AttemptState::CheckFresh() const {
  if (!stale_) return absl::OkStatus();
  return base::Unavailable("the server's store has failed: try again later");
}

const AttemptRecord* AttemptState::Open() const {
  return attempts_.empty() || HasEnded(attempts_.back().phase) ? nullptr : &attempts_.back();
}

uint32_t AttemptState::finished() const {
  return IsOpening() ? opening_round_.value_or(0) : last_published();
}

bool AttemptState::IsOpening() const {
  return !manifest_.begins_training() &&
         (attempts_.empty() || attempts_.back().attempt.number.epoch < manifest_.epoch());
}

secagg::AttemptNumber AttemptState::OpeningNumber() const {
  return {.epoch = manifest_.epoch(), .round = kOpeningRound, .attempt = 0};
}

absl::Status AttemptState::PutOpeningVote(uint64_t member, std::span<const uint8_t> vote) {
  Item item{.kind = ItemKind::kOpeningVote,
            .member = member,
            .bytes = base::Bytes(vote.begin(), vote.end())};
  TACET_RETURN_IF_ERROR(Change([&] { return store_.PutItem(OpeningNumber(), item); }));
  if (std::ranges::find(opening_votes_, member, &Submission::member) == opening_votes_.end()) {
    opening_votes_.push_back({member, std::move(item.bytes)});
  }
  return absl::OkStatus();
}

absl::Status AttemptState::OpenAt(uint32_t round) {
  TACET_RETURN_IF_ERROR(CheckFresh());
  opening_round_ = round;
  submissions_.clear();
  sweep_is_due_ = true;
  return Change([&] { return ReadSubmissions(Beginning(), IsOfBeginning); });
}

uint32_t AttemptState::last_published() const {
  if (attempts_.empty()) return 0;
  const AttemptRecord& last = attempts_.back();
  return last.attempt.number.round + (last.phase == protocol::AttemptPhase::kPublished ? 1 : 0);
}

secagg::AttemptNumber AttemptState::Beginning() const {
  return {.epoch = manifest_.epoch(), .round = finished(), .attempt = 0};
}

const Submissions& AttemptState::SubmissionsOf(ItemKind kind) const {
  static const Submissions kNone;
  const auto found = submissions_.find(kind);
  return found == submissions_.end() ? kNone : found->second;
}

const Submission* AttemptState::Find(ItemKind kind, uint64_t member) const {
  const Submissions& submissions = SubmissionsOf(kind);
  const auto found = std::ranges::find(submissions, member, &Submission::member);
  return found == submissions.end() ? nullptr : &*found;
}

bool AttemptState::IsPublishedLast(const secagg::Attempt& attempt) const {
  return Open() == nullptr && !kept_.empty() && kept_.back().attempt == attempt &&
         attempts_.back().attempt == attempt;
}

absl::Status AttemptState::Begin(const AttemptRecord& record, std::vector<uint64_t> cohort) {
  TACET_RETURN_IF_ERROR(Change([&] { return store_.Begin(record, cohort); }));
  attempts_.push_back(record);
  cohort_ = std::move(cohort);
  for (const ItemKind kind : kForgottenOfFailed) submissions_.erase(kind);
  return absl::OkStatus();
}

absl::Status AttemptState::Put(ItemKind kind, uint64_t member, std::span<const uint8_t> bytes) {
  const secagg::AttemptNumber at = IsOfBeginning(kind) ? Beginning() : Open()->attempt.number;
  Item item{.kind = kind, .member = member, .bytes = base::Bytes(bytes.begin(), bytes.end())};
  TACET_RETURN_IF_ERROR(Change([&] { return store_.PutItem(at, item); }));
  if (Find(kind, member) == nullptr) submissions_[kind].push_back({member, std::move(item.bytes)});
  return absl::OkStatus();
}

void AttemptState::DropUpload(uint64_t member) {
  std::erase_if(submissions_[ItemKind::kAccepted],
                [member](const Submission& accepted) { return accepted.member == member; });
}

absl::Status AttemptState::PutLate(ItemKind kind, uint64_t member, std::span<const uint8_t> bytes) {
  KeptRound& last = kept_.back();
  Submissions& given = kind == ItemKind::kVote ? last.votes : last.unmask_shares;
  Item item{.kind = kind, .member = member, .bytes = base::Bytes(bytes.begin(), bytes.end())};
  TACET_RETURN_IF_ERROR(Change([&] { return store_.PutItem(last.attempt.number, item); }));
  if (std::ranges::find(given, member, &Submission::member) == given.end()) {
    given.push_back({member, std::move(item.bytes)});
  }
  return absl::OkStatus();
}

absl::Status AttemptState::SetDeadline(uint64_t deadline) {
  AttemptRecord record = *Open();
  record.deadline = deadline;
  TACET_RETURN_IF_ERROR(Change([&] { return store_.Update(record); }));
  attempts_.back() = record;
  return absl::OkStatus();
}

absl::Status AttemptState::PutOwn(const BlobKey& key, const crypto::Digest& digest,
                                  std::span<const uint8_t> object) {
  TACET_ASSIGN_OR_RETURN(const uint64_t arrived, blobs_.Arrived(key, digest));
  TACET_RETURN_IF_ERROR(blobs_.Append(key, digest, arrived, object.subspan(arrived)));
  return blobs_.Complete(key, digest).status();
}

absl::Status AttemptState::Close(const secagg::Aggregator::Closed& closed,
                                 std::span<const uint8_t> shares, uint32_t participants,
                                 uint64_t deadline) {
  AttemptRecord record = *Open();
  record.phase = protocol::AttemptPhase::kUnmasking;
  record.participants = participants;
  record.deadline = deadline;
  std::vector<Item> items;
  const auto put = [&](ItemKind item, protocol::BulkKind object, std::span<const uint8_t> bytes) {
    const crypto::Digest digest = crypto::Sha256(bytes);
    items.push_back({.kind = item, .member = 0, .bytes = {digest.begin(), digest.end()}});
    return Change([&] { return PutOwn(BlobKeyOf({object, record.attempt}, 0), digest, bytes); });
  };
  TACET_RETURN_IF_ERROR(
      put(ItemKind::kClosedRound, protocol::BulkKind::kClosedRound, closed.closed_round));
  TACET_RETURN_IF_ERROR(put(ItemKind::kRoster, protocol::BulkKind::kRoster, closed.roster));
  if (!shares.empty()) {
    TACET_RETURN_IF_ERROR(put(ItemKind::kShares, protocol::BulkKind::kShares, shares));
  }
  TACET_RETURN_IF_ERROR(Change([&] { return store_.Update(record, items); }));
  attempts_.back() = record;
  for (Item& item : items) submissions_[item.kind] = {{item.member, std::move(item.bytes)}};
  sweep_is_due_ = true;
  return absl::OkStatus();
}

absl::Status AttemptState::Finish(protocol::AttemptPhase phase, std::string_view failure) {
  AttemptRecord record = *Open();
  record.phase = phase;
  record.failure = failure;
  const bool published = phase == protocol::AttemptPhase::kPublished;
  TACET_RETURN_IF_ERROR(Change([&] {
    return published ? store_.Finish(record, kForgottenOfPublished)
                     : store_.Finish(record, kForgottenOfFailed);
  }));
  attempts_.back() = record;
  cohort_.clear();
  if (published) {
    kept_.push_back({.attempt = record.attempt,
                     .votes = SubmissionsOf(ItemKind::kVote),
                     .unmask_shares = SubmissionsOf(ItemKind::kUnmaskShare)});
    if (kept_.size() > kept_rounds_) kept_.erase(kept_.begin());
    submissions_.clear();  // another round comes next
  } else {
    for (const ItemKind kind : kForgottenOfFailed) submissions_.erase(kind);
  }
  sweep_is_due_ = true;
  return absl::OkStatus();
}

absl::Status AttemptState::Sweep(std::span<const BlobKey> arriving, bool last_is_final) {
  if (finished() > kept_rounds_) {
    TACET_RETURN_IF_ERROR(store_.ForgetBefore(finished() - kept_rounds_));
  }
  std::vector<BlobKey> keys(arriving.begin(), arriving.end());
  const auto keep = [&](const protocol::BulkName& name, const Submissions& submissions) {
    for (const Submission& submission : submissions)
      keys.push_back(BlobKeyOf(name, submission.member));
  };
  for (const KeptRound& kept : kept_) {
    keys.push_back(BlobKeyOf({protocol::BulkKind::kClosedRound, kept.attempt}, 0));
    keep({protocol::BulkKind::kUnmaskShare, kept.attempt}, kept.unmask_shares);
  }
  if (!last_is_final && !kept_.empty() && IsPublishedLast(kept_.back().attempt)) {
    keys.push_back(BlobKeyOf({protocol::BulkKind::kRoster, kept_.back().attempt}, 0));
  }
  if (const AttemptRecord* open = Open(); open != nullptr) {
    keep({protocol::BulkKind::kClosedRound, open->attempt}, SubmissionsOf(ItemKind::kClosedRound));
    keep({protocol::BulkKind::kRoster, open->attempt}, SubmissionsOf(ItemKind::kRoster));
    keep({protocol::BulkKind::kUnmaskShare, open->attempt}, SubmissionsOf(ItemKind::kUnmaskShare));
    keep({protocol::BulkKind::kCheckRow, open->attempt}, SubmissionsOf(ItemKind::kCheckRow));
    keep({protocol::BulkKind::kShares, open->attempt}, SubmissionsOf(ItemKind::kShares));
  }
  keep({.kind = protocol::BulkKind::kCheckpoint,
        .attempt = {.manifest_hash = manifest_.manifest().hash(), .number = Beginning()}},
       SubmissionsOf(ItemKind::kCheckpoint));
  TACET_RETURN_IF_ERROR(blobs_.KeepOnly(keys));
  sweep_is_due_ = false;
  return absl::OkStatus();
}

}  // namespace tacet::server
