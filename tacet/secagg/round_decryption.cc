#include "tacet/secagg/round_decryption.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "tacet/base/status.h"
#include "tacet/he/aggregation.h"
#include "tacet/he/homomorphic_mac.h"
#include "tacet/secagg/closed_round.h"
#include "tacet/secagg/unmask_share.h"
#include "tacet/secagg/upload.h"
#include "tacet/secagg/vote.h"

namespace tacet::secagg {
namespace {

// Sum of the one-time keys, from unmask shares of v different seats or more. Fewer may determine
// it, but those who apply the sum rely on v seats that gave their shares: an epoch opens behind it.
struct KeySum {
  he::KeySharing::Recovery recovery;
  size_t answers = 0;
};
absl::StatusOr<KeySum> RecoverKeySum(const he::AggregationParams& params,
                                     const Committee& committee, const ClosedRound& round,
                                     const crypto::Digest& hash,
                                     std::span<const UnmaskShare> shares) {
  const he::KeySharing& sharing = params.sharing();
  std::vector<he::KeySharing::Answer> answers;
  for (const UnmaskShare& share : shares) {
    const bool again =
        std::ranges::find(answers, share.seat, &he::KeySharing::Answer::seat) != answers.end();
    if (share.round_hash != hash || again) continue;
    answers.push_back({.seat = share.seat, .mask_sums = share.mask_sums.Expose()});
  }
  if (answers.size() < sharing.votes()) {
    return base::Unavailable("{} of {} committee members have answered, {} are needed",
                             answers.size(), committee.size(), sharing.votes());
  }
  absl::StatusOr<he::KeySharing::Recovery> recovery =
      sharing.Recover(std::span(round.aggregated_ciphertext).last(params.share_bytes()), answers);
  if (recovery.ok()) return KeySum{*std::move(recovery), answers.size()};
  if (recovery.status().code() == absl::StatusCode::kDataLoss &&
      answers.size() < committee.size()) {
    return base::Unavailable("{}; waiting for more answers", base::Message(recovery.status()));
  }
  return recovery.status();
}

}  // namespace

absl::StatusOr<DecryptedRound> DecryptRound(const Terms& terms, const Committee& committee,
                                            const Attempt& attempt, const AttemptKeys& keys,
                                            const RoundMessages& messages) {
  std::vector<UnmaskShare> shares;
  for (const base::Bytes& message : messages.unmask_shares) {
    absl::StatusOr<UnmaskShare> share = ReadUnmaskShare(
        message, attempt, terms.aggregation().sharing(), committee, keys.result_key);
    if (share.ok()) shares.push_back(*std::move(share));
  }
  return DecryptRound(terms, committee, attempt, keys, messages.closed_round, messages.votes,
                      shares);
}

absl::StatusOr<DecryptedRound> DecryptRound(const Terms& terms, const Committee& committee,
                                            const Attempt& attempt, const AttemptKeys& keys,
                                            std::span<const uint8_t> closed_round,
                                            std::span<const base::Bytes> votes,
                                            std::span<const UnmaskShare> unmask_shares) {
  const he::AggregationParams& params = terms.aggregation();
  TACET_ASSIGN_OR_RETURN(const ClosedRound round,
                         ReadClosedRound(closed_round, attempt, params, terms.min_participants()));
  const auto participants = static_cast<uint32_t>(round.nonces.size());
  DecryptedRound result;
  std::unique_ptr<he::Decryptor> decryptor;
  size_t answers = 0;
  if (params.scheme() == he::Scheme::kCompact) {
    const crypto::Digest hash = ClosedRoundHash(round);
    TACET_RETURN_IF_ERROR(CheckVotes(votes, hash, attempt, committee, params.sharing().votes()));
    TACET_ASSIGN_OR_RETURN(KeySum key_sum,
                           RecoverKeySum(params, committee, round, hash, unmask_shares));
    answers = key_sum.answers;
    result.wrong_seats = std::move(key_sum.recovery.wrong_seats);
    const crypto::Digest public_seed = PublicSeed(attempt);
    TACET_ASSIGN_OR_RETURN(decryptor, he::NewCompactDecryptor(params, public_seed,
                                                              std::move(key_sum.recovery.key_sum)));
  } else {
    TACET_ASSIGN_OR_RETURN(decryptor, he::NewPaperDecryptor(params, keys.group_secret));
  }
  TACET_ASSIGN_OR_RETURN(const auto decryption,
                         decryptor->Begin(round.aggregated_ciphertext, participants));
  const he::HomomorphicMacKey tag_key(keys.tag_key, terms.dimension(), TagContext(attempt));
  he::Tag expected = tag_key.SumOfMasks(round.nonces);
  AggregateBound bound(terms.mechanism(), participants);
  result.aggregate.participants = participants;
  result.aggregate.sums.resize(terms.dimension());
  const uint64_t block = params.values_per_polynomial();
  for (uint64_t first = 0; first < terms.dimension(); first += block) {
    const auto sums =
        std::span(result.aggregate.sums).subspan(first, std::min(block, terms.dimension() - first));
    TACET_RETURN_IF_ERROR(decryption->Next(sums));
    tag_key.AccumulateSum(first, sums, params.LargestSum(participants), expected);
    bound.Append(sums);
  }
  TACET_ASSIGN_OR_RETURN(const he::Tag tag, decryption->Finish());
  if (!he::TagsEqual(expected, tag)) {
    // Two codewords differ in a - t + 1 answers at least: f wrong seats may have led to this one.
    const he::KeySharing& sharing = params.sharing();
    const size_t wrong = sharing.shape().corrupt + result.wrong_seats.size();
    if (answers < committee.size() && answers - sharing.threshold() < wrong) {
      return base::Unavailable(
          "the MAC does not fit the sum of round {} attempt {} with the answers of {} committee "
          "members; some of them may be wrong, waiting for more answers",
          attempt.number.round, attempt.number.attempt, answers);
    }
    return base::DataLoss(
        "the MAC does not fit the sum of round {} attempt {}: a participant sent an upload that is "
        "not well-formed, or the server altered, dropped, repeated or mixed uploads, or more "
        "committee members answered wrongly than can be corrected",
        attempt.number.round, attempt.number.attempt);
  }
  TACET_RETURN_IF_ERROR(bound.Check());
  // The MAC shows that the sum of the keys is right. Codewords with one sum of keys differ in a - f
  // + 1 answers at least: with f wrong seats and those to be named so many are right ones named.
  if (answers < 2 * params.sharing().shape().corrupt + result.wrong_seats.size()) {
    result.wrong_seats.clear();
  }
  return result;
}

}  // namespace tacet::secagg
