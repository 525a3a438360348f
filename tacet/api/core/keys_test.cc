#include "tacet/keys.h"

#include <algorithm>
#include <array>

#include "gtest/gtest.h"

#include "tacet/answer_journal.h"
#include "tacet/api/core/round_for_test.h"
#include "tacet/base/bytes.h"
#include "tacet/types.h"
#include "tacet/version.h"

namespace tacet::api {
namespace {

TEST(KeysTest, AMemberKeyIsItsSecret) {
  const MemberKey key = MemberKey::Generate();
  std::array<uint8_t, MemberKey::kSecretBytes> secret;
  key.ExposeTo(secret);
  EXPECT_EQ(ValueOf(MemberKey::FromSecret(secret)).public_key(), key.public_key());
  EXPECT_NE(MemberKey::Generate().public_key(), key.public_key());
}

TEST(KeysTest, AnEpochKeyIsItsSecret) {
  std::array<uint8_t, EpochKey::kSecretBytes> secret;
  std::array<uint8_t, EpochKey::kSecretBytes> again;
  EpochKey::Generate().ExposeTo(secret);
  ValueOf(EpochKey::FromSecret(secret)).ExposeTo(again);
  EXPECT_EQ(again, secret);
  EpochKey::Generate().ExposeTo(again);
  EXPECT_NE(again, secret);
}

TEST(KeysTest, OtherLengthsAreRefused) {
  const Bytes bytes(63);
  EXPECT_EQ(MemberKey::FromSecret(bytes).status().message(),
            "the secret of a member's key has 63 bytes, expected 128");
  EXPECT_EQ(EpochKey::FromSecret(bytes).status().message(),
            "the epoch key has 63 bytes, expected 32");
}

TEST(MemoryJournalTest, CopiesShareTheirContent) {
  const AnswerJournal journal = MemoryJournal();
  const AnswerJournal copy = journal;
  EXPECT_EQ(ValueOf(copy.find("a")), std::nullopt);
  ASSERT_TRUE(journal.record("a", Bytes{1, 2}).ok());
  EXPECT_EQ(ValueOf(copy.find("a")), (Bytes{1, 2}));
  EXPECT_EQ(ValueOf(MemoryJournal().find("a")), std::nullopt);
}

TEST(EpochKeyTest, NamesAnInitialModelUnderItself) {
  const std::vector<float> model = {1, -2};
  const EpochKey key = EpochKey::Generate();
  EXPECT_EQ(key.InitialModelDigest(model), EpochKey(key).InitialModelDigest(model));
  EXPECT_NE(key.InitialModelDigest(model), key.InitialModelDigest(std::vector<float>{1, 2}));
  EXPECT_NE(key.InitialModelDigest(model), EpochKey::Generate().InitialModelDigest(model));
  const std::vector<uint8_t> zeros(EpochKey::kSecretBytes);
  // Computed by Python's hmac and hashlib from docs/formats/messages.md.
  EXPECT_EQ(base::ToHex(ValueOf(EpochKey::FromSecret(zeros)).InitialModelDigest(model)),
            "d4179eab93e9597f75090f3a8ce9108b6e4e52ead54e7f34391e70973abc41ab");
}

TEST(VersionTest, HasThreeNumbers) {
  EXPECT_EQ(std::count(Version().begin(), Version().end(), '.'), 2);
}

}  // namespace
}  // namespace tacet::api
