#include "tacet/crypto/signing.h"

#include <algorithm>
#include <vector>

#include "gtest/gtest.h"
#include <sodium.h>

#include "tacet/base/bytes.h"
#include "tacet/base/status_for_test.h"
#include "tacet/crypto/bad_keys_for_test.h"
#include "tacet/crypto/fixed_entropy_for_test.h"

namespace tacet::crypto {
namespace {

// RFC 8032, section 7.1, test 2.
TEST(SigningTest, Rfc8032Vector) {
  FixedEntropy seed(
      base::FromHex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb").value());
  const SigningKey key = SigningKey::Generate(seed);
  EXPECT_EQ(base::ToHex(key.public_key()),
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
  const Signature signature = key.Sign(base::Bytes{0x72});
  EXPECT_EQ(base::ToHex(signature),
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
            "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00");
  EXPECT_TRUE(VerifySignature(key.public_key(), base::Bytes{0x72}, signature));
}

TEST(SigningTest, AKeptSeedGivesTheSameKeyAndKeysHaveFingerprints) {
  const base::Bytes seed =
      base::FromHex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb").value();
  ASSERT_OK_AND_ASSIGN(const auto key, SigningKey::FromSeed(SecretBytes::CopyOf(seed)));
  EXPECT_EQ(KeyFingerprint(key.public_key()), base::ToHex(Sha256(key.public_key())));
  FixedEntropy entropy(seed);
  EXPECT_EQ(SigningKey::Generate(entropy).public_key(), key.public_key());
  EXPECT_EQ(SigningKey::FromSeed(SecretBytes(31)).status().message(),
            "a signing key's seed has 31 bytes, expected 32");
}

TEST(SigningTest, RefusesAlteredMessagesSignaturesAndOtherKeys) {
  SystemEntropy entropy;
  const SigningKey key = SigningKey::Generate(entropy);
  const SigningKey other = SigningKey::Generate(entropy);
  const Signature signature = key.Sign(base::AsBytes("message"));
  EXPECT_TRUE(VerifySignature(key.public_key(), base::AsBytes("message"), signature));
  EXPECT_FALSE(VerifySignature(key.public_key(), base::AsBytes("massage"), signature));
  EXPECT_FALSE(VerifySignature(key.public_key(), {}, signature));
  EXPECT_FALSE(VerifySignature(other.public_key(), base::AsBytes("message"), signature));
  for (size_t i = 0; i < signature.size(); ++i) {
    Signature altered = signature;
    altered[i] ^= 1;
    EXPECT_FALSE(VerifySignature(key.public_key(), base::AsBytes("message"), altered)) << i;
  }
}

TEST(SigningTest, EmptyMessage) {
  SystemEntropy entropy;
  const SigningKey key = SigningKey::Generate(entropy);
  EXPECT_TRUE(VerifySignature(key.public_key(), {}, key.Sign({})));
}

TEST(SigningTest, RefusesKeysThatNoSecretBelongsTo) {
  std::vector<PublicKey> bad = BadSigningKeys();
  EXPECT_EQ(bad.size(), 16u);
  InsecureSeededEntropy entropy(1, "signing");
  for (int i = 0; i < 20; ++i) {
    const PublicKey key = SigningKey::Generate(entropy).public_key();
    EXPECT_TRUE(CheckSigningKey(key).ok());
    // With a point of order eight added it is on the curve, in another group.
    PublicKey& sum = bad.emplace_back();
    crypto_core_ed25519_add(sum.data(), key.data(), BadSigningKeys().back().data());
  }
  for (const PublicKey& key : bad) {
    EXPECT_EQ(base::Message(CheckSigningKey(key)),
              base::ToHex(key) + " is not a signing key: it is no point of Ed25519's group");
  }
}

TEST(SigningTest, TheSeedGivesTheKeyAgain) {
  InsecureSeededEntropy entropy(1, "key");
  const SigningKey key = SigningKey::Generate(entropy);
  ASSERT_OK_AND_ASSIGN(const auto again, SigningKey::FromSeed(key.Seed()));
  EXPECT_EQ(again.public_key(), key.public_key());
  EXPECT_EQ(again.Sign(base::AsBytes("m")), key.Sign(base::AsBytes("m")));
  EXPECT_EQ(base::Message(SigningKey::FromSeed(SecretBytes(33)).status()),
            "a signing key's seed has 33 bytes, expected 32");
}

}  // namespace
}  // namespace tacet::crypto
