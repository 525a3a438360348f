#include "tacet/secagg/sealer.h"

#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/secagg/small_round_for_test.h"
#include "tacet/secagg/upload.h"
#include "tacet/secagg/whole_messages_for_test.h"

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

  crypto::SecretBytes pair_keys_ = round_.PairKeys(0);

  // The counts inside one upload, decrypted with all keys of the federation, and their MAC.
  he::Decryptor::Decrypted OpenWithTag(const base::Bytes& upload) {
    const auto view = ValueOf(ReadUpload(upload, round_.attempt(), round_.params()));
    const auto adder = he::NewAdder(round_.params());
    EXPECT_TRUE(adder->Add(view.ciphertext).ok());
    return ValueOf(DecryptorOf(view)->Decrypt(adder->Close(), 1));
  }
  std::vector<uint64_t> Open(const base::Bytes& upload) { return OpenWithTag(upload).sums; }

  std::unique_ptr<he::Decryptor> DecryptorOf(const UploadView& view) {
    const he::AggregationParams& params = round_.params();
    if (GetParam() != he::Scheme::kCompact) {
      return ValueOf(he::NewPaperDecryptor(params, round_.KeysOf(round_.attempt()).group_secret));
    }
    std::vector<crypto::SecretVector<uint16_t>> masks;
    std::vector<he::KeySharing::Answer> answers;
    for (uint32_t seat = 0; seat < params.sharing().threshold(); ++seat) {
      masks.emplace_back(params.sharing().mask_words());
      ExpandMask(SmallRound::PairKeyIn(pair_keys_, seat), round_.attempt(), view.nonce,
                 masks.back().Expose());
      answers.push_back({.seat = seat, .mask_sums = masks.back().Expose()});
    }
    auto recovery =
        ValueOf(params.sharing().Recover(view.ciphertext.last(params.share_bytes()), answers));
    return ValueOf(
        he::NewCompactDecryptor(params, PublicSeed(round_.attempt()), std::move(recovery.key_sum)));
  }
};

TEST_P(SealerTest, TwoSealsOfOneUpdateShareNothing) {
  crypto::SystemEntropy entropy;
  const base::Bytes a = ValueOf(sealer_->Seal(update_, pair_keys_, entropy)).bytes;
  const base::Bytes b = ValueOf(sealer_->Seal(update_, pair_keys_, entropy)).bytes;
  const auto first = ValueOf(ReadUpload(a, round_.attempt(), round_.params()));
  const auto second = ValueOf(ReadUpload(b, round_.attempt(), round_.params()));
  EXPECT_NE(first.nonce, second.nonce);
  // No 16 bytes of one ciphertext occur in the other at the same place; seeds and keys included.
  for (size_t i = 0; i + 16 <= first.ciphertext.size(); i += 16) {
    EXPECT_FALSE(std::equal(first.ciphertext.begin() + i, first.ciphertext.begin() + i + 16,
                            second.ciphertext.begin() + i))
        << i;
  }
  EXPECT_NE(Open(a), Open(b));  // other noise
  for (size_t word = 0; word < he::kTagWords; ++word) {
    EXPECT_NE(OpenWithTag(a).tag.words[word], OpenWithTag(b).tag.words[word]);
  }
}

TEST_P(SealerTest, TheMacInsideIsThatOfCountsAndNonce) {
  const std::vector<uint32_t> counts = round_.Counts(0);
  const base::Bytes upload = round_.Upload(0);
  const he::HomomorphicMacKey mac(round_.KeysOf(round_.attempt()).tag_key, kDimension,
                                  TagContext(round_.attempt()));
  EXPECT_EQ(OpenWithTag(upload).tag.words, mac.Compute(counts, NonceOf(upload)).words);
}

TEST_P(SealerTest, ACloneOfTheMachineSealsDifferentUpdatesDifferently) {
  // Both start from the same entropy; what differs is the update alone.
  crypto::InsecureSeededEntropy one(3, "clone"), other(3, "clone");
  const base::Bytes a = ValueOf(sealer_->Seal(update_, pair_keys_, one)).bytes;
  update_[17] += 1e-6f;
  const base::Bytes b = ValueOf(sealer_->Seal(update_, pair_keys_, other)).bytes;
  EXPECT_FALSE(std::equal(a.begin() + kUploadNonce, a.begin() + kUploadNonce + 16,
                          b.begin() + kUploadNonce));
  const auto x = Open(a), y = Open(b);
  size_t equal = 0;
  for (size_t i = 0; i < x.size(); ++i) equal += x[i] == y[i] ? 1 : 0;
  EXPECT_LT(equal, x.size() / 20);  // a shared noise would leave nearly all of them equal
}

TEST_P(SealerTest, TheSameEntropyGivesTheSameBytes) {
  crypto::InsecureSeededEntropy one(3, "seal"), other(3, "seal");
  EXPECT_EQ(ValueOf(sealer_->Seal(update_, pair_keys_, one)).bytes,
            ValueOf(sealer_->Seal(update_, pair_keys_, other)).bytes);
}

TEST_P(SealerTest, ANonFiniteUpdateIsSealedAsZeros) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    std::vector<float> broken(kDimension, 0.05f);
    broken[1234] = bad;
    crypto::InsecureSeededEntropy entropy(5, "bad");
    const SealedUpload sealed = ValueOf(sealer_->Seal(broken, pair_keys_, entropy));
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
    for (const uint64_t count : Open(ValueOf(sealer_->Seal(good, pair_keys_, again)).bytes)) {
      other +=
          (static_cast<double>(count) - static_cast<double>(round_.params().offset())) / kDimension;
    }
    EXPECT_GT(other, mean - 49);
  }
}

TEST_P(SealerTest, AZeroUpdateIsSealedLikeAnyOther) {
  crypto::SystemEntropy entropy;
  const SealedUpload sealed =
      ValueOf(sealer_->Seal(std::vector<float>(kDimension), pair_keys_, entropy));
  EXPECT_TRUE(sealed.clip.finite);
  EXPECT_FALSE(sealed.clip.clipped);
  EXPECT_EQ(sealed.bytes.size(), ValueOf(sealer_->Seal(update_, pair_keys_, entropy)).bytes.size());
}

TEST_P(SealerTest, RefusesAnotherDimension) {
  crypto::SystemEntropy entropy;
  update_.pop_back();
  EXPECT_THAT(base::Message(sealer_->Seal(update_, pair_keys_, entropy).status()),
              HasSubstr("update has 1999 values, the manifest says 2000"));
}

TEST(SealerPairKeysTest, RefusesThoseOfAnotherCommittee) {
  const SmallRound round(SmallTerms(10, 2));
  const auto sealer =
      ValueOf(Sealer::Create(round.terms(), round.attempt(), round.KeysOf(round.attempt())));
  const crypto::SecretBytes pair_keys =
      crypto::SecretBytes::CopyOf(round.PairKeys(0).Expose().first(128));
  crypto::SystemEntropy entropy;
  EXPECT_THAT(base::Message(sealer->Seal(std::vector<float>(10), pair_keys, entropy).status()),
              HasSubstr("`pair_keys` has 128 bytes, the committee has 5 seats of 32"));
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
