#include "tacet/crypto/ml_kem.h"

#include <algorithm>
#include <fstream>
#include <string>

#include "nlohmann/json.hpp"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/bytes.h"
#include "tacet/base/status_for_test.h"
#include "tacet/crypto/fixed_entropy_for_test.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/ml_kem_implementation.h"

namespace tacet::crypto {
namespace {

using ::testing::HasSubstr;

const nlohmann::json& Vectors() {
  static const nlohmann::json vectors = [] {
    std::ifstream file(TACET_SOURCE_DIR "/tests/vectors/ml_kem_768.json");
    return nlohmann::json::parse(file);
  }();
  return vectors;
}

base::Bytes HexOf(const nlohmann::json& value, std::string_view field) {
  return base::FromHex(value.at(std::string(field)).get<std::string>()).value();
}

template <typename Array>
Array ArrayOf(const nlohmann::json& value, std::string_view field) {
  const base::Bytes bytes = HexOf(value, field);
  Array array{};
  EXPECT_EQ(bytes.size(), array.size());
  std::copy_n(bytes.begin(), std::min(bytes.size(), array.size()), array.begin());
  return array;
}

KemKey KeyOfSeed(const nlohmann::json& value) {
  return KemKey::FromSeed(SecretBytes::CopyOf(HexOf(value, "seed"))).value();
}

KemKey NewKemKey(std::string_view label) {
  InsecureSeededEntropy entropy(1, label);
  return KemKey::Generate(entropy);
}

// Coefficient `i` of the 768 of a public key, in 12 bits.
void SetCoefficient(size_t i, unsigned value, KemPublicKey& key) {
  uint8_t* const pair = &key[i / 2 * 3];
  if (i % 2 == 0) {
    pair[0] = static_cast<uint8_t>(value);
    pair[1] = static_cast<uint8_t>((pair[1] & 0xf0) | value >> 8);
  } else {
    pair[1] = static_cast<uint8_t>((pair[1] & 0x0f) | (value & 15) << 4);
    pair[2] = static_cast<uint8_t>(value >> 4);
  }
}

TEST(MlKemTest, PublishedKeysAndSecrets) {
  const nlohmann::json& vectors = Vectors().at("keys");
  ASSERT_EQ(vectors.size(), 100u);
  for (const nlohmann::json& vector : vectors) {
    const KemKey key = KeyOfSeed(vector);
    EXPECT_EQ(base::ToHex(Sha256(key.public_key())), vector.at("key_sha256"));
    FixedEntropy entropy(HexOf(vector, "m"));
    ASSERT_OK_AND_ASSIGN(const Encapsulated sent, Encapsulate(key.public_key(), entropy));
    EXPECT_EQ(base::ToHex(Sha256(sent.ciphertext)), vector.at("ciphertext_sha256"));
    EXPECT_EQ(base::ToHex(sent.shared.Expose()), vector.at("shared"));
    EXPECT_EQ(base::ToHex(key.Decapsulate(sent.ciphertext).Expose()), vector.at("shared"));
  }
}

TEST(MlKemTest, PublishedSecretsOfSpecialKeys) {
  const nlohmann::json& vectors = Vectors().at("encapsulations");
  ASSERT_EQ(vectors.size(), 10u);
  for (const nlohmann::json& vector : vectors) {
    FixedEntropy entropy(HexOf(vector, "m"));
    ASSERT_OK_AND_ASSIGN(const Encapsulated sent,
                         Encapsulate(ArrayOf<KemPublicKey>(vector, "key"), entropy));
    EXPECT_EQ(base::ToHex(Sha256(sent.ciphertext)), vector.at("ciphertext_sha256"));
    EXPECT_EQ(base::ToHex(sent.shared.Expose()), vector.at("shared")) << vector.at("comment");
  }
}

TEST(MlKemTest, PublishedSecretsOfForeignCiphertexts) {
  const nlohmann::json& vectors = Vectors().at("decapsulations");
  ASSERT_EQ(vectors.size(), 9u);
  for (const nlohmann::json& vector : vectors) {
    const SecretBytes shared =
        KeyOfSeed(vector).Decapsulate(ArrayOf<KemCiphertext>(vector, "ciphertext"));
    EXPECT_EQ(base::ToHex(shared.Expose()), vector.at("shared")) << vector.at("comment");
  }
}

TEST(MlKemTest, RefusesPublishedKeysOfNoModule) {
  const nlohmann::json& vectors = Vectors().at("refused_keys");
  ASSERT_EQ(vectors.size(), 6u);
  InsecureSeededEntropy entropy(1, "encapsulate");
  for (const nlohmann::json& vector : vectors) {
    const auto key = ArrayOf<KemPublicKey>(vector, "key");
    for (const absl::Status& status : {CheckKemKey(key), Encapsulate(key, entropy).status()}) {
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_THAT(base::Message(status), HasSubstr("not an ML-KEM-768 key: coefficient"));
    }
  }
}

TEST(MlKemTest, ChecksEachCoefficient) {
  const KemPublicKey good = NewKemKey("reader").public_key();
  EXPECT_TRUE(CheckKemKey(good).ok());
  for (size_t i = 0; i < 768; ++i) {
    for (const unsigned value : {3328u, 3329u, 4095u}) {
      KemPublicKey key = good;
      SetCoefficient(i, value, key);
      const absl::Status status = CheckKemKey(key);
      EXPECT_EQ(status.ok(), value < 3329) << i;
      if (status.ok()) continue;
      EXPECT_EQ(base::Message(status),
                fmt::format("not an ML-KEM-768 key: coefficient {} is {}, expected less than 3329",
                            i, value));
    }
  }
}

TEST(MlKemTest, AlteredCiphertextsGiveOtherSecrets) {
  const KemKey key = NewKemKey("reader");
  InsecureSeededEntropy entropy(1, "encapsulate");
  ASSERT_OK_AND_ASSIGN(const Encapsulated sent, Encapsulate(key.public_key(), entropy));
  for (size_t i = 0; i < sent.ciphertext.size(); i += 61) {
    KemCiphertext altered = sent.ciphertext;
    altered[i] ^= 1;
    const SecretBytes shared = key.Decapsulate(altered);
    EXPECT_FALSE(ConstantTimeEqual(shared.Expose(), sent.shared.Expose())) << i;
    EXPECT_TRUE(ConstantTimeEqual(shared.Expose(), key.Decapsulate(altered).Expose())) << i;
  }
  EXPECT_FALSE(ConstantTimeEqual(NewKemKey("another").Decapsulate(sent.ciphertext).Expose(),
                                 sent.shared.Expose()));
}

TEST(MlKemTest, EachEncapsulationIsFresh) {
  const KemKey key = NewKemKey("reader");
  InsecureSeededEntropy entropy(1, "encapsulate");
  ASSERT_OK_AND_ASSIGN(const Encapsulated first, Encapsulate(key.public_key(), entropy));
  ASSERT_OK_AND_ASSIGN(const Encapsulated second, Encapsulate(key.public_key(), entropy));
  EXPECT_NE(first.ciphertext, second.ciphertext);
  EXPECT_FALSE(ConstantTimeEqual(first.shared.Expose(), second.shared.Expose()));
}

TEST(MlKemTest, TheSeedGivesTheKeyAgain) {
  const KemKey key = NewKemKey("reader");
  ASSERT_OK_AND_ASSIGN(const KemKey again, KemKey::FromSeed(key.seed()));
  EXPECT_EQ(again.public_key(), key.public_key());
  EXPECT_NE(NewKemKey("another").public_key(), key.public_key());
  EXPECT_THAT(base::Message(KemKey::FromSeed(SecretBytes(63)).status()),
              HasSubstr("63 bytes, expected 64"));
}

// A seed's key, what coins send to it, and what it reads of that and of an altered ciphertext.
std::string BytesOf(const MlKemImplementation& implementation, Entropy& entropy) {
  const SecretBytes seed = entropy.Draw(KemKey::kSeedBytes);
  const KemPublicKey key = implementation.key_of_seed(seed);
  Encapsulated sent = implementation.encapsulate(entropy.Draw(32), key);
  const SecretBytes received = implementation.decapsulate(seed, key, sent.ciphertext);
  EXPECT_EQ(base::ToHex(received.Expose()), base::ToHex(sent.shared.Expose()));
  std::string bytes =
      base::ToHex(key) + base::ToHex(sent.ciphertext) + base::ToHex(received.Expose());
  sent.ciphertext[5] ^= 4;
  return bytes + base::ToHex(implementation.decapsulate(seed, key, sent.ciphertext).Expose());
}

TEST(MlKemTest, LibcryptosGivesTheBytesOfOurs) {
  if (LibcryptoMlKem() == nullptr) GTEST_SKIP() << "this libcrypto has no ML-KEM";
  for (uint64_t seed = 0; seed < 50; ++seed) {
    InsecureSeededEntropy for_ours(seed, "both"), for_theirs(seed, "both");
    EXPECT_EQ(BytesOf(OwnMlKem(), for_ours), BytesOf(*LibcryptoMlKem(), for_theirs)) << seed;
  }
}

}  // namespace
}  // namespace tacet::crypto
