#include "tacet/crypto/hash.h"

#include <numeric>
#include <string>

#include "gtest/gtest.h"

#include "tacet/base/bytes.h"

namespace tacet::crypto {
namespace {

std::string HashHex(std::string_view text) { return base::ToHex(Sha256(base::AsBytes(text))); }

std::string HkdfHex(std::span<const uint8_t> key, std::string_view info, size_t bytes) {
  return base::ToHex(HkdfSha256(key, base::AsBytes(info), bytes).Expose());
}

base::Bytes CountingKey() {
  base::Bytes key(32);
  std::iota(key.begin(), key.end(), uint8_t{0});
  return key;
}

// FIPS 180-4 examples and the one-million-a message.
TEST(Sha256Test, NistVectors) {
  EXPECT_EQ(HashHex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(HashHex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(HashHex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(HashHex(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256Test, PiecesGiveTheDigestOfTheWhole) {
  const std::string text(1000, 'x');
  for (const size_t cut : {0, 1, 63, 64, 65, 999, 1000}) {
    Sha256Hasher hasher;
    hasher.Update(base::AsBytes(text).first(cut));
    hasher.Update({});
    hasher.Update(base::AsBytes(text).subspan(cut));
    EXPECT_EQ(hasher.Finish(), Sha256(base::AsBytes(text))) << cut;
  }
}

// RFC 5869, appendix A.3: the test case with zero-length salt and info.
// RFC 4231, test case 2.
TEST(HmacSha256Test, Rfc4231) {
  const SecretBytes key = SecretBytes::CopyOf(base::AsBytes("Jefe"));
  EXPECT_EQ(base::ToHex(HmacSha256(
                key, {base::AsBytes("what do ya "), {}, base::AsBytes("want for nothing?")})),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST(HmacSha256DeathTest, AbortsWithoutAKey) {
  EXPECT_DEATH(HmacSha256(SecretBytes(), {base::AsBytes("x")}),
               "libcrypto failed: HMAC needs a key");
}

TEST(HkdfSha256Test, Rfc5869TestCase3) {
  EXPECT_EQ(HkdfHex(base::Bytes(22, 0x0b), "", 42),
            "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8");
}

// Computed from the definition in RFC 5869, section 2, with an independent HMAC.
TEST(HkdfSha256Test, InfoAndSeveralBlocks) {
  EXPECT_EQ(HkdfHex(CountingKey(), "tacet/1/test", 80),
            "e6e0086b31d3562fa0fa7b9366d68884f7c3f2163aaa31e0c27495af5d7f7d9501f7c3114e9759c328267c"
            "451c05a1abf66b6eb759f5bbfd43f2d135ca64875b501c873e57f26e5b7c8f1e72ba8557ab");
}

TEST(HkdfSha256Test, LongestOutput) {
  const SecretBytes longest = HkdfSha256(CountingKey(), base::AsBytes("x"), 255 * 32);
  EXPECT_EQ(base::ToHex(Sha256(longest.Expose())),
            "c254ed24c8e4501a1e447f05421d70d375e42a611bb7c190c7cdbcd3d737583f");
}

TEST(HkdfSha256Test, ShorterOutputsArePrefixesAndInfoSeparates) {
  const SecretBytes whole = HkdfSha256(CountingKey(), base::AsBytes("a"), 64);
  const SecretBytes part = HkdfSha256(CountingKey(), base::AsBytes("a"), 33);
  const SecretBytes other = HkdfSha256(CountingKey(), base::AsBytes("b"), 64);
  EXPECT_TRUE(ConstantTimeEqual(whole.Expose().first(33), part.Expose()));
  EXPECT_FALSE(ConstantTimeEqual(whole.Expose().first(16), other.Expose().first(16)));
}

TEST(HkdfSha256DeathTest, AbortsOnLengthsTheStandardDoesNotHave) {
  EXPECT_DEATH(HkdfSha256(CountingKey(), {}, 255 * 32 + 1), "libcrypto failed: HKDF derive");
  EXPECT_DEATH(HkdfSha256(CountingKey(), {}, 0), "libcrypto failed: HKDF derive");
}

// The first value is test case 13 of the GCM specification (McGrew and Viega), the second was
// computed with Python's cryptography package.
TEST(OneTimeHashTest, IsAes256Gmac) {
  const SecretBytes zeros(32);
  EXPECT_EQ(base::ToHex(OneTimeHash(zeros, {})), "530f8afbc74536b9a963b4f1c4cb738b");  // case 13
  EXPECT_EQ(base::ToHex(OneTimeHash(SecretBytes::CopyOf(CountingKey()),
                                    base::AsBytes("a message of twenty-five b"))),
            "adba1df4c2f3fbef62c574695ec80d3f");
}

TEST(OneTimeHashTest, EveryBitOfMessageAndKeyCounts) {
  base::Bytes message(100, 7);
  const auto original = OneTimeHash(SecretBytes::CopyOf(CountingKey()), message);
  for (size_t bit = 0; bit < 8 * message.size(); bit += 5) {
    message[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    EXPECT_NE(OneTimeHash(SecretBytes::CopyOf(CountingKey()), message), original);
    message[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
  }
  EXPECT_NE(OneTimeHash(SecretBytes(32), message), original);
  EXPECT_NE(OneTimeHash(SecretBytes::CopyOf(CountingKey()), std::span(message).first(99)),
            original);
}

// Computed with Python's hashlib: blake2b(message, key=bytes([1]) * 32, digest_size=16).
TEST(KeyedHash64Test, IsKeyedBlake2b) {
  const SecretBytes key = SecretBytes::CopyOf(base::Bytes(32, 1));
  EXPECT_EQ(KeyedHash64(key, base::AsBytes("abc")), 8381957653866042908u);
  EXPECT_EQ(KeyedHash64(key, {}), 6178237787449263242u);
  EXPECT_NE(KeyedHash64(SecretBytes(32), base::AsBytes("abc")), 8381957653866042908u);
}

TEST(KeyedHash64DeathTest, AbortsOnOtherKeySizes) {
  EXPECT_DEATH(KeyedHash64(SecretBytes(16), {}), "needs a 32-byte key");
}

TEST(OneTimeHashDeathTest, AbortsOnOtherKeySizes) {
  EXPECT_DEATH(OneTimeHash(SecretBytes(16), {}), "needs a 32-byte key");
}

}  // namespace
}  // namespace tacet::crypto
