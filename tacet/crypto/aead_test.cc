#include "tacet/crypto/aead.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/crypto/fixed_entropy_for_test.h"

namespace tacet::crypto {
namespace {

using ::testing::HasSubstr;

base::Bytes Counting(uint8_t first, size_t size) {
  base::Bytes bytes(size);
  std::iota(bytes.begin(), bytes.end(), first);
  return bytes;
}

SecretBytes Key(uint8_t first) { return SecretBytes::CopyOf(Counting(first, kAeadKeyBytes)); }

// draft-irtf-cfrg-xchacha-03, appendix A.3.1.
TEST(AeadTest, KnownVector) {
  constexpr std::string_view kText =
      "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, "
      "sunscreen would be it.";
  const base::Bytes associated = base::FromHex("50515253c0c1c2c3c4c5c6c7").value();
  FixedEntropy nonce(Counting(0x40, kAeadNonceBytes));
  const base::Bytes sealed = AeadSeal(Key(0x80), base::AsBytes(kText), associated, nonce);
  EXPECT_EQ(
      base::ToHex(sealed),
      "404142434445464748494a4b4c4d4e4f5051525354555657"
      "bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb731c7f1b0b4aa6440bf3a82f"
      "4eda7e39ae64c6708c54c216cb96b72e1213b4522f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f"
      "76b2383565d3fff921f9664c97637da9768812f615c68b13b52ec0875924c1c7987947deafd8780acf49");
  const SecretBytes opened = AeadOpen(Key(0x80), sealed, associated).value();
  EXPECT_EQ(base::AsText(opened.Expose()), kText);
}

TEST(AeadTest, EveryFlippedByteIsRefused) {
  SystemEntropy entropy;
  const base::Bytes sealed =
      AeadSeal(Key(1), base::AsBytes("result"), base::AsBytes("context"), entropy);
  ASSERT_EQ(sealed.size(), kAeadOverheadBytes + 6);
  for (size_t i = 0; i < sealed.size(); ++i) {
    base::Bytes altered = sealed;
    altered[i] ^= 1;
    const absl::Status status = AeadOpen(Key(1), altered, base::AsBytes("context")).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << i;
    EXPECT_THAT(base::Message(status), HasSubstr("was altered")) << i;
  }
}

TEST(AeadTest, OtherKeyContextOrLengthIsRefused) {
  SystemEntropy entropy;
  const base::Bytes sealed =
      AeadSeal(Key(1), base::AsBytes("result"), base::AsBytes("context"), entropy);
  EXPECT_FALSE(AeadOpen(Key(2), sealed, base::AsBytes("context")).ok());
  EXPECT_FALSE(AeadOpen(Key(1), sealed, base::AsBytes("contexts")).ok());
  EXPECT_FALSE(AeadOpen(Key(1), sealed, {}).ok());
  for (size_t size = 0; size < sealed.size(); ++size) {
    EXPECT_FALSE(AeadOpen(Key(1), std::span(sealed).first(size), base::AsBytes("context")).ok())
        << size;
  }
  EXPECT_EQ(base::Message(AeadOpen(Key(1), std::span(sealed).first(39), {}).status()),
            "encrypted message has 39 bytes, at least 40 are needed");
}

TEST(AeadTest, EmptyPlaintextAndContext) {
  SystemEntropy entropy;
  const base::Bytes sealed = AeadSeal(Key(1), {}, {}, entropy);
  EXPECT_EQ(sealed.size(), kAeadOverheadBytes);
  EXPECT_TRUE(AeadOpen(Key(1), sealed, {}).value().empty());
}

TEST(AeadTest, TwoSealsOfOneTextDiffer) {
  SystemEntropy entropy;
  EXPECT_NE(AeadSeal(Key(1), base::AsBytes("x"), {}, entropy),
            AeadSeal(Key(1), base::AsBytes("x"), {}, entropy));
}

TEST(AeadTest, ARepeatableSealDependsOnEverythingThatIsSealed) {
  const auto seal = [](uint8_t key, std::string_view text, std::string_view context) {
    return AeadSealRepeatably(Key(key), base::AsBytes(text), base::AsBytes(context));
  };
  const base::Bytes sealed = seal(1, "state", "site 1");
  EXPECT_EQ(sealed, seal(1, "state", "site 1"));
  EXPECT_EQ(base::AsText(AeadOpen(Key(1), sealed, base::AsBytes("site 1")).value().Expose()),
            "state");
  std::set<base::Bytes> nonces;
  for (const base::Bytes& one :
       {sealed, seal(2, "state", "site 1"), seal(1, "State", "site 1"), seal(1, "state", "site 2"),
        seal(1, "1state", "site "), seal(1, "", "")}) {
    nonces.emplace(one.begin(), one.begin() + kAeadNonceBytes);
  }
  EXPECT_EQ(nonces.size(), 6u);
}

TEST(AeadDeathTest, AbortsOnOtherKeySizes) {
  SystemEntropy entropy;
  const SecretBytes half(16);
  EXPECT_DEATH(AeadSeal(half, {}, {}, entropy), "needs a key of 32 bytes, got 16");
  EXPECT_DEATH(AeadOpen(half, {}, {}).IgnoreError(), "needs a key of 32 bytes, got 16");
}

}  // namespace
}  // namespace tacet::crypto
