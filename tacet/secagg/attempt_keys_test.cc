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
    for (const auto* key : {&keys.group_secret, &keys.tag_key, &keys.result_key, &checkpoint}) {
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

TEST(AttemptKeysTest, OpenersAreDistinctAndChangeWithTheAttempt) {
  Attempt attempt;
  std::set<std::vector<uint64_t>> choices;
  for (uint32_t a = 0; a < 20; ++a) {
    attempt.number.attempt = a;
    const auto openers = ChooseOpeners(EpochKey(), he::Scheme::kCompact, attempt, 1000, 3);
    ASSERT_EQ(openers.size(), 3u);
    EXPECT_EQ(std::set<uint64_t>(openers.begin(), openers.end()).size(), 3u);
    for (const uint64_t opener : openers) EXPECT_LT(opener, 1000u);
    EXPECT_EQ(openers, ChooseOpeners(EpochKey(), he::Scheme::kCompact, attempt, 1000, 3));
    choices.insert(openers);
  }
  EXPECT_EQ(choices.size(), 20u);  // a repetition has probability 2e-7
  EXPECT_EQ(ChooseOpeners(EpochKey(), he::Scheme::kCompact, attempt, 2, 3).size(), 2u);
}

// False alarm 1e-9 (Bonferroni over 10 members, 6.3 standard deviations); a member chosen 20 % too
// often would be noticed with probability above 0.99.
TEST(AttemptKeysTest, EveryMemberOpensEquallyOften) {
  constexpr int kTries = 10000, kMembers = 10, kOpeners = 3;
  std::vector<int> chosen(kMembers);
  Attempt attempt;
  for (uint32_t a = 0; a < kTries; ++a) {
    attempt.number.round = a;
    for (const uint64_t opener :
         ChooseOpeners(EpochKey(), he::Scheme::kCompact, attempt, kMembers, kOpeners)) {
      ++chosen[opener];
    }
  }
  const double expected = kTries * 0.3;
  for (const int count : chosen) EXPECT_NEAR(count, expected, 6.5 * std::sqrt(expected * 0.7));
}

TEST(AttemptKeysTest, MajorityIsMoreThanHalf) {
  EXPECT_EQ(Majority(1), 1u);
  EXPECT_EQ(Majority(2), 2u);
  EXPECT_EQ(Majority(3), 2u);
  EXPECT_EQ(Majority(5), 3u);
}

}  // namespace
}  // namespace tacet::secagg
