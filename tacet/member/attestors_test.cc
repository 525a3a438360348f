#include "tacet/member/attestors.h"

#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/protocol/small_federation_for_test.h"

namespace tacet::member {
namespace {

using protocol::testing::SmallFederation;

crypto::Digest Model(uint8_t value) {
  crypto::Digest digest;
  digest.fill(value);
  return digest;
}

class AttestorsTest : public ::testing::Test {
 protected:
  std::optional<AttestedState> Majority(const std::vector<base::Bytes>& attestations) {
    return MajorityOf(ReadableAttestations(attestations, members_.manifest()), members_.manifest(),
                      attestors_, 7);
  }

  // Three of five members are on the committee.
  SmallFederation members_{protocol::testing::AgreementWith(0, {4, 1, 2})};
  const std::vector<uint64_t> attestors_ = AttestorsOf(members_.manifest());
};

TEST_F(AttestorsTest, AreTheCommittee) {
  EXPECT_THAT(attestors_, ::testing::ElementsAre(4, 1, 2));
  EXPECT_THAT(AttestorsOf(SmallFederation().manifest()), ::testing::SizeIs(5));
}

TEST_F(AttestorsTest, TwoOfThreeAreEnough) {
  EXPECT_EQ(Majority({}), std::nullopt);
  EXPECT_EQ(Majority({members_.Attestation(attestors_[0], 7, Model(1))}), std::nullopt);
  const auto agreed = Majority({members_.Attestation(attestors_[0], 7, Model(1)),
                                members_.Attestation(attestors_[2], 7, Model(1))});
  ASSERT_TRUE(agreed.has_value());
  EXPECT_EQ(agreed->model_digest, Model(1));
}

TEST_F(AttestorsTest, OthersDoNotCount) {
  std::vector<base::Bytes> attestations = {members_.Attestation(attestors_[0], 7, Model(1))};
  for (uint64_t member = 0; member < 5; ++member) {
    const bool is_attestor =
        std::find(attestors_.begin(), attestors_.end(), member) != attestors_.end();
    if (!is_attestor) attestations.push_back(members_.Attestation(member, 7, Model(1)));
  }
  attestations.push_back(members_.Attestation(attestors_[1], 6, Model(1)));  // another round
  attestations.push_back(members_.Attestation(attestors_[1], 7, Model(2)));  // another model
  attestations.push_back(members_.Attestation(attestors_[1], 7, Model(1)));  // a second word
  attestations.push_back(members_.Attestation(attestors_[0], 7, Model(1)));  // the same again
  base::Bytes forged = members_.Attestation(attestors_[2], 7, Model(1));
  forged.back() ^= 1;
  attestations.push_back(forged);
  EXPECT_EQ(Majority(attestations), std::nullopt);
  attestations.push_back(members_.Attestation(attestors_[2], 7, Model(1)));
  EXPECT_TRUE(Majority(attestations).has_value());
}

}  // namespace
}  // namespace tacet::member
