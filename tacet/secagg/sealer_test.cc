#include "tacet/secagg/sealer.h"

#include <cmath>
#include <limits>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/secagg/testing/small_round.h"
#include "tacet/secagg/upload.h"

namespace tacet::secagg {
namespace {

using ::testing::HasSubstr;
using namespace testing;  // NOLINT: tacet::secagg::testing

class SealerTest : public ::testing::TestWithParam<he::Scheme> {
 protected:
  static constexpr uint64_t kDimension = 2000;

  SmallRound round_{SmallTerms(kDimension, 2, GetParam())};
  std::unique_ptr<Sealer> sealer_ =
      ValueOf(Sealer::Create(round_.terms(), round_.attempt(), round_.KeysOf(round_.attempt())));
  std::vector<float> update_ = std::vector<float>(kDimension, 0.01f);

  // The counts inside one upload, opened with the group secret.
  std::vector<uint64_t> Open(const base::Bytes& upload) {
    const auto view = ValueOf(ReadUpload(upload, round_.attempt(), round_.params()));
    const auto adder = he::NewAdder(round_.params());
    EXPECT_TRUE(adder->Add(view.ciphertext).ok());
    const auto decryptor = ValueOf(he::NewDecryptor(round_.params(), PublicSeed(round_.attempt()),
                                                    round_.KeysOf(round_.attempt()).group_secret));
    return ValueOf(decryptor->Decrypt(adder->Close(), 1));
  }
};

TEST_P(SealerTest, TwoSealsOfOneUpdateShareNothing) {
  crypto::SystemEntropy entropy;
  const base::Bytes a = ValueOf(sealer_->Seal(update_, entropy)).bytes;
  const base::Bytes b = ValueOf(sealer_->Seal(update_, entropy)).bytes;
  const auto first = ValueOf(ReadUpload(a, round_.attempt(), round_.params()));
  const auto second = ValueOf(ReadUpload(b, round_.attempt(), round_.params()));
  EXPECT_NE(first.nonce, second.nonce);
  EXPECT_NE(first.tag.words[0], second.tag.words[0]);
  EXPECT_NE(first.tag.words[1], second.tag.words[1]);
  // No 16 bytes of one ciphertext occur in the other at the same place; seeds and keys included.
  for (size_t i = 0; i + 16 <= first.ciphertext.size(); i += 16) {
    EXPECT_FALSE(std::equal(first.ciphertext.begin() + i, first.ciphertext.begin() + i + 16,
                            second.ciphertext.begin() + i))
        << i;
  }
  EXPECT_NE(Open(a), Open(b));  // other noise
}

TEST_P(SealerTest, ACloneOfTheMachineSealsDifferentUpdatesDifferently) {
  // Both start from the same entropy; what differs is the update alone.
  crypto::InsecureSeededEntropy one(3, "clone"), other(3, "clone");
  const base::Bytes a = ValueOf(sealer_->Seal(update_, one)).bytes;
  update_[17] += 1e-6f;
  const base::Bytes b = ValueOf(sealer_->Seal(update_, other)).bytes;
  EXPECT_FALSE(std::equal(a.begin() + kUploadNonce, a.begin() + kUploadNonce + 16,
                          b.begin() + kUploadNonce));
  const auto x = Open(a), y = Open(b);
  size_t equal = 0;
  for (size_t i = 0; i < x.size(); ++i) equal += x[i] == y[i] ? 1 : 0;
  EXPECT_LT(equal, x.size() / 20);  // a shared noise would leave nearly all of them equal
}

TEST_P(SealerTest, TheSameEntropyGivesTheSameBytes) {
  crypto::InsecureSeededEntropy one(3, "seal"), other(3, "seal");
  EXPECT_EQ(ValueOf(sealer_->Seal(update_, one)).bytes,
            ValueOf(sealer_->Seal(update_, other)).bytes);
}

TEST_P(SealerTest, ANonFiniteUpdateIsSealedAsZeros) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    std::vector<float> broken(kDimension, 0.05f);
    broken[1234] = bad;
    crypto::InsecureSeededEntropy entropy(5, "bad");
    const SealedUpload sealed = ValueOf(sealer_->Seal(broken, entropy));
    EXPECT_FALSE(sealed.clip.finite);
    EXPECT_EQ(sealed.bytes.size(), UploadBytes(round_.params()));
    // Mean of the counts: around the offset, as for an update of zeros. One count has standard
    // deviation below 500 here, their mean one of 11; 0.05 would move it by 1/20 of 1000.
    double mean = 0;
    for (const uint64_t count : Open(sealed.bytes)) {
      mean +=
          (static_cast<double>(count) - static_cast<double>(round_.params().offset())) / kDimension;
    }
    EXPECT_NEAR(mean, 0, 49);
    // And for an update of 0.05 / norm it is not.
    crypto::InsecureSeededEntropy again(5, "good");
    std::vector<float> good(kDimension, 0.02f);
    double other = 0;
    for (const uint64_t count : Open(ValueOf(sealer_->Seal(good, again)).bytes)) {
      other +=
          (static_cast<double>(count) - static_cast<double>(round_.params().offset())) / kDimension;
    }
    EXPECT_GT(other, mean - 49);
  }
}

TEST_P(SealerTest, AZeroUpdateIsSealedLikeAnyOther) {
  crypto::SystemEntropy entropy;
  const SealedUpload sealed = ValueOf(sealer_->Seal(std::vector<float>(kDimension), entropy));
  EXPECT_TRUE(sealed.clip.finite);
  EXPECT_FALSE(sealed.clip.clipped);
  EXPECT_EQ(sealed.bytes.size(), ValueOf(sealer_->Seal(update_, entropy)).bytes.size());
}

TEST_P(SealerTest, RefusesAnotherDimension) {
  crypto::SystemEntropy entropy;
  update_.pop_back();
  EXPECT_THAT(base::Message(sealer_->Seal(update_, entropy).status()),
              HasSubstr("update has 1999 values, the manifest says 2000"));
}

INSTANTIATE_TEST_SUITE_P(Schemes, SealerTest,
                         ::testing::Values(he::Scheme::kCompact, he::Scheme::kPaperPublicKey,
                                           he::Scheme::kPaperSecretKey),
                         [](const auto& scheme) {
                           std::string name(he::SchemeName(scheme.param));
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace tacet::secagg
