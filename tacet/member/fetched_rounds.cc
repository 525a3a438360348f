#include "tacet/member/fetched_rounds.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tacet/base/status.h"
#include "tacet/secagg/attempt_keys.h"
#include "tacet/secagg/closed_round.h"
#include "tacet/secagg/round_decryption.h"
#include "tacet/secagg/unmask_share.h"

namespace tacet::member {

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

}  // namespace tacet::member
