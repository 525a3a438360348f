#include "tacet/keys.h"

#include <algorithm>
#include <array>

#include "gtest/gtest.h"

#include "tacet/answer_journal.h"
#include "tacet/api/round_for_test.h"
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
            "the secret of a member's key has 63 bytes, expected 64");
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

TEST(TypesTest, AModelsDigestIsThatOfItsLittleEndianFloats) {
  // Computed by sha256sum from the bytes 00 00 80 3f 00 00 00 c0.
  EXPECT_EQ(base::ToHex(ModelDigest(std::vector<float>{1, -2})),
            "ee4ac73c2bd27756ab82780f27c73a7bc4d3f0bb6acb37e008bc27eccd7e588b");
}

TEST(VersionTest, HasThreeNumbers) {
  EXPECT_EQ(std::count(Version().begin(), Version().end(), '.'), 2);
}

}  // namespace
}  // namespace tacet::api
