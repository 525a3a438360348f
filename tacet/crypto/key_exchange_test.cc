#include "tacet/crypto/key_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/crypto/bad_keys_for_test.h"

namespace tacet::crypto {
namespace {

using ::testing::HasSubstr;

SecretBytes FromHex(std::string_view hex) {
  const base::Bytes bytes = *base::FromHex(hex);
  return SecretBytes::CopyOf(bytes);
}

// RFC 7748, section 6.1.
TEST(KeyExchangeTest, AgreesAsInTheStandard) {
  const ExchangeKey alice = *ExchangeKey::FromSecret(
      FromHex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a"));
  const ExchangeKey bob = *ExchangeKey::FromSecret(
      FromHex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"));
  EXPECT_EQ(base::ToHex(alice.public_key()),
            "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a");
  EXPECT_EQ(base::ToHex(bob.public_key()),
            "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f");
  const std::string shared = "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742";
  EXPECT_EQ(base::ToHex(alice.Agree(bob.public_key())->Expose()), shared);
  EXPECT_EQ(base::ToHex(bob.Agree(alice.public_key())->Expose()), shared);
}

TEST(KeyExchangeTest, RefusesAPointOfSmallOrder) {
  InsecureSeededEntropy entropy(1, "exchange");
  const ExchangeKey key = ExchangeKey::Generate(entropy);
  EXPECT_THAT(base::Message(key.Agree(ExchangePublicKey{}).status()),
              HasSubstr("is not an exchange key"));
}

TEST(KeyExchangeTest, RefusesKeysThatNoSecretBelongsTo) {
  const std::vector<ExchangePublicKey> bad = BadExchangeKeys();
  EXPECT_EQ(bad.size(), 27u);
  for (const ExchangePublicKey& key : bad) {
    EXPECT_THAT(base::Message(CheckExchangeKey(key)),
                HasSubstr(base::ToHex(key) + " is not an exchange key: it is"));
  }
  InsecureSeededEntropy entropy(1, "exchange");
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(CheckExchangeKey(ExchangeKey::Generate(entropy).public_key()).ok());
  }
}

TEST(KeyExchangeTest, RefusesASecretOfAnotherLength) {
  EXPECT_THAT(base::Message(ExchangeKey::FromSecret(SecretBytes(31)).status()),
              HasSubstr("31 bytes, expected 32"));
}

}  // namespace
}  // namespace tacet::crypto
