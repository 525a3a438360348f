#include "tacet/crypto/random.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/base/bytes.h"

namespace tacet::crypto {
namespace {

base::Bytes Hex(std::string_view text) { return base::FromHex(text).value(); }

// NIST SP 800-38A, F.5.5 (CTR-AES256.Encrypt): the key stream is plaintext xor ciphertext.
TEST(AesCtrStreamTest, NistVector) {
  const base::Bytes key = Hex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4");
  const base::Bytes counter = Hex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff");
  const base::Bytes plaintext =
      Hex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
          "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710");
  const base::Bytes ciphertext =
      Hex("601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5"
          "2b0930daa23de94ce87017ba2d84988ddfc9c58db67aada613c2dd08457941a6");
  AesCtrStream stream(key, counter);
  base::Bytes got(plaintext.size());
  stream.Fill(got);
  for (size_t i = 0; i < got.size(); ++i) got[i] ^= plaintext[i];
  EXPECT_EQ(base::ToHex(got), base::ToHex(ciphertext));
}

TEST(AesCtrStreamTest, PiecesGiveTheSameStream) {
  const base::Bytes key(32, 1);
  const base::Bytes iv(16, 0xff);  // the counter wraps at once
  base::Bytes whole(1000);
  AesCtrStream(key, iv).Fill(whole);
  AesCtrStream stream(key, iv);
  base::Bytes pieces;
  for (size_t size = 0; pieces.size() < whole.size(); ++size) {
    base::Bytes piece(std::min(size, whole.size() - pieces.size()), 0xcc);
    stream.Fill(piece);
    pieces.insert(pieces.end(), piece.begin(), piece.end());
  }
  EXPECT_EQ(pieces, whole);
}

TEST(AesCtrStreamDeathTest, AbortsOnOtherKeySizes) {
  EXPECT_DEATH(AesCtrStream(base::Bytes(16), base::Bytes(16)),
               "needs a 32-byte key and a 16-byte IV");
  EXPECT_DEATH(AesCtrStream(base::Bytes(32), base::Bytes(12)),
               "needs a 32-byte key and a 16-byte IV");
}

// Two fresh 32-byte keys agree with probability 2^-256.
TEST(SystemEntropyTest, EveryDrawIsFresh) {
  SystemEntropy a;
  SystemEntropy b;
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    seen.insert(base::ToHex(a.Draw(32).Expose()));
    seen.insert(base::ToHex(b.Draw(32).Expose()));
  }
  EXPECT_EQ(seen.size(), 200u);
}

// The system gives at most 32 MiB - 1 a call. The last 16 bytes stay zero with probability 2^-128.
TEST(SystemEntropyTest, FillsLongBuffersToTheEnd) {
  base::Bytes bytes((size_t{32} << 20) + 100);
  SystemEntropy entropy;
  entropy.Fill(bytes);
  EXPECT_TRUE(std::any_of(bytes.end() - 16, bytes.end(), [](uint8_t b) { return b != 0; }));
  entropy.Fill({});
}

