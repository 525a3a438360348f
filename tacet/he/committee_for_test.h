// Masks of a committee whose seats all run in one test.
#ifndef TACET_HE_COMMITTEE_FOR_TEST_H_
#define TACET_HE_COMMITTEE_FOR_TEST_H_

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/base/status.h"
#include "tacet/crypto/random.h"
#include "tacet/he/aggregation.h"

namespace tacet::he {

// Uniform words below p.
inline std::vector<uint16_t> RandomMasks(crypto::Random& random, size_t words) {
  std::vector<uint16_t> masks(words);
  for (uint16_t& mask : masks) mask = static_cast<uint16_t>(random.Below(kSharePrime));
  return masks;
}

inline absl::StatusOr<std::unique_ptr<Encryptor>> NewEncryptor(
    const AggregationParams& params, std::span<const uint8_t> public_seed,
    const crypto::SecretBytes& group_secret) {
  return params.scheme() == Scheme::kCompact ? NewCompactEncryptor(params, public_seed)
                                             : NewPaperEncryptor(params, public_seed, group_secret);
}

// Sums of masks, seat by seat.
class MaskSums {
 public:
  explicit MaskSums(const AggregationParams& params) : words_(params.mask_words()) {}

  void Add(std::span<const uint16_t> masks) {
    for (size_t i = 0; i < words_.size(); ++i) {
      words_[i] = static_cast<uint16_t>((uint32_t{words_[i]} + masks[i]) % kSharePrime);
    }
  }
  KeySharing::Answer AnswerOf(const AggregationParams& params, uint32_t seat) const {
    const size_t words = params.sharing().mask_words();
    return {.seat = seat, .mask_sums = std::span(words_).subspan(seat * words, words)};
  }
  // Those of the last seats, as many as are needed.
  std::vector<KeySharing::Answer> Answers(const AggregationParams& params) const {
    std::vector<KeySharing::Answer> answers;
    const uint32_t seats = params.committee().seats;
    for (uint32_t seat = seats - params.sharing().threshold(); seat < seats; ++seat) {
      answers.push_back(AnswerOf(params, seat));
    }
    return answers;
  }

 private:
  std::vector<uint16_t> words_;
};

// Decryptor of an aggregated ciphertext: with the answers of a committee, or the group's secret.
inline absl::StatusOr<std::unique_ptr<Decryptor>> DecryptorOf(
    const AggregationParams& params, std::span<const uint8_t> public_seed,
    const crypto::SecretBytes& group_secret, std::span<const uint8_t> aggregated_ciphertext,
    const MaskSums& masks) {
  if (params.scheme() != Scheme::kCompact) return NewPaperDecryptor(params, group_secret);
  TACET_ASSIGN_OR_RETURN(auto recovery,
                         params.sharing().Recover(aggregated_ciphertext.last(params.share_bytes()),
                                                  masks.Answers(params)));
  return NewCompactDecryptor(params, public_seed, std::move(recovery.key_sum));
}

}  // namespace tacet::he

#endif  // TACET_HE_COMMITTEE_FOR_TEST_H_
