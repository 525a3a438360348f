#include "tacet/secagg/round_decryption.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tacet/base/status.h"
#include "tacet/he/aggregation.h"
#include "tacet/he/homomorphic_mac.h"
#include "tacet/he/key_candidates.h"
#include "tacet/secagg/closed_round.h"
#include "tacet/secagg/only_sound_sum.h"
#include "tacet/secagg/unmask_share.h"
#include "tacet/secagg/upload.h"
#include "tacet/secagg/vote.h"

namespace tacet::secagg {
namespace {

// Answers of v different seats or more. Fewer may determine the sum of the one-time keys, but those
// who apply the sum rely on v seats that gave their shares: an epoch opens behind it.
absl::StatusOr<std::vector<he::KeySharing::Answer>> AnswersFor(
    const crypto::Digest& hash, const he::KeySharing& sharing,
    std::span<const UnmaskShare> shares) {
  std::vector<he::KeySharing::Answer> answers;
  for (const UnmaskShare& share : shares) {
    const bool again =
        std::ranges::find(answers, share.seat, &he::KeySharing::Answer::seat) != answers.end();
    if (share.round_hash != hash || again) continue;
    answers.push_back({.seat = share.seat, .mask_sums = share.mask_sums.Expose()});
  }
  if (answers.size() >= sharing.votes()) return answers;
  return base::Unavailable("{} of {} committee members have answered, {} are needed",
                           answers.size(), sharing.shape().seats, sharing.votes());
}

// A closed round, and what its sum must satisfy.
class ClosedSum {
 public:
  ClosedSum(const Terms& terms, const Attempt& attempt, const AttemptKeys& keys,
            const ClosedRound& round)
      : terms_(terms),
        attempt_(attempt),
        round_(round),
        tag_key_(keys.tag_key, terms.dimension(), TagContext(attempt)) {}

  uint32_t participants() const { return static_cast<uint32_t>(round_.nonces.size()); }
  // For the last sum that was decrypted.
  bool mac_fits() const { return mac_fits_; }

  // The sum, if its MAC fits and it is within AggregateBound. DataLoss says what is wrong.
  absl::StatusOr<std::vector<uint64_t>> Decrypt(he::Decryptor& decryptor) {
    return Decrypt(decryptor, false);
  }
  // The same under one of several sums of the keys. Under a wrong one values are uniform, so that
  // most of them need not be decrypted.
  std::optional<std::vector<uint64_t>> Under(he::KeySharing::Recovery recovery) {
    auto decryptor = he::NewCompactDecryptor(terms_.aggregation(), PublicSeed(attempt_),
                                             std::move(recovery.key_sum));
    if (!decryptor.ok()) return std::nullopt;
    auto sums = Decrypt(**decryptor, true);
    if (!sums.ok()) return std::nullopt;
    return *std::move(sums);
  }

 private:
  absl::StatusOr<std::vector<uint64_t>> Decrypt(he::Decryptor& decryptor, bool stops_at_bound) {
    mac_fits_ = false;
    TACET_ASSIGN_OR_RETURN(const auto decryption,
                           decryptor.Begin(round_.aggregated_ciphertext, participants()));
    const he::AggregationParams& params = terms_.aggregation();
    he::Tag expected = tag_key_.SumOfMasks(round_.nonces);
    AggregateBound bound(terms_.mechanism(), participants());
    std::vector<uint64_t> all(terms_.dimension());
    const uint64_t block = params.values_per_polynomial();
    for (uint64_t first = 0; first < all.size(); first += block) {
      const auto sums = std::span(all).subspan(first, std::min(block, all.size() - first));
      TACET_RETURN_IF_ERROR(decryption->Next(sums));
      tag_key_.AccumulateSum(first, sums, params.LargestSum(participants()), expected);
      bound.Append(sums);
      if (stops_at_bound) TACET_RETURN_IF_ERROR(bound.Check());
    }
    TACET_ASSIGN_OR_RETURN(const he::Tag tag, decryption->Finish());
    mac_fits_ = he::TagsEqual(expected, tag);
    if (!mac_fits_) {
      return base::DataLoss(
          "the MAC does not fit the sum of round {} attempt {}: a participant sent an upload that "
          "is not well-formed, or the server altered, dropped, repeated or mixed uploads, or more "
          "committee members answered wrongly than can be corrected",
          attempt_.number.round, attempt_.number.attempt);
    }
    TACET_RETURN_IF_ERROR(bound.Check());
    return all;
  }

