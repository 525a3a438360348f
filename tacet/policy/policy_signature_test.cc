#include "tacet/policy/policy_signature.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/crypto/random.h"

namespace tacet::policy {
namespace {

using ::testing::HasSubstr;

crypto::SigningKey KeyOf(std::string_view name) {
  crypto::InsecureSeededEntropy entropy(1, name);
  return crypto::SigningKey::Generate(entropy);
}

TEST(PolicySignatureTest, IsTheOfficers) {
  const crypto::SigningKey officer = KeyOf("officer");
  const auto policy = base::AsBytes("[policy]\nserial = 1\n");
  const base::Bytes signature = SignPolicy(policy, officer);
  EXPECT_TRUE(CheckPolicySignature(policy, signature, officer.public_key()).ok());
}

// The operator of the site has no other key, and no other text that is signed.
TEST(PolicySignatureTest, NobodyElseWeakensAPolicy) {
  const crypto::SigningKey officer = KeyOf("officer"), operators = KeyOf("operator");
  const auto policy = base::AsBytes("epsilon_per_year = 1"),
             weaker = base::AsBytes("epsilon_per_year = 9");
  const absl::Status changed =
      CheckPolicySignature(weaker, SignPolicy(policy, officer), officer.public_key());
  EXPECT_EQ(changed.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(base::Message(changed), HasSubstr("was changed after its officer signed it"));
  const absl::Status other =
      CheckPolicySignature(weaker, SignPolicy(weaker, operators), officer.public_key());
  EXPECT_EQ(other.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(base::Message(other), HasSubstr("this site's officer is"));
}

TEST(PolicySignatureTest, EveryAlteredBitIsNoticed) {
  const crypto::SigningKey officer = KeyOf("officer");
  const auto policy = base::AsBytes("serial = 1");
  const base::Bytes signature = SignPolicy(policy, officer);
  for (size_t bit = 0; bit < 8 * signature.size(); ++bit) {
    base::Bytes altered = signature;
    altered[bit / 8] = static_cast<uint8_t>(altered[bit / 8] ^ 1u << bit % 8);
    EXPECT_FALSE(CheckPolicySignature(policy, altered, officer.public_key()).ok()) << bit;
  }
  for (size_t size = 0; size < signature.size(); ++size) {
    const absl::Status cut =
        CheckPolicySignature(policy, std::span(signature).first(size), officer.public_key());
    EXPECT_EQ(cut.code(), absl::StatusCode::kDataLoss) << size;
  }
  base::Bytes longer = signature;
  longer.push_back(0);
  EXPECT_EQ(CheckPolicySignature(policy, longer, officer.public_key()).code(),
            absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace tacet::policy
