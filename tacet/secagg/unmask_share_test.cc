#include "tacet/secagg/unmask_share.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/secagg/small_round_for_test.h"

namespace tacet::secagg {
namespace {

using ::testing::HasSubstr;
using namespace testing;  // NOLINT: tacet::secagg::testing

class UnmaskShareTest : public ::testing::Test {
 protected:
  SmallRound round_{SmallTerms(50, 4)};
  crypto::SecretBytes result_key_ = round_.KeysOf(round_.attempt()).result_key;
  std::vector<uint16_t> words_ =
      std::vector<uint16_t>(round_.params().sharing().mask_words(), 65520);

  base::Bytes Write(const std::vector<uint16_t>& words, uint32_t seat, uint64_t signer) {
    return WriteUnmaskShare(words, round_.attempt(), {9}, seat, result_key_,
                            round_.signing_key(signer), round_.entropy());
  }
  absl::StatusOr<UnmaskShare> Read(const base::Bytes& bytes) {
    return ReadUnmaskShare(bytes, round_.attempt(), round_.params().sharing(), round_.committee(),
                           result_key_);
  }
};

TEST_F(UnmaskShareTest, ReadsWhatWasWritten) {
  words_[3] = 5;
  const base::Bytes bytes = Write(words_, 2, 2);
  EXPECT_EQ(bytes.size(), UnmaskShareBytes(round_.params().sharing()));
  const UnmaskShare share = ValueOf(Read(bytes));
  EXPECT_EQ(share.seat, 2u);
  EXPECT_EQ(share.round_hash, crypto::Digest{9});
  EXPECT_TRUE(std::ranges::equal(share.mask_sums.Expose(), words_));
}

TEST_F(UnmaskShareTest, EveryChangedOrMissingByteIsNoticed) {
  const base::Bytes bytes = Write(words_, 2, 2);
  for (size_t i = 0; i < bytes.size(); i += 17) {
    base::Bytes altered = bytes;
    altered[i] ^= 1;
    EXPECT_FALSE(Read(altered).ok()) << i;
    EXPECT_FALSE(Read(base::Bytes(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(i))).ok());
  }
}

TEST_F(UnmaskShareTest, OthersCannotSpeakForASeat) {
  EXPECT_THAT(base::Message(Read(Write(words_, 2, 3)).status()),
              HasSubstr("not signed by the committee member that it names"));
  EXPECT_THAT(base::Message(Read(Write(words_, 5, 3)).status()),
              HasSubstr("not signed by the committee member that it names"));
}

TEST_F(UnmaskShareTest, WordsMustBeCanonicalAndAsManyAsAgreed) {
  words_[1] = 65521;
  EXPECT_THAT(base::Message(Read(Write(words_, 2, 2)).status()), HasSubstr("not below 65521"));
  words_[1] = 0;
  words_.pop_back();
  EXPECT_FALSE(Read(Write(words_, 2, 2)).ok());
}

TEST_F(UnmaskShareTest, OnlyMembersReadIt) {
  const base::Bytes bytes = Write(words_, 2, 2);
  EXPECT_FALSE(ReadUnmaskShare(bytes, round_.attempt(), round_.params().sharing(),
                               round_.committee(), crypto::SecretBytes(32))
                   .ok());
}

}  // namespace
}  // namespace tacet::secagg
