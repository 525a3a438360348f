#include "tacet/server/round_objects.h"

#include <algorithm>

#include "tacet/base/status.h"
#include "tacet/protocol/encrypted_checkpoint.h"
#include "tacet/secagg/check_row.h"
#include "tacet/secagg/closed_round.h"
#include "tacet/secagg/key_packet.h"
#include "tacet/secagg/unmask_share.h"
#include "tacet/secagg/upload.h"
#include "tacet/server/lost_objects.h"
#include "tacet/server/round_steps.h"

namespace tacet::server {
namespace {

using protocol::AttemptPhase;
using protocol::BulkKind;

ItemKind ItemKindOf(BulkKind kind) {
  switch (kind) {
    case BulkKind::kUpload:
      return ItemKind::kAccepted;
    case BulkKind::kClosedRound:
      return ItemKind::kClosedRound;
    case BulkKind::kUnmaskShare:
      return ItemKind::kUnmaskShare;
    case BulkKind::kCheckpoint:
      return ItemKind::kCheckpoint;
    case BulkKind::kRoster:
      return ItemKind::kRoster;
    case BulkKind::kCheckRow:
      return ItemKind::kCheckRow;
    case BulkKind::kShares:
      return ItemKind::kShares;
    case BulkKind::kKeyPacket:
      return ItemKind::kKeyPacket;
  }
  return ItemKind::kAccepted;
}

absl::Status CheckLength(const ObjectArrived& offer, uint64_t agreed) {
  if (offer.total == agreed) return absl::OkStatus();
  return base::FailedPrecondition("{} of {} bytes, the agreement says {}",
                                  protocol::BulkKindName(offer.name.kind), offer.total, agreed);
}

absl::Status CheckUpload(const RoundState& state, const ObjectArrived& offer) {
  TACET_RETURN_IF_ERROR(CheckOpen(state, offer.name.attempt, AttemptPhase::kCollecting));
  if (!IsInvited(state, offer.member)) {
    return base::PermissionDenied("round {} attempt {}: not one of its participants",
                                  offer.name.attempt.number.round,
                                  offer.name.attempt.number.attempt);
  }
  if (state.key_packets.Find(offer.member) == nullptr) {
    return base::FailedPrecondition(
        "an upload before this member's key packet: without it no seat can unmask the upload");
  }
  return CheckLength(offer, secagg::UploadBytes(state.rules->aggregation()));
}

size_t PacketBytes(const RoundRules& rules) {
  return secagg::KeyPacketBytes(rules.committee().size(), rules.committee().size());
}

// At any time of the epoch.
absl::Status CheckPacket(const RoundState& state, const ObjectArrived& offer) {
  const RoundRules& rules = *state.rules;
  TACET_RETURN_IF_ERROR(secagg::CheckAttempt(
      offer.name.attempt, protocol::PacketAttempt(rules.hash(), rules.manifest().epoch()),
      protocol::BulkKindName(offer.name.kind)));
  return CheckLength(offer, PacketBytes(rules));
}

// While the attempt is unmasking; of a published one also later than the others.
absl::Status CheckUnmaskShare(const RoundState& state, const ObjectArrived& offer) {
  TACET_RETURN_IF_ERROR(state.rules->CheckSeat(offer.member));
  TACET_RETURN_IF_ERROR(CheckUnmaskable(state, offer.name.attempt));
  return CheckLength(offer, secagg::UnmaskShareBytes(state.rules->aggregation().sharing()));
}

absl::Status CheckCheckRow(const RoundState& state, const ObjectArrived& offer) {
  TACET_RETURN_IF_ERROR(state.rules->CheckSeat(offer.member));
  TACET_RETURN_IF_ERROR(CheckOpen(state, offer.name.attempt, AttemptPhase::kUnmasking));
  return CheckLength(offer, secagg::CheckRowBytes(OpenAttempt(state)->participants));
}

absl::Status CheckCheckpoint(const RoundState& state, const ObjectArrived& offer) {
  const secagg::Attempt& attempt = offer.name.attempt;
  if (Opened(state) == nullptr) {
    return base::FailedPrecondition("checkpoint for round {}: which round comes next is not known",
                                    attempt.number.round);
  }
  const secagg::AttemptNumber beginning = Beginning(state);
  if (attempt.manifest_hash != state.rules->hash() || attempt.number != beginning) {
    return base::FailedPrecondition(
        "checkpoint for round {} of epoch {}: round {} of epoch {} comes next",
        attempt.number.round, attempt.number.epoch, beginning.round, beginning.epoch);
  }
  return CheckLength(offer, protocol::EncryptedCheckpointBytes(state.rules->spec()));
}

// The bytes of an object of the server's, at most. Its digest says the rest.
uint64_t MostBytesOf(const RoundState& state, BulkKind kind) {
  const uint32_t participants = state.attempts->back().participants;
  return kind == BulkKind::kRoster
             ? secagg::RosterBytes(participants)
             : secagg::ClosedRoundBytes(state.rules->aggregation(), participants);
}

// An object of the server's, of which a seat has a copy.
absl::StatusOr<Offer> CheckGivenBack(const RoundState& state, const ObjectArrived& offer) {
  const StoredObject own{.key = BlobKeyOf(offer.name, 0), .digest = offer.digest};
  const std::vector<StoredObject> needed = NeededObjects(state);
  if (!state.rules->HasSeat(offer.member) || std::ranges::find(needed, own) == needed.end()) {
    return base::PermissionDenied("a {} is the server's to give",
                                  protocol::BulkKindName(offer.name.kind));
  }
  if (FindLost(state, own.key) == nullptr) return Offer::kAccepted;
  TACET_RETURN_IF_ERROR(CheckLength(offer, MostBytesOf(state, offer.name.kind)));
  return Offer::kWanted;
}

// Whether an object of this kind may come from this member now, whatever it gave before.
absl::Status CheckMayGive(const RoundState& state, const ObjectArrived& offer) {
  switch (offer.name.kind) {
    case BulkKind::kUpload:
      return CheckUpload(state, offer);
    case BulkKind::kUnmaskShare:
      return CheckUnmaskShare(state, offer);
    case BulkKind::kCheckpoint:
      return CheckCheckpoint(state, offer);
    case BulkKind::kCheckRow:
      return CheckCheckRow(state, offer);
    case BulkKind::kKeyPacket:
      return CheckPacket(state, offer);
    case BulkKind::kClosedRound:
    case BulkKind::kRoster:
    case BulkKind::kShares:
      break;  // CheckGivenBack
  }
  return absl::OkStatus();
}

absl::Status AnotherWasAccepted(const ObjectArrived& offer) {
  return base::AlreadyExists("round {} attempt {}: another {} of this member was accepted",
                             offer.name.attempt.number.round, offer.name.attempt.number.attempt,
                             protocol::BulkKindName(offer.name.kind));
}

bool IsOneOf(const Submission* submission, const ObjectArrived& offer) {
  if (submission == nullptr) return false;
  return std::ranges::equal(
      offer.name.kind == BulkKind::kKeyPacket ? PacketDigestIn(*submission) : submission->bytes(),
      offer.digest);
}

}  // namespace

absl::StatusOr<Offer> CheckOffer(const RoundState& state, const ObjectArrived& offer) {
  const protocol::BulkName& name = offer.name;
  if (IsServersOwn(name.kind)) return CheckGivenBack(state, offer);
  const Offer known_one =
      FindLost(state, BlobKeyOf(name, offer.member)) == nullptr ? Offer::kAccepted : Offer::kWanted;
  // A member that heard no acceptance of its upload may ask also after the attempt was closed.
  const AttemptRecord* const open = OpenAttempt(state);
  if (name.kind == BulkKind::kUpload && open != nullptr && open->attempt == name.attempt &&
      IsOneOf(Find(state, ItemKind::kAccepted, offer.member), offer)) {
    return known_one;
  }
  TACET_RETURN_IF_ERROR(CheckMayGive(state, offer));
  const bool late = name.kind == BulkKind::kUnmaskShare && IsPublishedLast(state, name.attempt);
  const Submissions& given =
      late ? state.kept.back().unmask_shares : SubmissionsOf(state, ItemKindOf(name.kind));
  if (const Submission* const known = given.Find(offer.member)) {
    if (IsOneOf(known, offer)) return known_one;
    return AnotherWasAccepted(offer);
  }
  if (const auto* collecting = StageOf<Collecting>(state);
      name.kind == BulkKind::kUpload && collecting != nullptr) {
    const Submission* const lost = collecting->lost.Find(offer.member);
    if (lost != nullptr && !IsOneOf(lost, offer)) return AnotherWasAccepted(offer);
  }
  const bool of_members = name.kind == BulkKind::kUpload || name.kind == BulkKind::kKeyPacket;
  const size_t most = of_members ? state.rules->members() : state.rules->committee().size();
  if (given.size() < most) return Offer::kWanted;
  return base::FailedPrecondition("round {} attempt {}: {} of kind {} are enough",
                                  name.attempt.number.round, name.attempt.number.attempt,
                                  given.size(), protocol::BulkKindName(name.kind));
}

absl::Status On(Transition& step, const ObjectArrived& arrived) {
  TACET_ASSIGN_OR_RETURN(const Offer offer, CheckOffer(step.state, arrived));
  if (offer == Offer::kAccepted || TakeBack(step, arrived)) return absl::OkStatus();
  const BulkKind kind = arrived.name.kind;
  // Kept whole in the store.
  if (kind == BulkKind::kKeyPacket) {
    step.Put(ItemKind::kKeyPacket, arrived.member, arrived.whole);
    return absl::OkStatus();
  }
  if (kind == BulkKind::kUpload) {
    auto& opened = std::get<OpenedEpoch>(step.state.epoch);
    std::get<Collecting>(opened.stage).lost.Remove(arrived.member);
    // A crash before the next change is made forgets the upload, and its sender sends it again.
    step.Ask(AddUpload{.member = arrived.member, .upload = arrived.whole});
  }
  step.Put(ItemKindOf(kind), arrived.member, arrived.digest);
  if (kind == BulkKind::kUnmaskShare || kind == BulkKind::kCheckpoint) step.CountRevision(false);
  return absl::OkStatus();
}

size_t LargestPart(const RoundState& state, uint64_t member) {
  const RoundRules& rules = *state.rules;
  const AttemptRecord* const open = OpenAttempt(state);
  uint64_t largest = PacketBytes(rules);
  if (open != nullptr) {
    // Also one that asks again whether its upload was accepted.
    const std::vector<uint64_t>& cohort = CohortOf(state);
    const bool uploads = !rules.DrawsCohorts() || std::ranges::binary_search(cohort, member) ||
                         Find(state, ItemKind::kAccepted, member) != nullptr;
    if (uploads) largest = secagg::UploadBytes(rules.aggregation());
  }
  if (!state.attempts->empty() && rules.HasSeat(member)) {
    largest = std::max<uint64_t>(largest, secagg::UnmaskShareBytes(rules.aggregation().sharing()));
    if (open != nullptr) {
      largest = std::max<uint64_t>(largest, secagg::CheckRowBytes(open->participants));
    }
    for (const LostObject& lost : state.lost) {
      const BulkKind kind = lost.object.key.name.kind;
      if (IsServersOwn(kind)) largest = std::max(largest, MostBytesOf(state, kind));
    }
  }
  const Submissions& checkpoints = SubmissionsOf(state, ItemKind::kCheckpoint);
  if (checkpoints.size() < rules.committee().size() || checkpoints.Find(member) != nullptr) {
    largest = std::max<uint64_t>(largest, protocol::EncryptedCheckpointBytes(rules.spec()));
  }
  return static_cast<size_t>(std::min<uint64_t>(largest, protocol::kMaxPartBytes));
}

namespace {

absl::StatusOr<const Submissions*> UnmaskSharesFor(const RoundState& state, uint64_t member,
                                                   const secagg::Attempt& attempt) {
  if (const KeptRound* const kept = FindKept(state, attempt)) return &kept->unmask_shares;
  TACET_RETURN_IF_ERROR(CheckOpen(state, attempt, AttemptPhase::kUnmasking));
  TACET_RETURN_IF_ERROR(state.rules->CheckSeat(member));
  const Submissions& shares = SubmissionsOf(state, ItemKind::kUnmaskShare);
  // Else a seat could look at the aggregate before it decides whether others shall see it.
  if (shares.Find(member) != nullptr) return &shares;
  return base::FailedPrecondition(
      "round {} attempt {}: a seat gives its own unmask share before it gets others'",
      attempt.number.round, attempt.number.attempt);
}

absl::StatusOr<std::vector<BlobKey>> FindRoster(const RoundState& state, uint64_t member,
                                                const protocol::BulkName& name) {
  TACET_RETURN_IF_ERROR(state.rules->CheckSeat(member));
  TACET_RETURN_IF_ERROR(CheckUnmaskable(state, name.attempt));
  if (IsPublishedLast(state, name.attempt) && StatedModel(state).has_value()) {
    return base::FailedPrecondition("round {} is final: its roster is not kept",
                                    name.attempt.number.round);
  }
  return std::vector<BlobKey>{{.name = name}};
}

// Those that are not lost.
std::vector<BlobKey> KeptOf(const RoundState& state, const protocol::BulkName& name,
                            const Submissions& given) {
  std::vector<BlobKey> keys;
  for (const Submission& one : given) {
    const BlobKey key = BlobKeyOf(name, one.member);
    if (FindLost(state, key) == nullptr) keys.push_back(key);
  }
  return keys;
}

absl::StatusOr<std::vector<BlobKey>> FindCheckpoint(const RoundState& state,
                                                    const protocol::FetchPartRequest& request) {
  const secagg::Attempt& attempt = request.name.attempt;
  if (attempt.manifest_hash != state.rules->hash() || attempt.number != Beginning(state)) {
    return base::NotFound("round {}: its checkpoint is not kept, round {} comes next",
                          attempt.number.round, FinishedRounds(state));
  }
  const std::vector<BlobKey> there =
      KeptOf(state, request.name, SubmissionsOf(state, ItemKind::kCheckpoint));
  if (request.index < there.size()) return std::vector<BlobKey>{there[request.index]};
  return base::OutOfRange("round {}: there are {} of kind {}", attempt.number.round, there.size(),
                          protocol::BulkKindName(request.name.kind));
}

// They are small and all of them are wanted: together they are one object.
absl::StatusOr<std::vector<BlobKey>> FindUnmaskShares(const RoundState& state, uint64_t member,
                                                      const protocol::FetchPartRequest& request) {
  TACET_ASSIGN_OR_RETURN(const Submissions* const shares,
                         UnmaskSharesFor(state, member, request.name.attempt));
  std::vector<BlobKey> keys = KeptOf(state, request.name, *shares);
  const size_t objects = keys.empty() ? 0 : 1;
  if (request.index >= objects) {
    return base::OutOfRange("round {}: there are {} of kind {}", request.name.attempt.number.round,
                            objects, protocol::BulkKindName(request.name.kind));
  }
  return keys;
}

}  // namespace

absl::StatusOr<std::vector<BlobKey>> FindObject(const RoundState& state, uint64_t member,
                                                const protocol::FetchPartRequest& request) {
  const protocol::BulkName& name = request.name;
  switch (name.kind) {
    case BulkKind::kUpload:
    case BulkKind::kShares:
      break;
    case BulkKind::kKeyPacket:
      return base::PermissionDenied("a key packet is fetched by the seats, each its own copy");
    case BulkKind::kCheckRow:
      return base::PermissionDenied("a check row is for the server alone");
    case BulkKind::kClosedRound:
      if (FindKept(state, name.attempt) == nullptr) {
        TACET_RETURN_IF_ERROR(CheckOpen(state, name.attempt, AttemptPhase::kUnmasking));
      }
      return std::vector<BlobKey>{{.name = name}};
    case BulkKind::kRoster:
      return FindRoster(state, member, name);
    case BulkKind::kUnmaskShare:
      return FindUnmaskShares(state, member, request);
    case BulkKind::kCheckpoint:
      return FindCheckpoint(state, request);
  }
  return base::PermissionDenied("a single upload cannot be fetched: only sums leave the server");
}

}  // namespace tacet::server
