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
  const crypto::Digest digest = KeyedDataDigest(KeyOf(1), kLedgerDigest, {7});
  EXPECT_EQ(KeyedDataDigest(KeyOf(1), kLedgerDigest, {7}), digest);
  EXPECT_NE(KeyedDataDigest(KeyOf(2), kLedgerDigest, {7}), digest);
  EXPECT_NE(KeyedDataDigest(KeyOf(1), kRankDigest, {7}), digest);
  EXPECT_NE(KeyedDataDigest(KeyOf(1), kLedgerDigest, {8}), digest);
}

// docs/formats/ledger.md, computed with an independent HMAC.
TEST(DataDigestTest, IsTheDocumentedHmac) {
  EXPECT_EQ(base::ToHex(KeyedDataDigest(KeyOf(1), kLedgerDigest, {7})),
            "0d7472e02d1fab06db5e150bce513efdb4ba3b3a337321f25f57239df427ca32");
}

}  // namespace
}  // namespace tacet::ledger
