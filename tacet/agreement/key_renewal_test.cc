#include "tacet/agreement/key_renewal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/agreement/hospitals_for_test.h"
#include "tacet/agreement/signed_manifest.h"

namespace tacet::agreement {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

EnrolmentRequest North() {
  return {.name = "north",
          .server = false,
          .hosts = {},
          .signing_key = {1},
          .sealing_key = {2},
          .exchange_keys = {.exchange = {3}, .kem = {3}},
          .member_signature = {3},
          .tls_key = {4}};
}

TEST(KeyRenewalTest, OtherExchangeKeysAreARenewal) {
  EnrolmentRequest asked = North();
  asked.exchange_keys = {.exchange = {5}, .kem = {5}};
  asked.member_signature = {5};
  EXPECT_TRUE(RenewsExchangeKeys(North(), asked));
  EXPECT_FALSE(RenewsExchangeKeys(North(), North()));
  // Half a renewal would leave the old secret of the other half in use.
  asked.exchange_keys = {.exchange = {5}, .kem = {3}};
  EXPECT_FALSE(RenewsExchangeKeys(North(), asked));
  asked.exchange_keys = {.exchange = {3}, .kem = {5}};
  EXPECT_FALSE(RenewsExchangeKeys(North(), asked));
}

// A thief of a signing key cannot make the coordinator encrypt epoch keys to another key, or sign
// another TLS key, without the telephone.
TEST(KeyRenewalTest, AnythingElseIsNone) {
  const auto renews = [](void (*change)(EnrolmentRequest&)) {
    EnrolmentRequest asked = North();
    asked.exchange_keys = {.exchange = {5}, .kem = {5}};
    change(asked);
    return RenewsExchangeKeys(North(), asked);
  };
  EXPECT_TRUE(renews([](EnrolmentRequest&) {}));
  EXPECT_FALSE(renews([](EnrolmentRequest& asked) { asked.name = "south"; }));
  EXPECT_FALSE(renews([](EnrolmentRequest& asked) { asked.server = true; }));
  EXPECT_FALSE(renews([](EnrolmentRequest& asked) { asked.hosts = {"north.example"}; }));
  EXPECT_FALSE(renews([](EnrolmentRequest& asked) { asked.signing_key = {9}; }));
  EXPECT_FALSE(renews([](EnrolmentRequest& asked) { asked.sealing_key = {9}; }));
  EXPECT_FALSE(renews([](EnrolmentRequest& asked) { asked.tls_key = {9}; }));
}

// Each member has the exchange key and the KEM key with its number; `kem_keys` of others.
std::vector<ManifestMember> MembersWith(std::vector<uint8_t> exchange_keys,
                                        std::vector<uint8_t> kem_keys = {}) {
  if (kem_keys.empty()) kem_keys = exchange_keys;
  SignedManifestSpec spec = HospitalFederation(exchange_keys.size());
  for (const uint8_t key : exchange_keys) {
    const auto number = static_cast<uint8_t>(spec.members.size());
    crypto::InsecureSeededEntropy entropy(number, "member");
    spec.members.push_back(SignMember(std::string{'a', static_cast<char>('a' + number)},
                                      crypto::SigningKey::Generate(entropy), {201, number},
                                      {.exchange = {key}, .kem = {kem_keys[number]}}));
  }
  crypto::InsecureSeededEntropy entropy(1, "coordinator");
  return SignedManifest::Sign(std::move(spec), crypto::SigningKey::Generate(entropy))->members();
}

TEST(KeyRenewalTest, MembersThatKeepTheirKeysAreFound) {
  const std::vector<ManifestMember> earlier = MembersWith({7, 2, 3});
  EXPECT_THAT(MembersKeepingKeys(earlier, earlier), ElementsAre(0, 1, 2));
  EXPECT_THAT(MembersKeepingKeys(earlier, MembersWith({4, 5, 6})), IsEmpty());
  // Also one that another member has had.
  EXPECT_THAT(MembersKeepingKeys(earlier, MembersWith({4, 2, 5, 7})), ElementsAre(1, 3));
  EXPECT_TRUE(NamesExchangeKey(earlier, {2}));
  EXPECT_FALSE(NamesExchangeKey(earlier, {4}));
  // Either key alone.
  EXPECT_THAT(MembersKeepingKeys(earlier, MembersWith({4, 5, 6}, {8, 3, 9})), ElementsAre(1));
  EXPECT_THAT(MembersKeepingKeys(earlier, MembersWith({4, 2, 6}, {8, 5, 9})), ElementsAre(1));
  EXPECT_TRUE(NamesKemKey(earlier, {2}));
  EXPECT_FALSE(NamesKemKey(earlier, {4}));
}

}  // namespace
}  // namespace tacet::agreement
