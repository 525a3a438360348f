#include "tacet/crypto/hybrid_box.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/json.h"
#include "tacet/base/status_for_test.h"
#include "tacet/crypto/bad_keys_for_test.h"
#include "tacet/crypto/half_broken_box_for_test.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/key_exchange.h"

namespace tacet::crypto {
namespace {

using ::testing::HasSubstr;

class HybridBoxTest : public ::testing::Test {
 protected:
  base::Bytes Seal(std::string_view message = "a key") {
    return base::ValueOf(HybridSeal(sealing_.public_key(), kem_.public_key(),
                                    base::AsBytes(message), base::AsBytes("context"), entropy_));
  }
  absl::StatusOr<SecretBytes> Open(std::span<const uint8_t> box) {
    return HybridOpen(box, sealing_, kem_, base::AsBytes("context"));
  }

  InsecureSeededEntropy entropy_{1, "hybrid box"};
  SealingKey sealing_ = SealingKey::Generate(entropy_);
  KemKey kem_ = KemKey::Generate(entropy_);
};

TEST_F(HybridBoxTest, OnlyTheReaderOfBothKeysOpensIt) {
  const base::Bytes box = Seal();
  EXPECT_EQ(box.size(), 5 + kHybridBoxOverheadBytes);
  EXPECT_EQ(base::AsText(Open(box)->Expose()), "a key");
  const SealingKey other_sealing = SealingKey::Generate(entropy_);
  const KemKey other_kem = KemKey::Generate(entropy_);
  for (const absl::Status& refused :
       {HybridOpen(box, other_sealing, kem_, base::AsBytes("context")).status(),
        HybridOpen(box, sealing_, other_kem, base::AsBytes("context")).status(),
        HybridOpen(box, sealing_, kem_, base::AsBytes("contexts")).status()}) {
    EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(base::Message(refused), HasSubstr("made for other keys or for another context"));
  }
}

TEST_F(HybridBoxTest, EveryChangedByteIsNoticed) {
  const base::Bytes box = Seal();
  for (size_t i = 0; i < box.size(); i += i < 1080 ? 9 : 1) {
    base::Bytes altered = box;
    altered[i] ^= 1;
    EXPECT_EQ(Open(altered).status().code(), absl::StatusCode::kDataLoss) << i;
    EXPECT_FALSE(Open(std::span(box).first(i)).ok()) << i;
  }
  EXPECT_THAT(base::Message(Open(std::span(box).first(1135)).status()),
              HasSubstr("1135 bytes, at least 1136 are needed"));
  EXPECT_TRUE(Open(Seal(""))->empty());
}

// The other spelling of a sender's key gives the same point: the transcript has its bytes.
TEST_F(HybridBoxTest, RefusesAnotherSpellingOfTheSendersKey) {
  base::Bytes box = Seal();
  box[sizeof(KemCiphertext) + 31] ^= 0x80;
  EXPECT_FALSE(Open(box).ok());
}

TEST_F(HybridBoxTest, RefusesKeysThatNoSecretBelongsTo) {
  EXPECT_THAT(base::Message(HybridSeal({}, kem_.public_key(), {}, {}, entropy_).status()),
              HasSubstr("is not a sealing key"));
  KemPublicKey kem = kem_.public_key();
  kem[0] = 0xff;
  kem[1] = 0xff;
  EXPECT_THAT(base::Message(HybridSeal(sealing_.public_key(), kem, {}, {}, entropy_).status()),
              HasSubstr("not an ML-KEM-768 key"));
  for (const ExchangePublicKey& bad : BadExchangeKeys()) {
    base::Bytes box = Seal();
    std::ranges::copy(bad, box.begin() + sizeof(KemCiphertext));
    EXPECT_FALSE(Open(box).ok());
  }
}

TEST_F(HybridBoxTest, TwoBoxesOfOneMessageDiffer) { EXPECT_NE(Seal(), Seal()); }

// X25519 is broken, so a thief computes what both ends agreed; or ML-KEM is. Neither is enough.
TEST_F(HybridBoxTest, NeitherSharedSecretOpensABoxAlone) {
  const base::Bytes box = Seal();
  const base::Bytes context(base::AsBytes("context").begin(), base::AsBytes("context").end());
  const HalfBrokenBox recorded{.box = box,
                               .sealing_key = sealing_.public_key(),
                               .kem_key = kem_.public_key(),
                               .context = context};
  ASSERT_OK_AND_ASSIGN(const SecretBytes agreed, sealing_.Agree(recorded.sender()));
  const SecretBytes shared = kem_.Decapsulate(recorded.ciphertext());
  EXPECT_TRUE(recorded.OpenWith(agreed.Expose(), shared.Expose()).has_value());
  // A stranger's secrets, as an owner of another key computes them.
  const SecretBytes other_agreed =
      base::ValueOf(SealingKey::Generate(entropy_).Agree(recorded.sender()));
  const SecretBytes other_shared = KemKey::Generate(entropy_).Decapsulate(recorded.ciphertext());
  const base::Bytes zeros(32), none;
  for (const std::span<const uint8_t> guess :
       {other_shared.Expose(), other_agreed.Expose(), std::span<const uint8_t>(zeros),
        std::span<const uint8_t>(none)}) {
    EXPECT_FALSE(recorded.OpenWith(agreed.Expose(), guess).has_value());
    EXPECT_FALSE(recorded.OpenWith(guess, shared.Expose()).has_value());
  }
}

// tests/vectors/hybrid_box.json, for other implementations. With the environment variable
// TACET_WRITE_VECTORS=FOLDER it is written there instead.
TEST_F(HybridBoxTest, VectorsAreComputedAgain) {
  Digest manifest_hash;
  for (size_t i = 0; i < manifest_hash.size(); ++i) manifest_hash[i] = static_cast<uint8_t>(i);
  base::ByteWriter context;
  context.Raw("tacet/1/encrypted epoch key");
  context.Raw(manifest_hash);
  context.U32(3);
  context.U64(5);
  const SecretBytes message = entropy_.Draw(32);
  ASSERT_OK_AND_ASSIGN(const base::Bytes box,
                       HybridSeal(sealing_.public_key(), kem_.public_key(), message.Expose(),
                                  context.bytes(), entropy_));
  base::JsonValue vector;
  vector.Set("about",
             "The epoch key of epoch 3 for member 5 in a hybrid box (docs/formats/enrolment.md).");
  const auto set = [&vector](std::string_view name, std::span<const uint8_t> bytes) {
    vector.Set(name, base::ToHex(bytes));
  };
  set("encryption_seed", sealing_.seed().Expose());
  set("encryption_key", sealing_.public_key());
  set("kem_seed", kem_.seed().Expose());
  set("kem_key", kem_.public_key());
  set("manifest_hash", manifest_hash);
  set("message", message.Expose());
  set("box", box);
  const std::string text = vector.Dump(1) + "\n";
  if (const char* const folder = std::getenv("TACET_WRITE_VECTORS"); folder != nullptr) {
    std::ofstream(std::string(folder) + "/hybrid_box.json") << text;
    return;
  }
  std::ifstream file(TACET_SOURCE_DIR "/tests/vectors/hybrid_box.json");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), text);
}

}  // namespace
}  // namespace tacet::crypto