TEST(SystemEntropyTest, ServesThreadsAtOnce) {
  SystemEntropy entropy;
  std::array<base::Bytes, 4> drawn;
  std::vector<std::thread> threads;
  for (base::Bytes& bytes : drawn) {
    threads.emplace_back([&entropy, &bytes] {
      bytes.resize(4096);
      entropy.Fill(bytes);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::string> distinct;
  for (const base::Bytes& bytes : drawn) distinct.insert(base::ToHex(bytes));
  EXPECT_EQ(distinct.size(), drawn.size());
}

// The first 48 bytes of AES-256-CTR under SHA-256("tacet/1/insecure-seed" ‖ 7 ‖ 5 ‖ "label").
TEST(InsecureSeededEntropyTest, KnownStream) {
  InsecureSeededEntropy entropy(7, "label");
  EXPECT_EQ(base::ToHex(entropy.Draw(48).Expose()),
            "07f34a18fadf93b34945ca19d8413119558f58f06e775afda11382e40d2897bd"
            "34f062b34eb4a2f6553f04cad37b4a59");
}

TEST(InsecureSeededEntropyTest, DependsOnSeedAndLabelOnly) {
  const auto first = [](uint64_t seed, std::string_view label) {
    InsecureSeededEntropy entropy(seed, label);
    return base::ToHex(entropy.Draw(16).Expose());
  };
  EXPECT_EQ(first(1, "a"), first(1, "a"));
  EXPECT_NE(first(1, "a"), first(2, "a"));
  EXPECT_NE(first(1, "a"), first(1, "b"));
  EXPECT_NE(first(1, "a"), first(1, ""));
}

TEST(RandomTest, WordsAreTheKeyStreamInOrder) {
  const base::Bytes key(32, 9);
  base::Bytes stream(8 * 1500);
  AesCtrStream(key, base::Bytes(16)).Fill(stream);
  Random random(SecretBytes::CopyOf(key));
  for (size_t i = 0; i < 1500; ++i) {  // two refills of the buffer
    ASSERT_EQ(random.NextU64(), base::LoadU64(stream.data() + 8 * i)) << i;
  }
}

TEST(RandomTest, FillsComeStraightFromTheStream) {
  const base::Bytes key(32, 9);
  base::Bytes stream(64);
  AesCtrStream(key, base::Bytes(16)).Fill(stream);
  Random random(SecretBytes::CopyOf(key));
  std::array<uint64_t, 4> words;
  random.FillU64(words);
  for (size_t i = 0; i < words.size(); ++i)
    EXPECT_EQ(words[i], base::LoadU64(stream.data() + 8 * i));
  base::Bytes rest(32);
  random.Fill(rest);
  EXPECT_EQ(rest, base::Bytes(stream.begin() + 32, stream.end()));
}

TEST(RandomTest, BelowStaysBelow) {
  InsecureSeededEntropy entropy(1, "below");
  Random random = Random::FromEntropy(entropy);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(random.Below(1), 0u);
  for (const uint64_t bound : {uint64_t{2}, uint64_t{62}, uint64_t{1} << 63, ~uint64_t{0}}) {
    for (int i = 0; i < 1000; ++i) ASSERT_LT(random.Below(bound), bound);
  }
}

// 62 cells of 10,000 expected draws: each count is within 6.9 deviations (99.2 each) with
// probability 1 - 62 * 5.2e-12 > 1 - 1e-9. A cell 10 % off (1000 draws) is caught with
// probability > 0.99.
TEST(RandomTest, BelowIsUniform) {
  InsecureSeededEntropy entropy(2, "uniform");
  Random random = Random::FromEntropy(entropy);
  std::array<int, 62> counts{};
  for (int i = 0; i < 62 * 10000; ++i) ++counts[random.Below(counts.size())];
  for (const int count : counts) EXPECT_NEAR(count, 10000, 6.9 * 99.2);
}

// For a bound of 3 * 2^62 a generator without rejection gives every third value twice as often:
// residue 0 modulo 3 would come with probability 1/2 instead of 1/3. 30,000 draws: deviation 81.6,
// allowed 6.5 of them (false alarm 8e-11), the error would be 61 deviations.
TEST(RandomTest, BelowRejectsTheBiasedWords) {
  InsecureSeededEntropy entropy(3, "rejection");
  Random random = Random::FromEntropy(entropy);
  constexpr uint64_t kBound = uint64_t{3} << 62;
  int multiples_of_three = 0;
  for (int i = 0; i < 30000; ++i) {
    const uint64_t value = random.Below(kBound);
    ASSERT_LT(value, kBound);
    multiples_of_three += value % 3 == 0 ? 1 : 0;
  }
  EXPECT_NEAR(multiples_of_three, 10000, 6.5 * 81.6);
}

}  // namespace
}  // namespace tacet::crypto
