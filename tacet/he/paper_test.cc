// Tests of the paper's schemes alone.
#include "tacet/he/paper.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/crypto/hash.h"
#include "tacet/he/attempt_for_test.h"

namespace tacet::he {
namespace {

AggregationSpec Spec(Scheme scheme) {
  return {.scheme = scheme,
          .dimension = 9000,
          .max_participants = 1000,
          .offset = 40000,
          .sum_bound = 2000000};
}

// Saturated values on either side, at every size of plaintext that the errors leave room for.
TEST(PaperTest, SumsAreExactAtTheBoundForEveryPlaintextSize) {
  for (const Scheme scheme : {Scheme::kPaperPublicKey, Scheme::kPaperSecretKey}) {
    for (uint32_t bits = 8; bits <= kMaxPaperBits; ++bits) {
      if (!PaperErrorFits(scheme, 2, bits)) continue;
      // Two counts of 32 bits reach no further than 2^32 on either side of their offset.
      const auto bound =
          static_cast<int64_t>(std::min((uint64_t{1} << (bits - 1)) - 1, (uint64_t{1} << 32) - 10));
      const uint32_t offset = 2147483648;
      TestAttempt attempt(MustCreate({.scheme = scheme,
                                      .dimension = 50,
                                      .max_participants = 2,
                                      .offset = offset,
                                      .sum_bound = static_cast<uint64_t>(bound),
                                      .plaintext_bits = bits}));
      std::vector<uint32_t> first(50);
      std::vector<uint32_t> second(50);
      std::vector<uint64_t> expected(50);
      for (size_t i = 0; i < first.size(); ++i) {
        const int64_t centred = i % 2 == 0 ? bound : -bound;
        first[i] = static_cast<uint32_t>(offset + centred / 2);
        second[i] = static_cast<uint32_t>(offset + centred - centred / 2);
        expected[i] = uint64_t{first[i]} + second[i];
      }
      attempt.EncryptAndAdd(first);
      attempt.EncryptAndAdd(second);
      EXPECT_EQ(attempt.Decrypt(), expected) << SchemeName(scheme) << ", " << bits << " bits";
    }
  }
}

TEST(PaperTest, ErrorBoundIsFarAboveTheDeviation) {
  for (const Scheme scheme : {Scheme::kPaperPublicKey, Scheme::kPaperSecretKey}) {
    for (const uint32_t participants : {1u, 1000u, 1048575u}) {
      const double deviation = std::sqrt(participants * PaperNoiseVariance(scheme));
      EXPECT_GE(PaperErrorBound(scheme, participants), 10.5 * deviation);
      EXPECT_LE(PaperErrorBound(scheme, participants), 13.0 * deviation);
    }
  }
}

// The tag is at the end, in clear, for both of them.
TEST(PaperFormatTest, TheTagEndsCiphertextsAndSums) {
  const Tag tag{{5, kTagPrime - 1, 7}};
  for (const Scheme scheme : {Scheme::kPaperPublicKey, Scheme::kPaperSecretKey}) {
    const AggregationParams params = MustCreate(Spec(scheme));
    const crypto::SecretBytes key(32);
    const auto encryptor = NewEncryptor(params, key.Expose(), key).value();
    base::Bytes ciphertext;
    ASSERT_TRUE(
        encryptor->Encrypt(std::vector<uint32_t>(9000), tag, {.key = key}, ciphertext).ok());
    EXPECT_EQ(DecodeTag(std::span(ciphertext).last(kTagBytes), "end")->words, tag.words);
    const auto adder = NewAdder(params);
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(adder->Add(ciphertext).ok());
    const base::Bytes closed = adder->Close();
    EXPECT_EQ(DecodeTag(std::span(closed).last(kTagBytes), "end")->words, AddTags(tag, tag).words);
  }
}

std::string HashWithoutTag(const base::Bytes& bytes) {
  return base::ToHex(crypto::Sha256(std::span(bytes).first(bytes.size() - kTagBytes)));
}

// The bytes of docs/formats/ciphertext.md, frozen, as a second implementation computed them from
// that page.
TEST(PaperFormatTest, CiphertextAndSumBytesAreFrozen) {
  std::vector<uint32_t> counts(9000);
  for (size_t i = 0; i < counts.size(); ++i) counts[i] = static_cast<uint32_t>(39000 + i % 2001);
  TestAttempt secret_key(MustCreate(Spec(Scheme::kPaperSecretKey)));
  const base::Bytes seeded = secret_key.Encrypt(counts);
  EXPECT_EQ(HashWithoutTag(seeded),
            "03f0e5d0a4170f40e47da217f1bbd81f42950aae4a28567b6bd80774f4e78fd7");
  ASSERT_TRUE(secret_key.adder().Add(seeded).ok());
  EXPECT_EQ(HashWithoutTag(secret_key.adder().Close()),
            "53b870a5d5957d9f5cfb798b6e4d21a1e4a41a51fb78e14fca444e9b599f3e2c");

  TestAttempt public_key(MustCreate(Spec(Scheme::kPaperPublicKey)));
  const base::Bytes full = public_key.Encrypt(counts);
  EXPECT_EQ(HashWithoutTag(full),
            "60f1ec6716b3a736f63a51b903e00d6949900c432a90f21f9a4ef6cdbcc37404");
  // The aggregated ciphertext of one full ciphertext is that ciphertext.
  ASSERT_TRUE(public_key.adder().Add(full).ok());
  EXPECT_TRUE(public_key.adder().Close() == full);
}

}  // namespace
}  // namespace tacet::he
