#include "tacet/he/security.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"

namespace tacet::he {
namespace {

using testing::HasSubstr;

RlweSpec Valid() { return {.ring_degree = 4096, .log2_modulus = 99.9993, .error_stddev = 3.24}; }

std::string ReasonAgainst(const RlweSpec& spec) {
  const absl::Status status = CheckRlweSecurity(spec);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return base::Message(status);
}

TEST(RlweSecurityTest, AcceptsTheSchemesInUse) {
  EXPECT_TRUE(CheckRlweSecurity(Valid()).ok());
  RlweSpec payload = Valid();
  payload.secret = SecretDistribution::kErrorLaw;
  EXPECT_TRUE(CheckRlweSecurity(payload).ok());
  RlweSpec paper = Valid();
  paper.ring_degree = 8192;
  paper.log2_modulus = 50;
  EXPECT_TRUE(CheckRlweSecurity(paper).ok());
}

TEST(RlweSecurityTest, LimitsAreThoseOfTheTables) {
  for (const auto& [degree, limit] :
       {std::pair<uint64_t, double>{2048, 51}, {4096, 101}, {8192, 202}, {16384, 411}}) {
    for (const auto secret : {SecretDistribution::kTernary, SecretDistribution::kErrorLaw}) {
      RlweSpec spec = Valid();
      spec.ring_degree = degree;
      spec.secret = secret;
      spec.log2_modulus = limit;
      EXPECT_TRUE(CheckRlweSecurity(spec).ok()) << degree;
      spec.log2_modulus = limit + 0.01;
      EXPECT_FALSE(CheckRlweSecurity(spec).ok()) << degree;
    }
  }
}

TEST(RlweSecurityTest, EveryRefusalHasItsOwnReason) {
  RlweSpec spec = Valid();
  spec.ring_degree = 4095;
  EXPECT_THAT(ReasonAgainst(spec), HasSubstr("ring degree 4095 is not one of"));
  spec = Valid();
  spec.secret = SecretDistribution::kSparseTernary;
  EXPECT_THAT(ReasonAgainst(spec), HasSubstr("the secret distribution is sparse ternary"));
  spec = Valid();
  spec.error_stddev = 3.18;
  EXPECT_THAT(ReasonAgainst(spec), HasSubstr("standard deviation 3.18 is below 3.19"));
  spec = Valid();
  spec.log2_modulus = 104;
  EXPECT_THAT(ReasonAgainst(spec),
              HasSubstr("above 101, the limit for 128 bits against quantum attacks"));
  spec.log2_modulus = 107;
  EXPECT_THAT(ReasonAgainst(spec),
              HasSubstr("above 106, the limit for 128 bits against classical attacks"));
  spec.log2_modulus = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(ReasonAgainst(spec), HasSubstr("log2 Q = nan"));
}

}  // namespace
}  // namespace tacet::he
