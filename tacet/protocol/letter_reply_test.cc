#include "tacet/protocol/letter_reply.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/status.h"
#include "tacet/base/status_for_test.h"
#include "tacet/crypto/random.h"

namespace tacet::protocol {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

class LetterReplyTest : public ::testing::Test {
 protected:
  crypto::SystemEntropy entropy_;
  crypto::SigningKey site_ = crypto::SigningKey::Generate(entropy_);
  LetterReply asks_{.federation = {1},
                    .epoch = 2,
                    .manifest_hash = {3},
                    .certificate = {4},
                    .fields = {"privacy.epsilon_per_year", "query.floor"}};
};

TEST_F(LetterReplyTest, IsReadAsItWasSigned) {
  LetterReply joined = asks_;
  joined.joined = true;
  joined.fields.clear();
  for (const LetterReply& reply : {asks_, joined}) {
    const base::Bytes bytes = WriteLetterReply(reply, site_);
    ASSERT_OK_AND_ASSIGN(const LetterReply read, ReadLetterReply(bytes, site_.public_key()));
    EXPECT_EQ(read, reply);
    for (size_t i = 0; i < bytes.size(); ++i) {
      EXPECT_FALSE(ReadLetterReply(std::span(bytes).first(i), site_.public_key()).ok()) << i;
      base::Bytes flipped = bytes;
      flipped[i] ^= 1;
      EXPECT_FALSE(ReadLetterReply(flipped, site_.public_key()).ok()) << i;
    }
    const auto other = ReadLetterReply(bytes, crypto::SigningKey::Generate(entropy_).public_key());
    EXPECT_EQ(other.status().code(), absl::StatusCode::kPermissionDenied);
  }
}

// A reply holds no words of a policy or a table, whatever the objection was.
TEST_F(LetterReplyTest, HasNamesOfKeysAlone) {
  asks_.fields = {"data.columns", "the column \"HIV status\"", std::string(65, 'a'), ""};
  ASSERT_OK_AND_ASSIGN(const LetterReply read,
                       ReadLetterReply(WriteLetterReply(asks_, site_), site_.public_key()));
  EXPECT_THAT(read.fields, ElementsAre("data.columns", "other", "other", "other"));
  asks_.fields.assign(100, std::string(kMaxReplyFieldBytes, 'a'));
  const base::Bytes large = WriteLetterReply(asks_, site_);
  EXPECT_LE(large.size(), kMaxReplyBytes);
  ASSERT_OK_AND_ASSIGN(const LetterReply cut, ReadLetterReply(large, site_.public_key()));
  EXPECT_THAT(cut.fields, SizeIs(kMaxReplyFields));
}

TEST_F(LetterReplyTest, WhatASiteCannotMeanIsRefused) {
  asks_.joined = true;
  EXPECT_EQ(ReadLetterReply(WriteLetterReply(asks_, site_), site_.public_key()).status().code(),
            absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace tacet::protocol
