#include "tacet/crypto/sealed_box.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/status_for_test.h"

namespace tacet::crypto {
namespace {

using ::testing::HasSubstr;

SealingKey NewKey(std::string_view label) {
  InsecureSeededEntropy entropy(1, label);
  return SealingKey::Generate(entropy);
}

TEST(SealedBoxTest, OnlyTheReaderOpensIt) {
  const SealingKey reader = NewKey("reader");
  ASSERT_OK_AND_ASSIGN(const base::Bytes box, SealFor(reader.public_key(), base::AsBytes("a key")));
  EXPECT_EQ(box.size(), 5 + kSealedBoxOverheadBytes);
  EXPECT_EQ(base::AsText(reader.Open(box)->Expose()), "a key");
  const absl::Status other = NewKey("another").Open(box).status();
  EXPECT_EQ(other.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(base::Message(other), HasSubstr("encrypted for another key"));
}

TEST(SealedBoxTest, EveryChangedByteIsNoticed) {
  const SealingKey reader = NewKey("reader");
  const base::Bytes box = *SealFor(reader.public_key(), base::AsBytes("a key"));
  for (size_t i = 0; i < box.size(); ++i) {
    base::Bytes altered = box;
    altered[i] ^= 1;
    EXPECT_EQ(reader.Open(altered).status().code(), absl::StatusCode::kDataLoss) << i;
    EXPECT_FALSE(reader.Open(std::span(box).first(i)).ok()) << i;
  }
}

TEST(SealedBoxTest, TwoBoxesOfOneMessageDiffer) {
  const SealingKey reader = NewKey("reader");
  EXPECT_NE(*SealFor(reader.public_key(), base::AsBytes("a key")),
            *SealFor(reader.public_key(), base::AsBytes("a key")));
}

TEST(SealedBoxTest, TheSeedGivesTheKeyAgain) {
  const SealingKey key = NewKey("reader");
  ASSERT_OK_AND_ASSIGN(const SealingKey again, SealingKey::FromSeed(key.seed()));
  EXPECT_EQ(again.public_key(), key.public_key());
  EXPECT_TRUE(again.Open(*SealFor(key.public_key(), base::AsBytes("m"))).ok());
  EXPECT_THAT(base::Message(SealingKey::FromSeed(SecretBytes(31)).status()),
              HasSubstr("31 bytes, expected 32"));
}

TEST(SealedBoxTest, RefusesAPointOfSmallOrder) {
  EXPECT_THAT(base::Message(SealFor(SealingPublicKey{}, base::AsBytes("m")).status()),
              HasSubstr("is not a sealing key"));
}

}  // namespace
}  // namespace tacet::crypto
