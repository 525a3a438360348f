#include "tacet/secagg/digest_key.h"

#include <vector>

#include "gtest/gtest.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/random.h"

namespace tacet::secagg {
namespace {

DigestKey Zeros() { return DigestKey(crypto::SecretBytes(DigestKey::kBytes)); }

// Computed by Python's hmac and hashlib from docs/formats/messages.md.
TEST(DigestKeyTest, DigestsAreTheDocumentedOnes) {
  const std::vector<float> model = {1, -2}, velocity = {0.5F, 0};
  const crypto::Digest digest = Zeros().OfModel(model);
  EXPECT_EQ(base::ToHex(digest),
            "4c69fd50bfadccb51d4852cc2f090d43af53e7219096408f6ca4b50f5e0e76e5");
  EXPECT_EQ(base::ToHex(Zeros().OfState(digest, velocity)),
            "9deee55b4482c05d567d0b436ff1f0eb254ac26fa896bd836f080dd752c35b37");
  EXPECT_EQ(base::ToHex(Zeros().OfState(digest, {})),
            "8b400e8557f0879d430177cbe74b28b2c4625710c29aa73a2c91ba6d2d7cb5fd");
  const DigestKey epoch =
      DigestKey::OfEpoch(crypto::SecretBytes(32), he::Scheme::kCompact, crypto::Digest{1, 2}, 7);
  EXPECT_EQ(base::ToHex(epoch.secret().Expose()),
            "a10eea1219bac2883694a3aaed5e7a8721caf69fcfe3bbf38ae9844359c3cd23");
}

TEST(DigestKeyTest, EachEpochAndManifestHasItsOwn) {
  const crypto::SecretBytes key = crypto::InsecureSeededEntropy(1, "epoch").Draw(32);
  const std::vector<float> model = {1, -2};
  const auto digest = [&](const crypto::Digest& manifest, uint32_t epoch) {
    return DigestKey::OfEpoch(key, he::Scheme::kCompact, manifest, epoch).OfModel(model);
  };
  EXPECT_EQ(digest({1}, 0), digest({1}, 0));
  EXPECT_NE(digest({1}, 0), digest({2}, 0));
  EXPECT_NE(digest({1}, 0), digest({1}, 1));
}

TEST(DigestKeyDeathTest, RefusesAKeyOfAnotherLength) {
  EXPECT_DEATH(DigestKey(crypto::SecretBytes(31)), "a digest key has 31 bytes, expected 32");
}

}  // namespace
}  // namespace tacet::secagg
