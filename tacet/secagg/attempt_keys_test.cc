#include "tacet/secagg/attempt_keys.h"

#include <set>

#include "gtest/gtest.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/random.h"

namespace tacet::secagg {
namespace {

crypto::SecretBytes EpochKey() { return crypto::InsecureSeededEntropy(1, "epoch").Draw(32); }

std::string Hex(const crypto::SecretBytes& key) { return base::ToHex(key.Expose()); }

TEST(AttemptKeysTest, EveryKeyOfEveryAttemptDiffers) {
  std::set<std::string> seen;
  size_t made = 0;
  const auto add = [&](const Attempt& attempt, he::Scheme scheme) {
    const AttemptKeys keys = DeriveAttemptKeys(EpochKey(), scheme, attempt);
    const crypto::SecretBytes checkpoint = DeriveCheckpointKey(EpochKey(), scheme, attempt);
    const crypto::SecretBytes digest = DeriveDigestKey(EpochKey(), scheme, attempt);
    for (const auto* key :
         {&keys.group_secret, &keys.tag_key, &keys.result_key, &checkpoint, &digest}) {
      EXPECT_EQ(key->size(), 32u);
      seen.insert(Hex(*key));
      ++made;
    }
  };
  Attempt attempt;
  add(attempt, he::Scheme::kCompact);
  add(attempt, he::Scheme::kPaperPublicKey);
  attempt.number.attempt = 1;
  add(attempt, he::Scheme::kCompact);
  attempt.number.round = 1;
  add(attempt, he::Scheme::kCompact);
  attempt.number.epoch = 1;
  add(attempt, he::Scheme::kCompact);
  attempt.manifest_hash[31] = 1;
  add(attempt, he::Scheme::kCompact);
  EXPECT_EQ(seen.size(), made);
}

TEST(AttemptKeysTest, PublicSeedIsTheSameForAllAttemptsOfARound) {
  Attempt first, second;
  second.number.attempt = 1;
  second.model_digest.fill(9);
  EXPECT_EQ(PublicSeed(first), PublicSeed(second));
  second.number.round = 1;
  EXPECT_NE(PublicSeed(first), PublicSeed(second));
}

}  // namespace
}  // namespace tacet::secagg
