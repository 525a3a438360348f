#include "tacet/ledger/data_digest.h"

#include <algorithm>

#include "gtest/gtest.h"

#include "tacet/base/bytes.h"

namespace tacet::ledger {
namespace {

crypto::SecretBytes KeyOf(uint8_t byte) {
  crypto::SecretBytes key(kDataKeyBytes);
  std::ranges::fill(key.Expose(), byte);
  return key;
}

TEST(DataDigestTest, DependsOnKeyUseAndData) {
  const crypto::Digest digest = KeyedDataDigest(KeyOf(1), kRunDigest, {7});
  EXPECT_EQ(KeyedDataDigest(KeyOf(1), kRunDigest, {7}), digest);
  EXPECT_NE(KeyedDataDigest(KeyOf(2), kRunDigest, {7}), digest);
  EXPECT_NE(KeyedDataDigest(KeyOf(1), kRankDigest, {7}), digest);
  EXPECT_NE(KeyedDataDigest(KeyOf(1), kRunDigest, {8}), digest);
}

// docs/formats/keys.md, computed with an independent HMAC.
TEST(DataDigestTest, IsTheDocumentedHmac) {
  EXPECT_EQ(base::ToHex(KeyedDataDigest(KeyOf(1), kRunDigest, {7})),
            "e9c61270934ea04c422994d341a3e1a9fe62c41063b35d505464980e5ebf2b0f");
}

}  // namespace
}  // namespace tacet::ledger
