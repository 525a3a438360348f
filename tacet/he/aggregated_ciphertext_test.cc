#include "tacet/he/aggregated_ciphertext.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/he/attempt_for_test.h"

namespace tacet::he {
namespace {

using testing::HasSubstr;

class AggregatedCiphertextTest : public testing::TestWithParam<Scheme> {
 protected:
  // Two polynomials with compact's three slots, the last one not full.
  AggregationParams params_ = MustCreate({.scheme = GetParam(),
                                          .dimension = 13000,
                                          .max_participants = 30,
                                          .offset = 20000,
                                          .sum_bound = 20000000});
  TestAttempt attempt_{params_};
};

TEST_P(AggregatedCiphertextTest, IsTheOneOfAllCiphertextsTogether) {
  const auto all = NewAdder(params_);
  base::Bytes sum = NewAdder(params_)->Close();  // of nothing
  for (const uint32_t ciphertexts : {3u, 0u, 1u, 5u}) {
    const auto part = NewAdder(params_);
    for (uint32_t k = 0; k < ciphertexts; ++k) {
      const base::Bytes ciphertext =
          attempt_.Encrypt(std::vector<uint32_t>(params_.dimension(), 19000 + 100 * k));
      ASSERT_TRUE(part->Add(ciphertext).ok());
      ASSERT_TRUE(all->Add(ciphertext).ok());
    }
    ASSERT_TRUE(AddAggregatedCiphertext(params_, part->Close(), sum).ok());
    EXPECT_TRUE(sum == all->Close());
  }
  const auto decrypted = attempt_.DecryptorFor(sum)->Decrypt(sum, 9);
  ASSERT_TRUE(decrypted.ok()) << decrypted.status();
  EXPECT_EQ(decrypted->sums,
            std::vector<uint64_t>(params_.dimension(), 172300));  // 57,300 + 19,000 + 96,000
}

TEST_P(AggregatedCiphertextTest, WhatIsRefusedChangesNothing) {
  const base::Bytes good = NewAdder(params_)->Close();
  base::Bytes sum = good;
  base::Bytes short_one = good;
  short_one.pop_back();
  const absl::Status cut = AddAggregatedCiphertext(params_, short_one, sum);
  EXPECT_EQ(cut.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(base::Message(cut), HasSubstr("aggregated ciphertext: length is"));
  // The first word and the last one are checked, and the first is not added before the last was.
  for (const size_t word : {size_t{0}, good.size() / 8 - 1}) {
    base::Bytes large = good;
    large[0] = 1;
    for (size_t i = 0; i < 8; ++i) large[8 * word + i] = 0xff;
    const absl::Status refused = AddAggregatedCiphertext(params_, large, sum);
    EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(base::Message(refused), HasSubstr("is not canonical"));
    EXPECT_TRUE(sum == good);
  }
}

INSTANTIATE_TEST_SUITE_P(Schemes, AggregatedCiphertextTest, testing::ValuesIn(kAllSchemes),
                         [](const auto& tested) { return SchemeTestName(tested.param); });

}  // namespace
}  // namespace tacet::he
