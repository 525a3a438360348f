// Fixture of this folder's tests: one attempt with all its roles in one place.
#ifndef TACET_HE_ATTEMPT_FOR_TEST_H_
#define TACET_HE_ATTEMPT_FOR_TEST_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/crypto/random.h"
#include "tacet/he/aggregation.h"
#include "tacet/he/committee_for_test.h"

namespace tacet::he {

inline constexpr Scheme kAllSchemes[] = {Scheme::kCompact, Scheme::kPaperPublicKey,
                                         Scheme::kPaperSecretKey};

// "compact", "paper", "papersecretkey": SchemeName as the suffix of a test's name.
inline std::string SchemeTestName(Scheme scheme) {
  std::string name;
  for (const char c : SchemeName(scheme)) {
    if (c != '-') name.push_back(c);
  }
  return name;
}

inline AggregationParams MustCreate(const AggregationSpec& spec) {
  absl::StatusOr<AggregationParams> params = AggregationParams::Create(spec);
  if (!params.ok()) ADD_FAILURE() << base::Message(params.status());
  return *std::move(params);
}

// Encryptor, adder and decryptor with keys drawn from `seed`.
class TestAttempt {
 public:
  explicit TestAttempt(const AggregationParams& params, uint64_t seed = 1)
      : params_(params),
        entropy_(seed, "attempt"),
        public_seed_(entropy_.Draw(32)),
        group_secret_(entropy_.Draw(32)),
        mask_entropy_(seed, "masks"),
        random_(crypto::Random::FromEntropy(mask_entropy_)),
        mask_sums_(params),
        tag_entropy_(seed, "tags"),
        tag_random_(crypto::Random::FromEntropy(tag_entropy_)),
        encryptor_(*NewEncryptor(params, public_seed_.Expose(), group_secret_)),
        adder_(NewAdder(params)) {}

  const AggregationParams& params() const { return params_; }
  std::span<const uint8_t> public_seed() const { return public_seed_.Expose(); }
  const crypto::SecretBytes& group_secret() const { return group_secret_; }
  const Encryptor& encryptor() const { return *encryptor_; }
  // For `aggregated_ciphertext`, which holds all ciphertexts that Encrypt made.
  std::unique_ptr<Decryptor> DecryptorFor(std::span<const uint8_t> aggregated_ciphertext) const {
    auto decryptor = DecryptorOf(params_, public_seed_.Expose(), group_secret_,
                                 aggregated_ciphertext, mask_sums_);
    if (!decryptor.ok()) ADD_FAILURE() << base::Message(decryptor.status());
    return *std::move(decryptor);
  }
  Adder& adder() { return *adder_; }

  crypto::SecretBytes DrawSealKey() { return entropy_.Draw(32); }

  // With a random tag.
  base::Bytes Encrypt(std::span<const uint32_t> counts) {
    base::Bytes ciphertext;
    const std::vector<uint16_t> masks = RandomMasks(random_, params_.mask_words());
    mask_sums_.Add(masks);
    Tag tag;
    for (uint64_t& word : tag.words) word = tag_random_.Below(kTagPrime);
    tag_sum_ = AddTags(tag_sum_, tag);
    EXPECT_TRUE(
        encryptor_->Encrypt(counts, tag, {.key = DrawSealKey(), .masks = masks}, ciphertext).ok());
    return ciphertext;
  }
  void EncryptAndAdd(std::span<const uint32_t> counts) {
    const absl::Status status = adder_->Add(Encrypt(counts));
    EXPECT_TRUE(status.ok()) << base::Message(status);
  }
  // The sums, where the sum of the tags is that of all ciphertexts that Encrypt made.
  std::vector<uint64_t> Decrypt() const {
    const base::Bytes closed = adder_->Close();
    absl::StatusOr<Decryptor::Decrypted> decrypted =
        DecryptorFor(closed)->Decrypt(closed, adder_->count());
    if (!decrypted.ok()) ADD_FAILURE() << base::Message(decrypted.status());
    EXPECT_EQ(decrypted->tag.words, tag_sum_.words);
    return std::move(decrypted->sums);
  }

 private:
  AggregationParams params_;
  crypto::InsecureSeededEntropy entropy_;
  crypto::SecretBytes public_seed_;
  crypto::SecretBytes group_secret_;
  crypto::InsecureSeededEntropy mask_entropy_;
  crypto::Random random_;
  MaskSums mask_sums_;
  crypto::InsecureSeededEntropy tag_entropy_;
  crypto::Random tag_random_;
  Tag tag_sum_;
  std::unique_ptr<Encryptor> encryptor_;
  std::unique_ptr<Adder> adder_;
};

// Counts offset + uniform on [-spread, spread].
inline std::vector<uint32_t> RandomCounts(crypto::Random& random, const AggregationParams& params,
                                          uint64_t spread) {
  std::vector<uint32_t> counts(params.dimension());
  for (uint32_t& count : counts) {
    count = static_cast<uint32_t>(params.offset() - spread + random.Below(2 * spread + 1));
  }
  return counts;
}

// Decrypts `participants` random vectors and expects their exact sum. Counts lie within
// `spread` <= offset of the offset, and the sums within the bound.
inline void ExpectExactSum(const AggregationSpec& spec, uint32_t participants, uint64_t spread) {
  TestAttempt attempt(MustCreate(spec));
  crypto::InsecureSeededEntropy entropy(participants, "counts");
  crypto::Random random = crypto::Random::FromEntropy(entropy);
  std::vector<uint64_t> expected(spec.dimension);
  for (uint32_t k = 0; k < participants; ++k) {
    const std::vector<uint32_t> counts = RandomCounts(random, attempt.params(), spread);
    for (size_t i = 0; i < counts.size(); ++i) expected[i] += counts[i];
    attempt.EncryptAndAdd(counts);
  }
  ASSERT_EQ(attempt.adder().count(), participants);
  EXPECT_EQ(attempt.Decrypt(), expected);
}

}  // namespace tacet::he

#endif  // TACET_HE_ATTEMPT_FOR_TEST_H_
