// Keys of several clients that are shared among a committee, for tests.
#ifndef TACET_HE_SHARED_KEYS_FOR_TEST_H_
#define TACET_HE_SHARED_KEYS_FOR_TEST_H_

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/random.h"
#include "tacet/he/attempt_for_test.h"
#include "tacet/he/key_sharing.h"

namespace tacet::he {

// Keys of several clients, shared, and the sums that a server and the seats hold.
class SharedKeys {
 public:
  SharedKeys(const KeySharing& sharing, int clients, uint64_t seed = 1)
      : sharing_(sharing),
        entropy_(seed, "shared keys"),
        random_(crypto::Random::FromEntropy(entropy_)),
        key_sum_(4096),
        mask_sums_(sharing.shape().seats, std::vector<uint16_t>(sharing.mask_words())),
        share_sums_(sharing) {
    for (int i = 0; i < clients; ++i) AddClient();
  }

  const KeySharing& sharing() const { return sharing_; }
  const std::vector<int32_t>& key_sum() const { return key_sum_; }
  std::vector<std::vector<uint16_t>>& mask_sums() { return mask_sums_; }
  base::Bytes Shares() const {
    base::Bytes shares(sharing_.share_bytes());
    share_sums_.Write(shares);
    return shares;
  }
  // Answers of the first seats. They point into this.
  std::vector<KeySharing::Answer> AnswersOf(uint32_t first_seats) const {
    std::vector<KeySharing::Answer> answers;
    for (uint32_t seat = 0; seat < first_seats; ++seat) answers.push_back({seat, mask_sums_[seat]});
    return answers;
  }
  absl::StatusOr<KeySharing::Recovery> Recover(const std::vector<uint32_t>& seats) const {
    std::vector<KeySharing::Answer> answers;
    for (const uint32_t seat : seats) answers.push_back({seat, mask_sums_[seat]});
    return sharing_.Recover(Shares(), answers);
  }
  // Another word in a seat's answer, or other words in all of it.
  void Spoil(uint32_t seat, size_t word) {
    uint16_t& value = mask_sums_[seat][word];
    value = static_cast<uint16_t>((value + 1 + random_.Below(kSharePrime - 1)) % kSharePrime);
  }
  void SpoilAll(uint32_t seat) {
    for (size_t word = 0; word < sharing_.mask_words(); ++word) Spoil(seat, word);
  }

 private:
  void AddClient() {
    std::vector<int8_t> key(key_sum_.size());
    for (size_t i = 0; i < key_sum_.size(); ++i) {
      key[i] = static_cast<int8_t>(static_cast<int>(random_.Below(43)) - 21);
      key_sum_[i] += key[i];
    }
    const std::vector<uint16_t> masks =
        RandomMasks(random_, sharing_.shape().seats * sharing_.mask_words());
    base::Bytes shares(sharing_.share_bytes());
    sharing_.Share(key, RandomMasks(random_, sharing_.check_secrets()), masks, shares);
    ASSERT_FALSE(KeySharing::FindNonCanonical(shares).has_value());
    share_sums_.Add(shares);
    for (size_t i = 0; i < masks.size(); ++i) {
      uint16_t& sum = mask_sums_[i / sharing_.mask_words()][i % sharing_.mask_words()];
      sum = static_cast<uint16_t>((uint32_t{sum} + masks[i]) % kSharePrime);
    }
  }

  KeySharing sharing_;
  crypto::InsecureSeededEntropy entropy_;
  crypto::Random random_;
  std::vector<int32_t> key_sum_;
  std::vector<std::vector<uint16_t>> mask_sums_;
  ShareSums share_sums_;
};

}  // namespace tacet::he

#endif  // TACET_HE_SHARED_KEYS_FOR_TEST_H_
