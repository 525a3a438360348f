#include "tacet/member/catching_up.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tacet/base/status.h"
#include "tacet/protocol/encrypted_checkpoint.h"
#include "tacet/protocol/epoch_opening.h"
#include "tacet/secagg/attempt.h"
#include "tacet/secagg/attempt_keys.h"
#include "tacet/secagg/closed_round.h"
#include "tacet/secagg/round_decryption.h"
#include "tacet/secagg/unmask_share.h"

namespace tacet::member {
namespace {

constexpr uint32_t kMaxCheckpoints = 64;  // a server is not asked for more of one round

// What a quorum voted for, where an epoch begins with `round`, else what a majority of the
// attestors states of its beginning; nothing when there is none (yet).
absl::StatusOr<std::optional<AttestedState>> FetchAttested(const MemberParts& parts,
                                                           uint32_t round) {
  if (!parts.manifest.begins_training()) {
    TACET_ASSIGN_OR_RETURN(const std::vector<base::Bytes> said, FetchOpening(parts));
    const auto opened = protocol::TallyOf(said, parts.manifest).Opened();
    if (opened.has_value() && opened->round == round) {
      return AttestedState{opened->model_digest, opened->state_digest};
    }
  }
  const absl::StatusOr<std::vector<base::Bytes>> attestations =
      parts.server.FetchAttestations(round);
  if (!attestations.ok()) {
    if (protocol::IsRetryable(attestations.status())) return attestations.status();
    return std::nullopt;
  }
  return MajorityOf(*attestations, parts.manifest, AttestorsOf(parts.manifest), round);
}

}  // namespace

absl::StatusOr<std::vector<base::Bytes>> FetchOpening(const MemberParts& parts) {
  absl::StatusOr<std::vector<base::Bytes>> statements = parts.server.FetchOpeningStatements();
  if (statements.ok() || protocol::IsRetryable(statements.status())) return statements;
  return std::vector<base::Bytes>();
}

absl::StatusOr<base::Bytes> FetchClosedRound(const MemberParts& parts,
                                             const secagg::Attempt& attempt) {
  const secagg::Terms& terms = parts.manifest.manifest().terms();
  return parts.server.Fetch(
      {.kind = protocol::BulkKind::kClosedRound, .attempt = attempt}, 0,
      secagg::ClosedRoundBytes(terms.aggregation(), terms.max_participants()));
}

absl::StatusOr<std::vector<secagg::UnmaskShare>> FetchUnmaskShares(const MemberParts& parts,
                                                                   MemberNotes& notes,
                                                                   const secagg::Attempt& attempt) {
  const agreement::Manifest& manifest = parts.manifest.manifest();
  const he::KeySharing& sharing = manifest.terms().aggregation().sharing();
  const crypto::SecretBytes result_key =
      secagg::DeriveAttemptKeys(parts.epoch_key, manifest.spec().scheme, attempt).result_key;
  const auto is_bad = [&](uint32_t index, const absl::Status& why) {
    return notes.Violation(
        {violations::kBadShare, fmt::format("number {}: {}", index, base::Message(why))},
        attempt.number, index);
  };
  std::vector<secagg::UnmaskShare> shares;
  const size_t seats = manifest.committee().size(), share_bytes = secagg::UnmaskShareBytes(sharing);
  const absl::StatusOr<base::Bytes> all = parts.server.Fetch(
      {.kind = protocol::BulkKind::kUnmaskShare, .attempt = attempt}, 0, seats * share_bytes);
  if (!all.ok()) {
    if (protocol::IsRetryable(all.status())) return all.status();
    const bool unreadable = all.status().code() == absl::StatusCode::kDataLoss;
    if (unreadable) TACET_RETURN_IF_ERROR(is_bad(0, all.status()));
    return shares;
  }
  for (std::span<const uint8_t> rest = *all; !rest.empty();) {
    const auto bytes = rest.first(std::min(share_bytes, rest.size()));
    const auto index = static_cast<uint32_t>((all->size() - rest.size()) / share_bytes);
    rest = rest.subspan(bytes.size());
    absl::StatusOr<secagg::UnmaskShare> share =
        secagg::ReadUnmaskShare(bytes, attempt, sharing, manifest.committee(), result_key);
    if (share.ok()) {
      shares.push_back(*std::move(share));
    } else {
      TACET_RETURN_IF_ERROR(is_bad(index, share.status()));
    }
  }
  return shares;
}

absl::StatusOr<std::optional<secagg::Aggregate>> FetchAggregate(const MemberParts& parts,
                                                                MemberNotes& notes,
                                                                const secagg::Attempt& attempt) {
  const agreement::Manifest& manifest = parts.manifest.manifest();
  const secagg::AttemptNumber number = attempt.number;
  const auto missing =
      [&](std::string_view what,
          const absl::Status& why) -> absl::StatusOr<std::optional<secagg::Aggregate>> {
    if (protocol::IsRetryable(why)) return why;
    TACET_RETURN_IF_ERROR(
        notes.Note("no-aggregate", number, fmt::format("{}: {}", what, base::Message(why))));
    return std::nullopt;
  };
  const absl::StatusOr<base::Bytes> closed = FetchClosedRound(parts, attempt);
  if (!closed.ok()) return missing("closed round", closed.status());
  const absl::StatusOr<std::vector<base::Bytes>> votes = parts.server.FetchVotes(attempt);
  if (!votes.ok()) return missing("votes", votes.status());
  TACET_ASSIGN_OR_RETURN(const std::vector<secagg::UnmaskShare> shares,
                         FetchUnmaskShares(parts, notes, attempt));
  absl::StatusOr<secagg::DecryptedRound> decrypted = secagg::DecryptRound(
      manifest.terms(), manifest.committee(), attempt,
      secagg::DeriveAttemptKeys(parts.epoch_key, manifest.spec().scheme, attempt), *closed, *votes,
      shares);
  if (decrypted.status().code() == absl::StatusCode::kUnavailable) {
    TACET_RETURN_IF_ERROR(notes.Note("no-aggregate", number, base::Message(decrypted.status())));
    return std::nullopt;
  }
  if (!decrypted.ok()) {
    TACET_RETURN_IF_ERROR(
        notes.Violation({violations::kBadSum, base::Message(decrypted.status())}, number));
    return std::nullopt;
  }
  for (const uint32_t seat : decrypted->wrong_seats) {
    TACET_RETURN_IF_ERROR(notes.Violation(
        {violations::kWrongShare,
         fmt::format("the unmask share of {} does not fit the others and was corrected: it is "
                     "wrong, or a participant sent a wrong share for it, or the server altered the "
                     "sums of shares",
                     parts.manifest.members()[manifest.committee()[seat].member].name)},
        number, seat));
  }
  return std::move(decrypted->aggregate);
}

absl::StatusOr<std::optional<protocol::Checkpoint>> FetchAttestedState(const MemberParts& parts,
                                                                       MemberNotes& notes,
                                                                       uint32_t round) {
  const agreement::Manifest& manifest = parts.manifest.manifest();
  TACET_ASSIGN_OR_RETURN(const std::optional<AttestedState> attested, FetchAttested(parts, round));
  if (!attested.has_value()) return std::nullopt;
  const secagg::Attempt start =
      protocol::RoundStart(manifest, parts.manifest.epoch(), round, attested->model_digest);
  const auto read = [&](const base::Bytes& sealed) -> absl::StatusOr<protocol::Checkpoint> {
    TACET_ASSIGN_OR_RETURN(protocol::Checkpoint checkpoint,
                           protocol::DecryptCheckpoint(sealed, manifest, start, parts.epoch_key));
    if (protocol::DigestsOf(checkpoint, parts.digest_key()).state != attested->state_digest) {
      return base::DataLoss(
          "the optimiser's state is not the one that a majority of the attestors attests");
    }
    return checkpoint;
  };
  for (uint32_t index = 0; index < kMaxCheckpoints; ++index) {
    const absl::StatusOr<base::Bytes> sealed =
        parts.server.Fetch({.kind = protocol::BulkKind::kCheckpoint, .attempt = start}, index,
                           protocol::EncryptedCheckpointBytes(manifest.spec()));
    absl::Status judged = sealed.status();
    if (sealed.ok()) {
      absl::StatusOr<protocol::Checkpoint> checkpoint = read(*sealed);
      if (checkpoint.ok()) return *std::move(checkpoint);
      judged = checkpoint.status();
    } else if (protocol::IsRetryable(judged)) {
      return judged;
    } else if (judged.code() != absl::StatusCode::kDataLoss) {
      return std::nullopt;  // there are no more
    }
    TACET_RETURN_IF_ERROR(notes.Violation(
        {violations::kBadCheckpoint, fmt::format("number {}: {}", index, base::Message(judged))},
        start.number, index));
  }
  return std::nullopt;
}

}  // namespace tacet::member
