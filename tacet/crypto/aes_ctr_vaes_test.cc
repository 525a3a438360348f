#include "tacet/crypto/aes_ctr_vaes.h"

#include <algorithm>

#include "gtest/gtest.h"

#include "tacet/base/bytes.h"
#include "tacet/base/cpu.h"
#include "tacet/crypto/random.h"

namespace tacet::crypto {
namespace {

// Everything below compares with libcrypto, which random_test.cc holds against NIST's vector.
base::Bytes Stream(std::span<const uint8_t> key, std::span<const uint8_t> iv, size_t bytes,
                   bool vaes) {
  base::Bytes stream(bytes);
  AesCtrStream(key, iv, vaes).Fill(stream);
  return stream;
}

base::Bytes SomeBytes(size_t count, uint64_t seed) {
  base::Bytes bytes(count);
  InsecureSeededEntropy(seed, "aes_ctr_vaes_test").Fill(bytes);
  return bytes;
}

class VaesCtrTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!base::HasTarget(base::Target::kAvx512Vaes)) GTEST_SKIP() << "this processor lacks it";
  }
};

TEST_F(VaesCtrTest, IsInUseUnlessTheEnvironmentForbids) {
  EXPECT_EQ(base::MayUse(base::Target::kAvx512Vaes), base::ActiveSimd() == base::Simd::kAvx512);
}

TEST_F(VaesCtrTest, IsLibcryptosStreamForManyKeysAndLengths) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const base::Bytes key = SomeBytes(32, 2 * seed);
    const base::Bytes iv = SomeBytes(16, 2 * seed + 1);
    for (const size_t bytes : {1u, 15u, 16u, 17u, 511u, 512u, 513u, 1024u, 1040u, 5000u}) {
      ASSERT_EQ(Stream(key, iv, bytes, true), Stream(key, iv, bytes, false)) << bytes;
    }
  }
}

TEST_F(VaesCtrTest, CarriesIntoTheHighHalfOfTheCounter) {
  const base::Bytes key = SomeBytes(32, 1);
  for (const int last : {0xff, 0xfe, 0xf0, 0xe1, 0xe0, 0xdf, 0xc0, 0x00}) {
    for (const int high : {0x00, 0x7f, 0xff}) {  // 0xff: the whole counter wraps
      base::Bytes iv(16, 0xff);
      std::fill_n(iv.begin(), 8, static_cast<uint8_t>(high));
      iv[15] = static_cast<uint8_t>(last);
      ASSERT_EQ(Stream(key, iv, 3000, true), Stream(key, iv, 3000, false)) << high << " " << last;
    }
  }
}

TEST_F(VaesCtrTest, PiecesGiveTheSameStream) {
  const base::Bytes key = SomeBytes(32, 3);
  const base::Bytes iv = SomeBytes(16, 4);
  const base::Bytes whole = Stream(key, iv, 40000, false);
  AesCtrStream stream(key, iv, true);
  base::Bytes pieces;
  for (size_t size = 0; pieces.size() < whole.size(); size = size * 7 % 1021 + 1) {
    base::Bytes piece(std::min(size, whole.size() - pieces.size()), 0xcc);
    stream.Fill(piece);
    pieces.insert(pieces.end(), piece.begin(), piece.end());
  }
  EXPECT_EQ(pieces, whole);
}

}  // namespace
}  // namespace tacet::crypto
