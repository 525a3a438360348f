#include "tacet/he/shared_key_envelope.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/crypto/random.h"
#include "tacet/ring/ntt.h"
#include "tacet/ring/sampling.h"

namespace tacet::he {
namespace {

using testing::HasSubstr;

class SharedKeyEnvelopeTest : public testing::TestWithParam<uint32_t> {
 protected:
  SharedKeyEnvelope envelope_ = SharedKeyEnvelope::Create(GetParam()).value();
  crypto::InsecureSeededEntropy entropy_{11, "envelope"};
  crypto::SecretBytes group_secret_ = entropy_.Draw(32);
  std::unique_ptr<EnvelopeSealer> sealer_ = envelope_.NewSealer(group_secret_);
  std::unique_ptr<EnvelopeAdder> adder_ = envelope_.NewAdder();

  base::Bytes Seal(const std::vector<int8_t>& key) {
    base::Bytes sealed(envelope_.sealed_bytes());
    sealer_->Seal(key, entropy_.Draw(32), sealed);
    EXPECT_TRUE(adder_->Check(sealed).ok());
    return sealed;
  }
  base::Bytes Close() const {
    base::Bytes sum(envelope_.sum_bytes());
    adder_->Close(sum);
    return sum;
  }
};

TEST_P(SharedKeyEnvelopeTest, OpensTheSumOfTheKeys) {
  crypto::Random random = crypto::Random::FromEntropy(entropy_);
  std::vector<int32_t> expected(ring::kCompactDegree);
  const uint32_t participants = 20;
  for (uint32_t i = 0; i < participants; ++i) {
    std::vector<int8_t> key(ring::kCompactDegree);
    ring::SampleError(random, key);
    // Some coefficients pull the same way in every key, as far as they can.
    key[0] = key[5] = key.back() = ring::kErrorBound;
    key[1] = key[6] = -ring::kErrorBound;
    for (size_t c = 0; c < key.size(); ++c) expected[c] += key[c];
    adder_->Add(Seal(key));
  }
  const auto opener = envelope_.NewOpener(group_secret_);
  const auto opened = opener->Open(Close(), participants).value();
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), opened.Expose().begin()));
}

// Every slot at plus or minus the most participants its layout is for: at least 2.6 times what sums
// of so many keys reach. Codes of 127 reach it with few envelopes.
TEST_P(SharedKeyEnvelopeTest, HoldsTheLargestSums) {
  uint32_t envelopes = 0;
  for (uint32_t rest = GetParam(); rest > 0; ++envelopes) {
    const uint32_t code = std::min(rest, 127u);
    std::vector<int8_t> key(ring::kCompactDegree);
    for (size_t c = 0; c < key.size(); ++c) {
      key[c] = static_cast<int8_t>((c / 7) % 2 == 0 ? code : -code);
    }
    adder_->Add(Seal(key));
    rest -= code;
  }
  const auto opened = envelope_.NewOpener(group_secret_)->Open(Close(), envelopes).value();
  for (size_t c = 0; c < opened.size(); ++c) {
    const auto largest = static_cast<int32_t>(GetParam());
    ASSERT_EQ(opened.Expose()[c], (c / 7) % 2 == 0 ? largest : -largest) << "coefficient " << c;
  }
}

TEST_P(SharedKeyEnvelopeTest, MergingIsAddingTheOthers) {
  const base::Bytes a = Seal(std::vector<int8_t>(ring::kCompactDegree, 1));
  const base::Bytes b = Seal(std::vector<int8_t>(ring::kCompactDegree, -1));
  const auto other = envelope_.NewAdder();
  other->Add(b);
  adder_->Add(a);
  adder_->Merge(*other);
  const base::Bytes merged = Close();
  const auto both = envelope_.NewAdder();
  both->Add(b);
  both->Add(a);
  base::Bytes sum(envelope_.sum_bytes());
  both->Close(sum);
  EXPECT_TRUE(merged == sum);
}

// A uniform half shared by two envelopes would show the difference of their keys: it comes from the
// seal key, and travels as a seed of its own.
TEST_P(SharedKeyEnvelopeTest, EverySealHasItsOwnUniformHalf) {
  const std::vector<int8_t> key(ring::kCompactDegree, 1);
  const base::Bytes a = Seal(key);
  const base::Bytes b = Seal(key);
  EXPECT_NE(base::ToHex(std::span(a).last(32)), base::ToHex(std::span(b).last(32)));
  const crypto::SecretBytes seal_key = entropy_.Draw(32);
  base::Bytes sealed(envelope_.sealed_bytes());
  sealer_->Seal(key, seal_key, sealed);
  EXPECT_NE(base::ToHex(std::span(sealed).last(32)), base::ToHex(seal_key.Expose()));
}

TEST_P(SharedKeyEnvelopeTest, OpenerRefusesAnotherLength) {
  const auto opener = envelope_.NewOpener(group_secret_);
  base::Bytes sum = Close();
  sum.push_back(0);
  EXPECT_EQ(opener->Open(sum, 1).status().code(), absl::StatusCode::kDataLoss);
  sum.resize(sum.size() - 9);
  const absl::Status status = opener->Open(sum, 1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(base::Message(status), HasSubstr("field `envelope a` is cut short"));
}

INSTANTIATE_TEST_SUITE_P(AllLayouts, SharedKeyEnvelopeTest,
                         testing::Values(8191u, 18820u, 131071u));

}  // namespace
}  // namespace tacet::he