  const Terms& terms_;
  const Attempt& attempt_;
  const ClosedRound& round_;
  he::HomomorphicMacKey tag_key_;
  bool mac_fits_ = false;
};

absl::StatusOr<SoundSum> DecryptWithAnswers(const he::AggregationParams& params,
                                            const Attempt& attempt,
                                            std::span<const uint8_t> share_sums,
                                            std::span<const he::KeySharing::Answer> answers,
                                            ClosedSum& closed) {
  const he::KeySharing& sharing = params.sharing();
  TACET_ASSIGN_OR_RETURN(he::KeyCandidates candidates,
                         he::KeyCandidates::Create(sharing, share_sums, answers));
  auto nearest = candidates.Next(candidates.correctable());
  const bool fit = nearest.has_value();
  absl::Status failure = he::KeySharing::DoNotFit(answers.size(), candidates.most_left_out());
  std::vector<uint32_t> wrong_seats;
  if (fit) {
    wrong_seats = std::move(nearest->wrong_seats);
    TACET_ASSIGN_OR_RETURN(
        const auto decryptor,
        he::NewCompactDecryptor(params, PublicSeed(attempt), std::move(nearest->key_sum)));
    absl::StatusOr<std::vector<uint64_t>> sums = closed.Decrypt(*decryptor);
    if (sums.ok()) return SoundSum{.sums = *std::move(sums), .wrong_seats = std::move(wrong_seats)};
    if (closed.mac_fits()) return sums.status();
    failure = sums.status();
  }
  if (std::optional<SoundSum> only =
          OnlySoundSum(candidates, [&closed](he::KeySharing::Recovery recovery) {
            return closed.Under(std::move(recovery));
          })) {
    return *std::move(only);
  }
  // Two codewords differ in a - t + 1 answers at least: f wrong seats may have led to this one.
  const he::CommitteeShape& shape = sharing.shape();
  if (answers.size() >= shape.seats ||
      (fit && answers.size() - sharing.threshold() >= shape.corrupt + wrong_seats.size())) {
    return failure;
  }
  if (!fit) return base::Unavailable("{}; waiting for more answers", base::Message(failure));
  return base::Unavailable(
      "the MAC does not fit the sum of round {} attempt {} with the answers of {} committee "
      "members; some of them may be wrong, waiting for more answers",
      attempt.number.round, attempt.number.attempt, answers.size());
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
  TACET_ASSIGN_OR_RETURN(
      const ClosedRound round,
      ReadClosedRound(closed_round, attempt, terms.aggregation(), terms.min_participants()));
  return DecryptRound(terms, committee, attempt, keys, round, votes, unmask_shares);
}

absl::StatusOr<DecryptedRound> DecryptRound(const Terms& terms, const Committee& committee,
                                            const Attempt& attempt, const AttemptKeys& keys,
                                            const ClosedRound& round,
                                            std::span<const base::Bytes> votes,
                                            std::span<const UnmaskShare> unmask_shares) {
  const he::AggregationParams& params = terms.aggregation();
  ClosedSum closed(terms, attempt, keys, round);
  DecryptedRound result;
  result.aggregate.participants = closed.participants();
  if (params.scheme() != he::Scheme::kCompact) {
    TACET_ASSIGN_OR_RETURN(const auto decryptor, he::NewPaperDecryptor(params, keys.group_secret));
    TACET_ASSIGN_OR_RETURN(result.aggregate.sums, closed.Decrypt(*decryptor));
    return result;
  }
  const he::KeySharing& sharing = params.sharing();
  const crypto::Digest hash = ClosedRoundHash(round);
  TACET_RETURN_IF_ERROR(CheckVotes(votes, hash, attempt, committee, sharing.votes()));
  TACET_ASSIGN_OR_RETURN(const std::vector<he::KeySharing::Answer> answers,
                         AnswersFor(hash, sharing, unmask_shares));
  TACET_ASSIGN_OR_RETURN(
      SoundSum sum,
      DecryptWithAnswers(params, attempt,
                         std::span(round.aggregated_ciphertext).last(params.share_bytes()), answers,
                         closed));
  result.aggregate.sums = std::move(sum.sums);
  // The MAC shows that the sum of the keys is right. Codewords with one sum of keys differ in a - f
  // + 1 answers at least: with f wrong seats and those to be named so many are right ones named.
  if (answers.size() >= 2 * sharing.shape().corrupt + sum.wrong_seats.size()) {
    result.wrong_seats = std::move(sum.wrong_seats);
  }
  return result;
}

}  // namespace tacet::secagg
