#include "tacet/crypto/secret.h"

#include <algorithm>
#include <array>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tacet::crypto {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

TEST(SecretVectorTest, StartsAsAlignedZeros) {
  const SecretVector<uint64_t> secret(1000);
  EXPECT_EQ(secret.size(), 1000u);
  EXPECT_FALSE(secret.empty());
  EXPECT_THAT(secret.Expose(), Each(0u));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(secret.Expose().data()) % 64, 0u);
}

TEST(SecretVectorTest, EmptyHoldsNothing) {
  const SecretBytes none;
  const SecretBytes zero(0);
  EXPECT_TRUE(none.empty());
  EXPECT_TRUE(zero.empty());
  EXPECT_TRUE(zero.Expose().empty());
}

TEST(SecretVectorTest, MovesAndLeavesNothingBehind) {
  SecretBytes a(3);
  a.Expose()[1] = 7;
  const uint8_t* memory = a.Expose().data();
  SecretBytes b(std::move(a));
  EXPECT_TRUE(a.empty());  // NOLINT(bugprone-use-after-move): what a move leaves is the test
  EXPECT_EQ(b.Expose().data(), memory);
  SecretBytes c(100);
  c = std::move(b);
  EXPECT_TRUE(b.empty());  // NOLINT(bugprone-use-after-move)
  EXPECT_THAT(c.Expose(), ElementsAre(0, 7, 0));
}

TEST(SecretVectorTest, SelfMoveKeepsTheContent) {
  SecretBytes a(1);
  a.Expose()[0] = 9;
  SecretBytes& alias = a;
  a = std::move(alias);
  EXPECT_THAT(a.Expose(), ElementsAre(9));
}

TEST(SecretVectorTest, CopiesOnlyWhenAsked) {
  static_assert(!std::is_copy_constructible_v<SecretBytes>);
  static_assert(!std::is_copy_assignable_v<SecretBytes>);
  const std::array<uint8_t, 3> source{1, 2, 3};
  SecretBytes copy = SecretBytes::CopyOf(source);
  EXPECT_THAT(copy.Expose(), ElementsAre(1, 2, 3));
  EXPECT_TRUE(SecretBytes::CopyOf({}).empty());
}

TEST(SecretVectorDeathTest, AbortsWhenTheSizeOverflows) {
  constexpr size_t kTooMany = std::numeric_limits<size_t>::max() / 8 + 2;
  EXPECT_DEATH(SecretVector<uint64_t> secret(kTooMany),
               "no memory for .* secret values of 8 bytes");
}

TEST(WipeTest, ZeroesExactlyTheRange) {
  std::array<uint8_t, 32> bytes;
  bytes.fill(0xaa);
  Wipe(bytes.data() + 1, 30);
  EXPECT_EQ(bytes.front(), 0xaa);
  EXPECT_EQ(bytes.back(), 0xaa);
  EXPECT_TRUE(std::all_of(bytes.begin() + 1, bytes.end() - 1, [](uint8_t b) { return b == 0; }));
}

TEST(ConstantTimeEqualTest, ComparesLengthAndEveryByte) {
  std::array<uint8_t, 40> a{};
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<uint8_t>(i);
  EXPECT_TRUE(ConstantTimeEqual(a, a));
  EXPECT_TRUE(ConstantTimeEqual({}, {}));
  EXPECT_FALSE(ConstantTimeEqual(std::span(a).first(39), a));
  for (size_t i = 0; i < a.size(); ++i) {
    auto b = a;
    b[i] ^= 0x80;
    EXPECT_FALSE(ConstantTimeEqual(a, b)) << i;
  }
}

}  // namespace
}  // namespace tacet::crypto
