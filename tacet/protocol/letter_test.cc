#include "tacet/protocol/letter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/status.h"
#include "tacet/base/status_for_test.h"
#include "tacet/crypto/random.h"
#include "tacet/protocol/mail_request.h"

namespace tacet::protocol {
namespace {

using ::testing::HasSubstr;

class LetterTest : public ::testing::Test {
 protected:
  Letter SomeLetter() const {
    return {.federation = {1},
            .site = {2},
            .epoch = 3,
            .manifest_hash = {4},
            .expires = 5,
            .certificate = base::Bytes(6, 7),
            .epoch_key = base::Bytes(8, 9),
            .enclosure_bytes = enclosure_.size(),
            .enclosure = crypto::Sha256(enclosure_)};
  }

  crypto::SystemEntropy entropy_;
  crypto::SigningKey coordinator_ = crypto::SigningKey::Generate(entropy_);
  crypto::SecretBytes epoch_key_ = entropy_.Draw(32);
  agreement::Invitation invitation_{.manifest = base::Bytes(100, 1),
                                    .earlier = {base::Bytes(20, 2), base::Bytes(30, 3)},
                                    .certificate = base::Bytes(6, 7),
                                    .epoch_key = base::Bytes(8, 9),
                                    .initial_model = base::Bytes(400, 4)};
  base::Bytes enclosure_ = SealEnclosure(invitation_, {4}, epoch_key_);
};

TEST_F(LetterTest, IsReadAsItWasSigned) {
  const base::Bytes bytes = WriteLetter(SomeLetter(), coordinator_);
  ASSERT_OK_AND_ASSIGN(const Letter read, ReadLetter(bytes, coordinator_.public_key()));
  EXPECT_EQ(read, SomeLetter());
  for (size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_FALSE(ReadLetter(std::span(bytes).first(i), coordinator_.public_key()).ok()) << i;
    base::Bytes flipped = bytes;
    flipped[i] ^= 1;
    EXPECT_FALSE(ReadLetter(flipped, coordinator_.public_key()).ok()) << i;
  }
  const auto other = ReadLetter(bytes, crypto::SigningKey::Generate(entropy_).public_key());
  EXPECT_EQ(other.status().code(), absl::StatusCode::kPermissionDenied);
  Letter large = SomeLetter();
  large.enclosure_bytes = kMaxEnclosureBytes + 1;
  EXPECT_EQ(ReadLetter(WriteLetter(large, coordinator_), coordinator_.public_key()).status().code(),
            absl::StatusCode::kDataLoss);
}

TEST_F(LetterTest, WithItsEnclosureIsTheInvitation) {
  ASSERT_OK_AND_ASSIGN(const agreement::Invitation opened,
                       OpenEnclosure(enclosure_, SomeLetter(), epoch_key_));
  EXPECT_EQ(agreement::WriteInvitation(opened), agreement::WriteInvitation(invitation_));
  EXPECT_EQ(SealEnclosure(invitation_, {4}, epoch_key_), enclosure_);
  // Nobody's own parts are inside, so all sites have the same one.
  agreement::Invitation other = invitation_;
  other.certificate = base::Bytes(5, 5);
  other.epoch_key = base::Bytes(5, 6);
  EXPECT_EQ(SealEnclosure(other, {4}, epoch_key_), enclosure_);
}

TEST_F(LetterTest, AnEnclosureOpensUnderItsLetterAndKeyAlone) {
  base::Bytes altered = enclosure_;
  altered[50] ^= 1;
  const auto named = OpenEnclosure(altered, SomeLetter(), epoch_key_);
  EXPECT_EQ(named.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(base::Message(named.status()), HasSubstr("named in the letter of epoch 3"));
  // A letter that names the altered bytes.
  Letter letter = SomeLetter();
  letter.enclosure = crypto::Sha256(altered);
  EXPECT_FALSE(OpenEnclosure(altered, letter, epoch_key_).ok());
  EXPECT_FALSE(OpenEnclosure(enclosure_, SomeLetter(), entropy_.Draw(32)).ok());
  letter = SomeLetter();
  letter.manifest_hash = {5};
  EXPECT_FALSE(OpenEnclosure(enclosure_, letter, epoch_key_).ok());
}

class MailRequestTest : public ::testing::Test {
 protected:
  MailName Site(MailKind kind) const { return {.kind = kind, .site = key_.public_key()}; }
  base::Bytes Head(const MailBody& body, std::span<const uint8_t> content = {}) const {
    return WriteMailHead({.sender = {}, .time = 77, .body = body}, content, {1}, key_);
  }

  crypto::SystemEntropy entropy_;
  crypto::SigningKey key_ = crypto::SigningKey::Generate(entropy_);
};

TEST_F(MailRequestTest, EveryKindIsReadAsItWasWritten) {
  const base::Bytes content(60, 2);
  const MailBody bodies[] = {
      PutMail{.name = Site(MailKind::kPrekey), .total = 60, .digest = {3}, .offset = 0},
      PutMail{.name = Site(MailKind::kReply), .total = 60, .digest = {3}, .offset = 0},
      FetchMail{.name = {.kind = MailKind::kEnclosure}, .offset = 4},
      FetchMail{.name = {.kind = MailKind::kServer}, .offset = 0},
      DropMail{.name = Site(MailKind::kLetter), .digest = {5}}};
  for (const MailBody& body : bodies) {
    const bool is_put = std::holds_alternative<PutMail>(body);
    const base::Bytes head = Head(body, content);
    EXPECT_TRUE(IsMailRequest(head));
    EXPECT_LE(head.size(), kMaxMailHeadBytes);
    base::Bytes whole = head;
    if (is_put) whole.insert(whole.end(), content.begin(), content.end());
    ASSERT_OK_AND_ASSIGN(const MailHead read, ReadMailHead(whole, {1}));
    EXPECT_EQ(read.head_bytes, head.size());
    EXPECT_EQ(read.content_bytes, is_put ? content.size() : 0);
    EXPECT_EQ(read.request.sender, key_.public_key());
    EXPECT_EQ(read.request.time, 77u);
    EXPECT_EQ(Head(read.request.body, content), head);
    for (size_t i = 0; i < head.size(); ++i) {
      EXPECT_FALSE(ReadMailHead(std::span(head).first(i), {1}).ok()) << i;
      base::Bytes flipped = head;
      flipped[i] ^= 1;
      EXPECT_FALSE(ReadMailHead(flipped, {1}).ok()) << i;
    }
  }
}

TEST_F(MailRequestTest, NamesAndSizesThatCannotBeAreRefused) {
  const auto code = [this](const MailBody& body, size_t content = 0) {
    return ReadMailHead(Head(body, base::Bytes(content)), {1}).status().code();
  };
  using enum absl::StatusCode;
  EXPECT_EQ(code(FetchMail{.name = {.kind = MailKind::kLetter}}), kDataLoss);
  EXPECT_EQ(code(FetchMail{.name = Site(MailKind::kEnclosure)}), kDataLoss);
  EXPECT_EQ(code(FetchMail{.name = Site(MailKind::kServer)}), kDataLoss);
  EXPECT_EQ(code(FetchMail{.name = {.kind = MailKind::kReply}}), kDataLoss);
  EXPECT_EQ(code(FetchMail{.name = Site(MailKind{6})}), kDataLoss);
  EXPECT_EQ(code(FetchMail{.name = Site(MailKind{0})}), kDataLoss);
  const MailName prekey = Site(MailKind::kPrekey);
  EXPECT_EQ(code(PutMail{.name = prekey, .total = 10}, 10), kOk);
  EXPECT_EQ(code(PutMail{.name = prekey, .total = 0}), kDataLoss);
  EXPECT_EQ(code(PutMail{.name = prekey, .total = 4097}, 10), kDataLoss);
  EXPECT_EQ(code(PutMail{.name = prekey, .total = 10}, 11), kDataLoss);
  EXPECT_EQ(code(PutMail{.name = prekey, .total = 10, .offset = 11}), kDataLoss);
  EXPECT_EQ(code(PutMail{.name = prekey, .total = 10, .offset = ~uint64_t{0}}, 1), kDataLoss);
  EXPECT_EQ(ReadMailHead(Head(FetchMail{.name = prekey}), {2}).status().code(),
            kFailedPrecondition);
}

}  // namespace
}  // namespace tacet::protocol
