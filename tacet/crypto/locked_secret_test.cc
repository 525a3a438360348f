#include "tacet/crypto/locked_secret.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/status_for_test.h"

namespace tacet::crypto {
namespace {

using ::testing::HasSubstr;

constexpr Argon2Cost kCheap = {.passes = 1, .memory_bytes = 8192};
constexpr size_t kCostAt = 4 + 2 + 1;

Unlocker Passphrase(std::string_view text) {
  return *Unlocker::FromPassphrase(SecretBytes::CopyOf(base::AsBytes(text)), kCheap);
}
Unlocker KeyFile(uint8_t value) {
  SecretBytes content(32);
  std::ranges::fill(content.Expose(), value);
  return *Unlocker::FromKeyFile(std::move(content));
}

base::Bytes Locked(const Unlocker& unlocker, std::string_view purpose = "site identity") {
  InsecureSeededEntropy entropy(1, "lock");
  return *LockSecret(SecretBytes::CopyOf(base::AsBytes("the secret")), purpose, unlocker, entropy);
}

TEST(LockedSecretTest, OpensWithWhatLockedIt) {
  for (const Unlocker& unlocker : {Passphrase("correct horse"), KeyFile(7)}) {
    ASSERT_OK_AND_ASSIGN(const auto secret,
                         UnlockSecret(Locked(unlocker), "site identity", unlocker));
    EXPECT_EQ(base::AsText(secret.Expose()), "the secret");
  }
}

TEST(LockedSecretTest, SecretAndPassphraseAreNotInTheBytes) {
  const base::Bytes locked = Locked(Passphrase("correct horse"));
  EXPECT_EQ(base::AsText(locked).find("the secret"), std::string_view::npos);
  EXPECT_EQ(base::AsText(locked).find("correct"), std::string_view::npos);
}

TEST(LockedSecretTest, TheSamePassphraseLocksDifferently) {
  SystemEntropy entropy;
  const SecretBytes secret = SecretBytes::CopyOf(base::AsBytes("the secret"));
  const Unlocker unlocker = Passphrase("correct horse");
  EXPECT_NE(*LockSecret(secret, "x", unlocker, entropy),
            *LockSecret(secret, "x", unlocker, entropy));
}

TEST(LockedSecretTest, RefusesWrongKeysAndPurposes) {
  const base::Bytes locked = Locked(Passphrase("correct horse"));
  const absl::Status wrong = UnlockSecret(locked, "site identity", Passphrase("other")).status();
  EXPECT_EQ(wrong.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(base::Message(wrong), HasSubstr("site identity does not open: a wrong passphrase"));
  EXPECT_THAT(base::Message(UnlockSecret(locked, "site identity", KeyFile(7)).status()),
              HasSubstr("is locked with a passphrase"));
  EXPECT_THAT(
      base::Message(UnlockSecret(locked, "epoch key", Passphrase("correct horse")).status()),
      HasSubstr("it is \"site identity\", expected \"epoch key\""));
  EXPECT_EQ(UnlockSecret(Locked(KeyFile(7)), "site identity", KeyFile(8)).status().code(),
            absl::StatusCode::kPermissionDenied);
}

TEST(LockedSecretTest, EveryChangedByteIsNoticed) {
  const Unlocker unlocker = KeyFile(7);
  const base::Bytes locked = Locked(unlocker);
  for (size_t i = 0; i < locked.size(); ++i) {
    base::Bytes altered = locked;
    altered[i] ^= 1;
    EXPECT_FALSE(UnlockSecret(altered, "site identity", unlocker).ok()) << i;
    EXPECT_FALSE(UnlockSecret(std::span(locked).first(i), "site identity", unlocker).ok()) << i;
  }
}

// Anyone who hands over a file must not be able to make its reader work for hours.
TEST(LockedSecretTest, RefusesHostileCosts) {
  const Unlocker unlocker = Passphrase("correct horse");
  base::Bytes locked = Locked(unlocker);
  base::StoreU64(uint64_t{1} << 40, &locked[kCostAt + 8]);
  const absl::Status refused = UnlockSecret(locked, "site identity", unlocker).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(base::Message(refused), HasSubstr("1099511627776 bytes: 1 to 16 over"));
}

TEST(LockedSecretTest, RefusesWeakUnlockers) {
  EXPECT_THAT(base::Message(Unlocker::FromPassphrase({}).status()), HasSubstr("is empty"));
  EXPECT_THAT(base::Message(Unlocker::FromKeyFile(SecretBytes(31)).status()),
              HasSubstr("31 bytes, expected 32"));
  EXPECT_THAT(base::Message(Unlocker::FromPassphrase(SecretBytes(3), {.passes = 0}).status()),
              HasSubstr("0 passes"));
}

}  // namespace
}  // namespace tacet::crypto
