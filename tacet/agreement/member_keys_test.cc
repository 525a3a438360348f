#include "tacet/agreement/member_keys.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/status_for_test.h"
#include "tacet/crypto/bad_keys_for_test.h"

namespace tacet::agreement {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

MemberKeys NewKeys(std::string_view label = "site") {
  crypto::InsecureSeededEntropy entropy(1, label);
  return MemberKeys::Generate(entropy);
}

ExchangePublicKeys NewExchangeKeys(std::string_view label = "exchange keys") {
  crypto::InsecureSeededEntropy entropy(1, label);
  return ExchangeKeys::Generate(entropy).public_keys();
}

TEST(MemberKeysTest, ExchangeKeysAreTheSameAfterTheyWereStored) {
  crypto::SystemEntropy entropy;
  const ExchangeKeys keys = ExchangeKeys::Generate(entropy);
  const crypto::SecretBytes bytes = WriteExchangeKeys(keys);
  EXPECT_EQ(bytes.size(), 96u);
  ASSERT_OK_AND_ASSIGN(const auto again, ReadExchangeKeys(bytes));
  EXPECT_EQ(again.public_keys(), keys.public_keys());
  for (const size_t size : {size_t{0}, size_t{32}, size_t{95}}) {
    EXPECT_FALSE(ReadExchangeKeys(crypto::SecretBytes::CopyOf(bytes.Expose().first(size))).ok());
  }
  EXPECT_FALSE(ReadExchangeKeys(crypto::SecretBytes(97)).ok());
}

TEST(MemberKeysTest, AreTheSameAfterTheyWereStored) {
  const MemberKeys keys = NewKeys();
  ASSERT_OK_AND_ASSIGN(const auto again, ReadSiteKeys(WriteSiteKeys(keys)));
  EXPECT_EQ(again.signing.public_key(), keys.signing.public_key());
  EXPECT_EQ(again.sealing.public_key(), keys.sealing.public_key());
  EXPECT_EQ(again.tls.public_key(), keys.tls.public_key());
  EXPECT_EQ(again.signing.Sign(base::AsBytes("m")), keys.signing.Sign(base::AsBytes("m")));
  const crypto::SecretBytes bytes = WriteSiteKeys(keys);
  for (const size_t size : {size_t{0}, size_t{10}, size_t{68}, bytes.size() - 1}) {
    EXPECT_FALSE(ReadSiteKeys(crypto::SecretBytes::CopyOf(bytes.Expose().first(size))).ok())
        << size;
  }
}

TEST(MemberKeysTest, TheOfficerIsPartOfTheIdentity) {
  MemberKeys keys = NewKeys();
  EXPECT_FALSE(ReadSiteKeys(WriteSiteKeys(keys))->officer.has_value());
  const crypto::PublicKey officer = NewKeys("officer").signing.public_key();
  keys.officer = officer;
  ASSERT_OK_AND_ASSIGN(const auto again, ReadSiteKeys(WriteSiteKeys(keys)));
  EXPECT_EQ(again.officer, officer);
  EXPECT_EQ(again.tls.public_key(), keys.tls.public_key());
  // A site that asks to be enrolled does not tell.
  const std::vector<std::string> none;
  const base::Bytes request = WriteEnrolmentRequest("north", none, keys, NewExchangeKeys());
  keys.officer.reset();
  EXPECT_EQ(WriteEnrolmentRequest("north", none, keys, NewExchangeKeys()), request);
}

TEST(MemberKeysTest, ARequestSaysWhoAsks) {
  const MemberKeys keys = NewKeys();
  const std::vector<std::string> none, hosts = {"tacet.example", "10.0.0.1"};
  for (const auto& of_server : {none, hosts}) {
    const auto exchange_keys = of_server.empty() ? NewExchangeKeys() : ExchangePublicKeys{};
    ASSERT_OK_AND_ASSIGN(const auto request, ReadEnrolmentRequest(WriteEnrolmentRequest(
                                                 "north", of_server, keys, exchange_keys)));
    EXPECT_EQ(request.name, "north");
    EXPECT_EQ(request.server, !of_server.empty());
    EXPECT_EQ(request.hosts, of_server);
    EXPECT_EQ(request.signing_key, keys.signing.public_key());
    EXPECT_EQ(request.sealing_key, keys.sealing.public_key());
    EXPECT_EQ(request.exchange_keys, exchange_keys);
    EXPECT_EQ(request.tls_key, keys.tls.public_key());
    EXPECT_TRUE(IsSignedByMember(MemberOf(request)));
  }
}

TEST(MemberKeysTest, SitesHaveExchangeKeysAndTheServerHasNone) {
  const auto refusal = [](const std::vector<std::string>& hosts, const ExchangePublicKeys& keys) {
    return base::Message(
        ReadEnrolmentRequest(WriteEnrolmentRequest("north", hosts, NewKeys(), keys)).status());
  };
  const ExchangePublicKeys both = NewExchangeKeys();
  const ExchangePublicKeys exchange = {.exchange = both.exchange, .kem = {}};
  const ExchangePublicKeys kem = {.exchange = {}, .kem = both.kem};
  EXPECT_THAT(refusal({}, {}), HasSubstr("the exchange key of a site is missing"));
  EXPECT_THAT(refusal({}, kem), HasSubstr("the exchange key of a site is missing"));
  EXPECT_THAT(refusal({}, exchange), HasSubstr("the KEM key of a site is missing"));
  for (const ExchangePublicKeys& keys : {both, exchange, kem}) {
    EXPECT_THAT(refusal({"tacet.example"}, keys), HasSubstr("a server has no exchange keys"));
  }
}

// The owner of a request can sign any keys, also such as end the rounds of all others.
TEST(MemberKeysTest, RefusesKeysThatNoSecretBelongsTo) {
  const MemberKeys keys = NewKeys();
  const auto refusal = [&keys](const ExchangePublicKeys& bad) {
    return base::Message(
        ReadEnrolmentRequest(WriteEnrolmentRequest("north", {}, keys, bad)).status());
  };
  const ExchangePublicKeys good = NewExchangeKeys();
  for (const crypto::ExchangePublicKey& bad : crypto::BadExchangeKeys()) {
    if (bad == crypto::ExchangePublicKey{}) continue;
    EXPECT_THAT(refusal({.exchange = bad, .kem = good.kem}),
                AllOf(HasSubstr("north"), HasSubstr(base::ToHex(bad) + " is not an exchange key")));
  }
  ExchangePublicKeys altered = good;
  altered.kem[3] = 0x01;  // coefficient 2 is q
  altered.kem[4] = static_cast<uint8_t>((altered.kem[4] & 0xf0) | 0x0d);
  EXPECT_THAT(refusal(altered), AllOf(HasSubstr("north"), HasSubstr("coefficient 2 is 3329")));
  base::Bytes request = WriteEnrolmentRequest("north", {}, keys, NewExchangeKeys());
  const auto& own = keys.signing.public_key();
  const auto at = std::search(request.begin(), request.end(), own.begin(), own.end());
  ASSERT_NE(at, request.end());
  for (const crypto::PublicKey& bad : crypto::BadSigningKeys()) {
    std::ranges::copy(bad, at);
    EXPECT_THAT(base::Message(ReadEnrolmentRequest(request).status()),
                AllOf(HasSubstr("north"), HasSubstr(base::ToHex(bad) + " is not a signing key")));
  }
}

TEST(MemberKeysTest, EveryChangedByteOfARequestIsNoticed) {
  const ExchangePublicKeys exchange_keys = NewExchangeKeys();
  const base::Bytes request = WriteEnrolmentRequest("north", {}, NewKeys(), exchange_keys);
  const auto& kem = exchange_keys.kem;
  const auto kem_at = static_cast<size_t>(
      std::search(request.begin(), request.end(), kem.begin(), kem.end()) - request.begin());
  ASSERT_LT(kem_at, request.size());
  for (size_t i = 0; i < request.size(); i += i >= kem_at && i < kem_at + 1184 - 37 ? 37 : 1) {
    base::Bytes altered = request;
    altered[i] ^= 1;
    EXPECT_FALSE(ReadEnrolmentRequest(altered).ok()) << i;
    EXPECT_FALSE(ReadEnrolmentRequest(std::span(request).first(i)).ok()) << i;
  }
}

// Somebody else's sealing key next to one's own signature would read that site's epoch keys only
// with the private half, but a site must not be able to ask with half of another one.
TEST(MemberKeysTest, NobodyAsksWithAnothersSigningKey) {
  const MemberKeys mine = NewKeys("mine"), theirs = NewKeys("theirs");
  base::Bytes request = WriteEnrolmentRequest("north", {}, mine, NewExchangeKeys());
  const auto& own = mine.signing.public_key();
  const auto at = std::search(request.begin(), request.end(), own.begin(), own.end());
  ASSERT_NE(at, request.end());
  std::ranges::copy(theirs.signing.public_key(), at);
  EXPECT_THAT(base::Message(ReadEnrolmentRequest(request).status()),
              HasSubstr("the keys are not signed by the key in it"));
}

TEST(MemberKeysTest, NamesAreShortAndPlain) {
  for (const char* name : {"a", "north-2", "z9"}) EXPECT_TRUE(CheckSiteName(name).ok()) << name;
  for (const char* name : {"", "North", "2nd", "-a", "a b", "a/b", "a.b",
                           "a1234567890123456789012345678901234567890"}) {
    EXPECT_THAT(base::Message(CheckSiteName(name)), HasSubstr("is not a name for a site")) << name;
  }
}

TEST(MemberKeysTest, FingerprintsAreReadAsPeopleWriteThem) {
  const crypto::Digest digest = crypto::Sha256(base::AsBytes("x"));
  const std::string text = FingerprintText(digest);
  EXPECT_EQ(text.size(), 64u + 15);
  EXPECT_EQ(text.substr(0, 9), "2d71 1642");
  EXPECT_EQ(ParseFingerprint(text).value(), digest);
  EXPECT_EQ(ParseFingerprint(base::ToHex(digest)).value(), digest);
  EXPECT_FALSE(ParseFingerprint(text.substr(1)).ok());
  EXPECT_THAT(base::Message(ParseFingerprint("xyz").status()), HasSubstr("64 hexadecimal digits"));
}

}  // namespace
}  // namespace tacet::agreement
