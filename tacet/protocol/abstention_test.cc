#include "tacet/protocol/abstention.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/protocol/small_federation_for_test.h"

namespace tacet::protocol {
namespace {

using ::testing::HasSubstr;
using testing::SmallFederation;
using testing::ValueOf;

class AbstentionTest : public ::testing::Test {
 protected:
  Abstention Of(uint64_t member) const {
    return {.member = member,
            .attempt = {.manifest_hash = members_.manifest().manifest().hash(),
                        .number = {.epoch = 0, .round = 2, .attempt = 1},
                        .model_digest = {3}},
            .reason = AbstentionReason::kPolicy};
  }
  absl::Status WhyNot(const base::Bytes& bytes) const {
    return ReadAbstention(bytes, members_.manifest()).status();
  }

  SmallFederation members_;
};

TEST_F(AbstentionTest, IsReadAsItWasWritten) {
  const base::Bytes bytes = WriteAbstention(Of(4), members_.site(4).signing);
  EXPECT_EQ(bytes.size(), 155u);
  EXPECT_EQ(ValueOf(ReadAbstention(bytes, members_.manifest())), Of(4));
  EXPECT_EQ(ReasonOfAbstention(bytes), AbstentionReason::kPolicy);
  EXPECT_EQ(ValueOf(ManifestOfAbstention(bytes)), members_.manifest().manifest().hash());
  for (size_t cut = 0; cut < bytes.size(); ++cut) {
    EXPECT_FALSE(ReadAbstention(std::span(bytes).first(cut), members_.manifest()).ok());
  }
  for (size_t i = 0; i < bytes.size(); ++i) {
    base::Bytes altered = bytes;
    altered[i] ^= 1;
    EXPECT_FALSE(ReadAbstention(altered, members_.manifest()).ok()) << i;
  }
}

// docs/formats/network.md, with a signing key of 32 bytes 1.
TEST_F(AbstentionTest, HasTheBytesOfItsFormat) {
  crypto::SecretBytes seed(crypto::SigningKey::kSeedBytes);
  std::ranges::fill(seed.Expose(), uint8_t{1});
  secagg::Attempt attempt{.number = {.epoch = 2, .round = 3, .attempt = 4}};
  attempt.manifest_hash.fill(5);
  attempt.model_digest.fill(6);
  const base::Bytes bytes =
      WriteAbstention({.member = 7, .attempt = attempt, .reason = AbstentionReason::kBudget},
                      ValueOf(crypto::SigningKey::FromSeed(seed)));
  EXPECT_EQ(base::ToHex(std::span(bytes).first(91)),
            "544354380100"
            "0505050505050505050505050505050505050505050505050505050505050505"
            "020000000300000004000000"
            "0606060606060606060606060606060606060606060606060606060606060606"
            "070000000000000001");
  EXPECT_EQ(base::ToHex(std::span(bytes).subspan(91)),
            "ab234fea46aba55cb808d998a945033181dcda7191fbb102265a7336782cec96"
            "7227b9b24fc7f4fa6ca03f62dc7d0133c980713087ad793bfc57e2a7ff73440d");
}

TEST_F(AbstentionTest, OfOthersIsRefused) {
  const absl::Status forged = WhyNot(WriteAbstention(Of(4), members_.site(3).signing));
  EXPECT_EQ(forged.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(base::Message(forged), HasSubstr("member 4 did not sign it"));
  const absl::Status nobody = WhyNot(WriteAbstention(Of(5), members_.site(4).signing));
  EXPECT_EQ(nobody.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(base::Message(nobody), HasSubstr("there is no member 5"));
  Abstention other = Of(4);
  other.attempt.manifest_hash[0] ^= 1;
  EXPECT_EQ(WhyNot(WriteAbstention(other, members_.site(4).signing)).code(),
            absl::StatusCode::kFailedPrecondition);
  other = Of(4);
  for (const int reason : {0, 3}) {
    other.reason = static_cast<AbstentionReason>(reason);
    EXPECT_EQ(WhyNot(WriteAbstention(other, members_.site(4).signing)).code(),
              absl::StatusCode::kDataLoss);
  }
}

TEST_F(AbstentionTest, MembersAbstainWhereNoCoinShows) {
  agreement::ManifestSpec spec = testing::SmallAgreement();
  EXPECT_FALSE(MembersAbstain(spec));  // the server draws three of five
  spec.sampling.clients = 5;
  spec.sampling.cohort = 5;
  EXPECT_TRUE(MembersAbstain(spec));
  spec.sampling.max_participations = 2;
  EXPECT_FALSE(MembersAbstain(spec));
}

}  // namespace
}  // namespace tacet::protocol
