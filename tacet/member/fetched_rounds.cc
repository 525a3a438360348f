#include "tacet/member/fetched_rounds.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tacet/base/status.h"
#include "tacet/member/own_abstention.h"
#include "tacet/secagg/attempt_keys.h"
#include "tacet/secagg/closed_round.h"
#include "tacet/secagg/round_decryption.h"
#include "tacet/secagg/unmask_share.h"
#include "tacet/secagg/vote.h"

namespace tacet::member {
namespace {

// Unmask shares as the server sent them, by their numbers.
struct ReadShares {
  std::vector<secagg::UnmaskShare> good;
  std::vector<std::pair<uint32_t, absl::Status>> bad;
};

ReadShares ReadAll(std::span<const uint8_t> bytes, const MemberParts& parts,
                   const secagg::Attempt& attempt, const crypto::SecretBytes& result_key) {
  const agreement::Manifest& manifest = parts.manifest.manifest();
  const he::KeySharing& sharing = manifest.terms().aggregation().sharing();
  const size_t share_bytes = secagg::UnmaskShareBytes(sharing);
  ReadShares shares;
  for (uint32_t index = 0; !bytes.empty(); ++index) {
    const auto one = bytes.first(std::min(share_bytes, bytes.size()));
    bytes = bytes.subspan(one.size());
    absl::StatusOr<secagg::UnmaskShare> share =
        secagg::ReadUnmaskShare(one, attempt, sharing, manifest.committee(), result_key);
    if (share.ok()) {
      shares.good.push_back(*std::move(share));
    } else {
      shares.bad.emplace_back(index, share.status());
    }
  }
  return shares;
}

}  // namespace

absl::StatusOr<base::Bytes> FetchClosedRound(const MemberParts& parts,
                                             const secagg::Attempt& attempt,
                                             absl::StatusOr<secagg::ClosedRound>& round) {
  const secagg::Terms& terms = parts.manifest.manifest().terms();
  return parts.server.Fetch({.kind = protocol::BulkKind::kClosedRound, .attempt = attempt}, 0,
                            secagg::ClosedRoundBytes(terms.aggregation(), terms.max_participants()),
                            [&](std::span<const uint8_t> bytes) {
                              round = secagg::ReadClosedRound(bytes, attempt, terms.aggregation(),
                                                              terms.min_participants());
                              return round.status();
                            });
}

absl::StatusOr<std::vector<base::Bytes>> FetchVotes(const MemberParts& parts,
                                                    const secagg::Attempt& attempt) {
  const secagg::Committee& committee = parts.manifest.manifest().committee();
  return parts.server.FetchVotes(attempt, [&](std::span<const uint8_t> bytes) {
    const absl::Status vote = secagg::ReadVote(bytes, attempt, committee).status();
    // Abstentions come behind the votes.
    const bool is_read = vote.ok() || protocol::ReadAbstention(bytes, parts.manifest).ok();
    return is_read ? absl::OkStatus() : vote;
  });
}

absl::StatusOr<std::vector<secagg::UnmaskShare>> FetchUnmaskShares(const MemberParts& parts,
                                                                   MemberNotes& notes,
                                                                   const secagg::Attempt& attempt) {
  const agreement::Manifest& manifest = parts.manifest.manifest();
  const crypto::SecretBytes result_key =
      secagg::DeriveAttemptKeys(parts.epoch_key, manifest.spec().scheme, attempt).result_key;
  const size_t most_bytes = manifest.committee().size() *
                            secagg::UnmaskShareBytes(manifest.terms().aggregation().sharing());
  ReadShares shares;
  const absl::Status fetched =
      parts.server
          .Fetch({.kind = protocol::BulkKind::kUnmaskShare, .attempt = attempt}, 0, most_bytes,
                 [&](std::span<const uint8_t> bytes) {
                   shares = ReadAll(bytes, parts, attempt, result_key);
                   return shares.bad.empty() ? absl::OkStatus() : shares.bad.front().second;
                 })
          .status();
  if (!fetched.ok()) {
    if (protocol::IsRetryable(fetched)) return fetched;
    shares = {};
    if (fetched.code() == absl::StatusCode::kDataLoss) shares.bad.emplace_back(0, fetched);
  }
  for (const auto& [index, why] : shares.bad) {
    TACET_RETURN_IF_ERROR(notes.Violation(
        {violations::kBadShare, fmt::format("number {}: {}", index, base::Message(why))},
        attempt.number, index));
  }
  return std::move(shares.good);
}

namespace {

absl::StatusOr<std::vector<protocol::SignedAbstention>> CheckedAbstentions(
    const MemberParts& parts, MemberNotes& notes, const secagg::Attempt& attempt,
    std::span<const base::Bytes> given) {
  std::vector<protocol::SignedAbstention> all =
      protocol::AbstentionsAmong(given, attempt, parts.manifest);
  std::optional<protocol::SignedAbstention> own = OwnAbstention(parts, attempt);
  const auto is_own = [&parts](const protocol::SignedAbstention& one) {
    return one.said.member == parts.member;
  };
  if (!own.has_value() || std::ranges::any_of(all, is_own)) return all;
  TACET_RETURN_IF_ERROR(notes.Violation(
      {violations::kWithheldAbstention,
       "this member said that its upload holds none of its data, and the server tells the members "
       "of this round nothing of it"},
      attempt.number));
  all.push_back(*std::move(own));
  std::ranges::sort(all, {}, [](const auto& one) { return one.said.member; });
  return all;
}

}  // namespace

absl::StatusOr<std::optional<FetchedSum>> FetchSum(const MemberParts& parts, MemberNotes& notes,
                                                   const secagg::Attempt& attempt) {
  const agreement::Manifest& manifest = parts.manifest.manifest();
  const secagg::AttemptNumber number = attempt.number;
  const auto missing = [&](std::string_view what,
                           const absl::Status& why) -> absl::StatusOr<std::optional<FetchedSum>> {
    if (protocol::IsRetryable(why)) return why;
    TACET_RETURN_IF_ERROR(
        notes.Note("no-aggregate", number, fmt::format("{}: {}", what, base::Message(why))));
    return std::nullopt;
  };
  absl::StatusOr<secagg::ClosedRound> round = absl::UnknownError("it was not fetched");
  const absl::StatusOr<base::Bytes> closed = FetchClosedRound(parts, attempt, round);
  if (!closed.ok()) return missing("closed round", closed.status());
  const absl::StatusOr<std::vector<base::Bytes>> votes = FetchVotes(parts, attempt);
  if (!votes.ok()) return missing("votes", votes.status());
  TACET_ASSIGN_OR_RETURN(const std::vector<secagg::UnmaskShare> shares,
                         FetchUnmaskShares(parts, notes, attempt));
  const auto decrypt = [&]() -> absl::StatusOr<secagg::DecryptedRound> {
    TACET_RETURN_IF_ERROR(round.status());
    return secagg::DecryptRound(
        manifest.terms(), manifest.committee(), attempt,
        secagg::DeriveAttemptKeys(parts.epoch_key, manifest.spec().scheme, attempt), *round, *votes,
        shares);
  };
  absl::StatusOr<secagg::DecryptedRound> decrypted = decrypt();
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
  FetchedSum sum{.aggregate = std::move(decrypted->aggregate), .abstentions = {}};
  TACET_ASSIGN_OR_RETURN(sum.abstentions, CheckedAbstentions(parts, notes, attempt, *votes));
  return sum;
}

}  // namespace tacet::member
