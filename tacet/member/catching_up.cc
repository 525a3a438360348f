#include "tacet/member/catching_up.h"

#include <utility>
#include <vector>

#include "tacet/base/status.h"
#include "tacet/protocol/encrypted_checkpoint.h"
#include "tacet/secagg/attempt.h"
#include "tacet/secagg/attempt_keys.h"
#include "tacet/secagg/closed_round.h"
#include "tacet/secagg/round_decryption.h"
#include "tacet/secagg/unmask_share.h"

namespace tacet::member {
namespace {

constexpr uint32_t kMaxCheckpoints = 64;  // a server is not asked for more of one round

// Gives `take` one object after the other, at most `most_objects`, until it has enough: an error
// of its own says what is wrong with one. True when it had enough.
template <typename Take>
absl::StatusOr<bool> FetchUntil(const MemberParts& parts, MemberNotes& notes,
                                const protocol::BulkName& name, uint32_t most_objects,
                                uint64_t most_bytes, std::string_view violation, Take take) {
  for (uint32_t index = 0; index < most_objects; ++index) {
    const absl::StatusOr<base::Bytes> object = parts.server.Fetch(name, index, most_bytes);
    absl::Status judged = object.status();
    if (object.ok()) {
      absl::StatusOr<bool> enough = take(*object);
      if (enough.ok() && *enough) return true;
      judged = enough.status();
    } else if (protocol::IsRetryable(judged)) {
      return judged;
    } else if (judged.code() != absl::StatusCode::kDataLoss) {
      return false;  // there are no more
    }
    if (judged.ok()) continue;
    TACET_RETURN_IF_ERROR(
        notes.Violation({violation, fmt::format("number {}: {}", index, base::Message(judged))},
                        name.attempt.number, index));
  }
  return false;
}

}  // namespace

absl::StatusOr<base::Bytes> FetchClosedRound(const MemberParts& parts,
                                             const secagg::Attempt& attempt) {
  const secagg::Terms& terms = parts.manifest.manifest().terms();
  return parts.server.Fetch(
      {.kind = protocol::BulkKind::kClosedRound, .attempt = attempt}, 0,
      secagg::ClosedRoundBytes(terms.aggregation(), terms.max_participants()));
}

absl::StatusOr<std::vector<base::Bytes>> FetchUnmaskShares(const MemberParts& parts,
                                                           MemberNotes& notes,
                                                           const secagg::Attempt& attempt) {
  const agreement::Manifest& manifest = parts.manifest.manifest();
  const he::KeySharing& sharing = manifest.terms().aggregation().sharing();
  const crypto::SecretBytes result_key =
      secagg::DeriveAttemptKeys(parts.epoch_key, manifest.spec().scheme, attempt).result_key;
  std::vector<base::Bytes> shares;
  const auto take = [&](const base::Bytes& share) -> absl::StatusOr<bool> {
    TACET_RETURN_IF_ERROR(
        secagg::ReadUnmaskShare(share, attempt, sharing, manifest.committee(), result_key)
            .status());
    shares.push_back(share);
    return false;
  };
  TACET_RETURN_IF_ERROR(FetchUntil(parts, notes,
                                   {.kind = protocol::BulkKind::kUnmaskShare, .attempt = attempt},
                                   static_cast<uint32_t>(manifest.committee().size()),
                                   secagg::UnmaskShareBytes(sharing), violations::kBadShare, take)
                            .status());
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
  TACET_ASSIGN_OR_RETURN(const std::vector<base::Bytes> shares,
                         FetchUnmaskShares(parts, notes, attempt));
  absl::StatusOr<secagg::DecryptedRound> decrypted = secagg::DecryptRound(
      manifest.terms(), manifest.committee(), attempt,
      secagg::DeriveAttemptKeys(parts.epoch_key, manifest.spec().scheme, attempt),
      {.closed_round = *closed, .votes = *votes, .unmask_shares = shares});
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

absl::StatusOr<std::optional<AttestedState>> FetchAttested(const MemberParts& parts,
                                                           uint32_t round) {
  const absl::StatusOr<std::vector<base::Bytes>> attestations =
      parts.server.FetchAttestations(round);
  if (!attestations.ok()) {
    if (protocol::IsRetryable(attestations.status())) return attestations.status();
    return std::nullopt;
  }
  return MajorityOf(*attestations, parts.manifest, AttestorsOf(parts.manifest), round);
}

absl::StatusOr<std::optional<protocol::Checkpoint>> FetchAttestedState(const MemberParts& parts,
                                                                       MemberNotes& notes,
                                                                       uint32_t round) {
  const agreement::Manifest& manifest = parts.manifest.manifest();
  TACET_ASSIGN_OR_RETURN(const std::optional<AttestedState> attested, FetchAttested(parts, round));
  if (!attested.has_value()) return std::nullopt;
  const secagg::Attempt start =
      protocol::RoundStart(manifest, parts.manifest.epoch(), round, attested->model_digest);
  std::optional<protocol::Checkpoint> found;
  const auto take = [&](const base::Bytes& sealed) -> absl::StatusOr<bool> {
    TACET_ASSIGN_OR_RETURN(protocol::Checkpoint checkpoint,
                           protocol::DecryptCheckpoint(sealed, manifest, start, parts.epoch_key));
    if (protocol::DigestsOf(checkpoint).state != attested->state_digest) {
      return base::DataLoss(
          "the optimiser's state is not the one that a majority of the attestors attests");
    }
    found = std::move(checkpoint);
    return true;
  };
  TACET_RETURN_IF_ERROR(
      FetchUntil(parts, notes, {.kind = protocol::BulkKind::kCheckpoint, .attempt = start},
                 kMaxCheckpoints, protocol::EncryptedCheckpointBytes(manifest.spec().dimension),
                 violations::kBadCheckpoint, take)
          .status());
  return found;
}

}  // namespace tacet::member
