#include "tacet/protocol/objection.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/protocol/small_federation_for_test.h"

namespace tacet::protocol {
namespace {

using ::testing::HasSubstr;
using testing::SmallFederation;
using testing::ValueOf;

class ObjectionTest : public ::testing::Test {
 protected:
  static Objection Of(uint64_t member) {
    return {.member = member,
            .revision = 77,
            .attempt = {.epoch = 0, .round = 2, .attempt = 1},
            .reason = ObjectionReason::kFork};
  }
  base::Bytes Written(const Objection& objection, uint64_t signer) const {
    return WriteObjection(objection, members_.manifest(), members_.site(signer).signing);
  }
  absl::Status WhyNot(const base::Bytes& bytes) const {
    return ReadObjection(bytes, members_.manifest()).status();
  }

  SmallFederation members_;
};

TEST_F(ObjectionTest, IsReadAsItWasWritten) {
  const base::Bytes bytes = Written(Of(4), 4);
  EXPECT_EQ(bytes.size(), 131u);
  EXPECT_EQ(ValueOf(ReadObjection(bytes, members_.manifest())), Of(4));
  for (size_t cut = 0; cut < bytes.size(); ++cut) {
    EXPECT_FALSE(ReadObjection(std::span(bytes).first(cut), members_.manifest()).ok());
  }
  for (size_t i = 0; i < bytes.size(); ++i) {
    base::Bytes altered = bytes;
    altered[i] ^= 1;
    EXPECT_FALSE(ReadObjection(altered, members_.manifest()).ok()) << i;
  }
}

// docs/formats/network.md; the manifest's hash and the signature are new in every process.
TEST_F(ObjectionTest, HasTheBytesOfItsFormat) {
  const base::Bytes bytes =
      Written({.member = 7, .revision = 8, .attempt = {.epoch = 2, .round = 3, .attempt = 4}}, 0);
  EXPECT_EQ(base::ToHex(std::span(bytes).first(6)), "544354340100");
  EXPECT_EQ(base::ToHex(std::span(bytes).subspan(6, 32)),
            base::ToHex(members_.manifest().manifest().hash()));
  EXPECT_EQ(base::ToHex(std::span(bytes).subspan(38, 29)),
            "020000000300000004000000"
            "0700000000000000"
            "0800000000000000"
            "01");
}

TEST_F(ObjectionTest, OfOthersIsRefused) {
  const absl::Status forged = WhyNot(Written(Of(4), 3));
  EXPECT_EQ(forged.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(base::Message(forged), HasSubstr("member 4 did not sign it"));
  const absl::Status nobody = WhyNot(Written(Of(5), 4));
  EXPECT_EQ(nobody.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(base::Message(nobody), HasSubstr("there is no member 5"));
  Objection other = Of(4);
  other.attempt.epoch = 1;
  EXPECT_EQ(WhyNot(Written(other, 4)).code(), absl::StatusCode::kFailedPrecondition);
  for (const int reason : {0, 5}) {
    other = Of(4);
    other.reason = static_cast<ObjectionReason>(reason);
    EXPECT_EQ(WhyNot(Written(other, 4)).code(), absl::StatusCode::kDataLoss);
  }
}

TEST_F(ObjectionTest, ReasonsHaveNames) {
  for (const ObjectionReason reason :
       {ObjectionReason::kRollback, ObjectionReason::kFork, ObjectionReason::kNoClosedRound,
        ObjectionReason::kMayHaveVoted}) {
    EXPECT_EQ(ObjectionReasonNamed(ObjectionReasonName(reason)), reason);
  }
  EXPECT_EQ(ObjectionReasonNamed("budget"), std::nullopt);
}

}  // namespace
}  // namespace tacet::protocol
