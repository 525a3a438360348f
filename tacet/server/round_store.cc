#include "tacet/server/round_store.h"

#include <algorithm>
#include <utility>

#include "tacet/base/failure_cause.h"
#include "tacet/base/status.h"
#include "tacet/protocol/attestation.h"
#include "tacet/protocol/epoch_opening.h"
#include "tacet/secagg/key_packet.h"
#include "tacet/server/server_store_rules.h"

namespace tacet::server {
namespace {

constexpr std::string_view kEpochEnded = "epoch-ended";

// The objects of the round that comes next, not of an attempt. A round's beginning has the number
// of its first attempt: the kind tells their items apart.
bool IsOfBeginning(const Item& item) {
  return item.kind == ItemKind::kAttestation || item.kind == ItemKind::kCheckpoint;
}

bool IsOfAttempt(const Item& item) { return !IsOfBeginning(item); }

bool NamesParticipant(const Item& item) { return item.kind == ItemKind::kLeftOut; }

bool IsAbstention(const Item& item) { return item.kind == ItemKind::kAbstention; }

template <typename Wanted>
absl::Status ReadItems(const ServerStore& store, const secagg::AttemptNumber& at, Wanted wanted,
                       std::vector<Item>& into) {
  TACET_ASSIGN_OR_RETURN(std::vector<Item> items, store.Items(at));
  for (Item& item : items) {
    if (wanted(item)) into.push_back(std::move(item));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RoundStore::CheckFresh() const {
  if (!stale_) return absl::OkStatus();
  return base::Unavailable("the server's store has failed: try again later");
}

absl::StatusOr<StoredRounds> RoundStore::Read() {
  StoredRounds stored;
  TACET_ASSIGN_OR_RETURN(stored.attempts, store_.Attempts());
  AttemptRecords& attempts = stored.attempts;
  if (!attempts.empty()) {
    AttemptRecord& last = attempts.back();
    TACET_RETURN_IF_ERROR(CheckManifestOf(last));
    if (!HasEnded(last.phase) && last.attempt.number.epoch < manifest_.epoch()) {
      last.phase = protocol::AttemptPhase::kFailed;
      last.failure = kEpochEnded;
      TACET_RETURN_IF_ERROR(store_.Finish(last, ForgottenAt(last.phase)));
    }
  }
  std::erase_if(attempts, [this](const AttemptRecord& record) {
    return record.attempt.number.epoch < manifest_.training();
  });
  const bool has_begun =
      !attempts.empty() && attempts.back().attempt.number.epoch == manifest_.epoch();
  uint32_t finished = 0;
  if (!attempts.empty()) {
    const AttemptRecord& last = attempts.back();
    const bool published = last.phase == protocol::AttemptPhase::kPublished;
    finished = last.attempt.number.round + (published ? 1 : 0);
  }
  TACET_ASSIGN_OR_RETURN(stored.kept, ReadKept(attempts, finished));
  TACET_ASSIGN_OR_RETURN(std::vector<Item> votes,
                         store_.ItemsOf(OpeningNumber(manifest_.epoch()), ItemKind::kOpeningVote, 0,
                                        manifest_.manifest().committee().size()));
  for (Item& vote : votes) stored.opening_votes.Add({vote.member, std::move(vote.bytes)});
  const agreement::Manifest& manifest = manifest_.manifest();
  TACET_RETURN_IF_ERROR(ForEachPacket(
      0, manifest.spec().members.size(), [&](uint64_t member, std::span<const uint8_t> packet) {
        stored.key_packets.Add({member, PacketDigests(packet, manifest.committee().size())});
      }));
  stored.is_opened = manifest_.begins_training() || has_begun;
  if (!stored.is_opened) return stored;
  if (has_begun && !HasEnded(attempts.back().phase)) {
    TACET_ASSIGN_OR_RETURN(stored.cohort, store_.Cohort());
    TACET_RETURN_IF_ERROR(
        ReadItems(store_, attempts.back().attempt.number, IsOfAttempt, stored.of_attempt));
  }
  TACET_RETURN_IF_ERROR(ReadItems(store_,
                                  {.epoch = manifest_.epoch(), .round = finished, .attempt = 0},
                                  IsOfBeginning, stored.of_beginning));
  for (const AttemptRecord& record : attempts) {
    const secagg::AttemptNumber& number = record.attempt.number;
    const bool names = record.failure == kWrongShares || record.failure == kDisputedShares;
    if (number.epoch != manifest_.epoch() || !names) continue;
    std::vector<Item> items;
    TACET_RETURN_IF_ERROR(ReadItems(store_, number, NamesParticipant, items));
    for (Item& item : items) {
      stored.named.push_back({number, Submission(item.member, std::move(item.bytes))});
    }
  }
  if (has_begun && attempts.back().failure == kTooFewGivers) {
    TACET_RETURN_IF_ERROR(
        ReadItems(store_, attempts.back().attempt.number, IsAbstention, stored.abstentions));
  }
  return stored;
}

absl::Status RoundStore::CheckManifestOf(const AttemptRecord& last) const {
  const secagg::AttemptNumber& number = last.attempt.number;
  if (number.epoch > manifest_.epoch()) {
    return base::FailedPrecondition(
        "the server's store has gone on to epoch {}, its manifest is of epoch {}: `tacet client "
        "join FILE` accepts the invitation of the present epoch",
        number.epoch, manifest_.epoch());
  }
  const crypto::Digest& hash = last.attempt.manifest_hash;
  if ((number.epoch == manifest_.epoch() && hash != manifest_.manifest().hash()) ||
      (number.epoch + 1 == manifest_.epoch() && hash != manifest_.predecessor())) {
    return base::FailedPrecondition(
        "the server's store has attempts of epoch {} under another manifest than the server's, or "
        "than its predecessor: two manifests were signed for that epoch",
        number.epoch);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<KeptRound>> RoundStore::ReadKept(const AttemptRecords& attempts,
                                                            uint32_t finished) const {
  const uint32_t oldest = finished - std::min(finished, kept_rounds_);
  std::vector<KeptRound> all;
  for (const AttemptRecord& record : attempts) {
    if (record.phase != protocol::AttemptPhase::kPublished ||
        record.attempt.number.round < oldest || record.attempt.number.epoch != manifest_.epoch()) {
      continue;
    }
    KeptRound kept{.attempt = record.attempt};
    TACET_ASSIGN_OR_RETURN(std::vector<Item> items, store_.Items(record.attempt.number));
    for (Item& item : items) {
      if (item.kind == ItemKind::kClosedRound) {
        kept.closed_round.Add({item.member, std::move(item.bytes)});
      } else if (item.kind == ItemKind::kVote) {
        kept.votes.Add({item.member, std::move(item.bytes)});
      } else if (item.kind == ItemKind::kUnmaskShare) {
        kept.unmask_shares.Add({item.member, std::move(item.bytes)});
      } else if (item.kind == ItemKind::kAbstained) {
        kept.abstentions.Add({item.member, std::move(item.bytes)});
      }
    }
    all.push_back(std::move(kept));
  }
  return all;
}

absl::Status RoundStore::CheckPacket(const Item& packet) const {
  const size_t seats = manifest_.manifest().committee().size();
  const size_t expected = secagg::KeyPacketBytes(seats, seats);
  if (packet.member >= manifest_.manifest().spec().members.size()) {
    return DamagedStore(fmt::format("a key packet of member {} of {}", packet.member,
                                    manifest_.manifest().spec().members.size()));
  }
  if (packet.bytes.size() == expected) return absl::OkStatus();
  return DamagedStore(fmt::format("a key packet of member {} of {} bytes, expected {}",
                                  packet.member, packet.bytes.size(), expected));
}

absl::Status RoundStore::ForEachPacket(uint64_t from, uint64_t last, const PacketUse& use) const {
  constexpr size_t kAtATime = 64;
  while (from <= last) {
    TACET_ASSIGN_OR_RETURN(
        const std::vector<Item> packets,
        store_.ItemsOf(OpeningNumber(manifest_.epoch()), ItemKind::kKeyPacket, from, kAtATime));
    for (const Item& packet : packets) {
      TACET_RETURN_IF_ERROR(CheckPacket(packet));
      if (packet.member <= last) use(packet.member, packet.bytes);
    }
    if (packets.size() < kAtATime) break;
    from = packets.back().member + 1;
  }
  return absl::OkStatus();
}

template <typename Act>
absl::Status RoundStore::Run(Act act) {
  TACET_RETURN_IF_ERROR(CheckFresh());
  const absl::Status status = act();
  if (status.ok()) return status;
  stale_ = true;
  // Whatever the store says is nothing that a requester did wrong: it is to ask again.
  return base::WithCause(absl::UnavailableError(status.message()), base::CauseOf(status));
}

absl::Status RoundStore::Make(const Change& change) {
  struct Maker {
    ServerStore& store;
    absl::Status operator()(const BeginAttempt& begin) const {
      return store.Begin(begin.record, begin.cohort);
    }
    absl::Status operator()(const PutItem& put) const { return store.PutItem(put.at, put.item); }
    absl::Status operator()(const UpdateAttempt& update) const {
      return store.Update(update.record, update.items);
    }
    absl::Status operator()(const EndAttempt& end) const {
      return store.Finish(end.record, ForgottenAt(end.record.phase));
    }
  };
  return Run([&] { return std::visit(Maker{store_}, change); });
}

absl::StatusOr<crypto::Digest> RoundStore::PutObject(const protocol::BulkName& name,
                                                     std::span<const uint8_t> object) {
  const crypto::Digest digest = crypto::Sha256(object);
  const BlobKey key = BlobKeyOf(name, 0);
  const auto put = [&]() -> absl::Status {
    TACET_ASSIGN_OR_RETURN(const uint64_t arrived, blobs_.Arrived(key, digest));
    TACET_RETURN_IF_ERROR(blobs_.Append(key, digest, arrived, object.subspan(arrived)));
    return arrived == 0 ? blobs_.CompleteUnread(key, digest)
                        : blobs_.Complete(key, digest).status();
  };
  TACET_RETURN_IF_ERROR(Run(put));
  return digest;
}

absl::StatusOr<std::vector<Item>> RoundStore::ReadBeginning(const secagg::AttemptNumber& at) {
  std::vector<Item> items;
  TACET_RETURN_IF_ERROR(Run([&] { return ReadItems(store_, at, IsOfBeginning, items); }));
  return items;
}

absl::Status RoundStore::Clean(const Sweep& sweep, std::span<const BlobKey> arriving) {
  if (sweep.forgotten_before > 0 || manifest_.epoch() > 0) {
    TACET_RETURN_IF_ERROR(store_.ForgetBefore(sweep.forgotten_before, manifest_.epoch()));
  }
  std::vector<BlobKey> kept = sweep.kept;
  kept.insert(kept.end(), arriving.begin(), arriving.end());
  return blobs_.KeepOnly(kept);
}

SignedStatements ReadStatements(const agreement::SignedManifest& manifest,
                                std::span<const Item> of_beginning, const Submissions& votes) {
  SignedStatements read;
  for (const Item& item : of_beginning) {
    if (item.kind != ItemKind::kAttestation) continue;
    const auto attestation = protocol::ReadAttestation(item.bytes, manifest);
    if (attestation.ok()) read.attestations.push_back(*attestation);
  }
  for (const Submission& vote : votes) {
    const auto statement = protocol::ReadOpeningStatement(vote.bytes(), manifest);
    if (statement.ok()) read.votes.push_back(*statement);
  }
  return read;
}

}  // namespace tacet::server
