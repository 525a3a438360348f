#include "tacet/agreement/signed_manifest.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/agreement/hospitals_for_test.h"
#include "tacet/agreement/member_keys.h"
#include "tacet/base/status_for_test.h"

namespace tacet::agreement {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

crypto::SigningKey NewSigningKey(std::string_view label) {
  crypto::InsecureSeededEntropy entropy(1, label);
  return crypto::SigningKey::Generate(entropy);
}

const std::vector<MemberKeys>& Sites() {
  static const auto& sites = *new std::vector<MemberKeys>([] {
    std::vector<MemberKeys> keys;
    crypto::InsecureSeededEntropy entropy(1, "sites");
    for (int i = 0; i < 3; ++i) keys.push_back(MemberKeys::Generate(entropy));
    return keys;
  }());
  return sites;
}

SignedManifestSpec Spec() {
  SignedManifestSpec spec = HospitalFederation(3);
  spec.epoch = 4;
  spec.predecessor = {3};
  spec.annex = "batch = 20\n";
  const char* const names[] = {"north", "south", "west"};
  for (int i = 0; i < 3; ++i) {
    spec.members.push_back(SignMember(names[i], Sites()[i].signing, Sites()[i].sealing.public_key(),
                                      {static_cast<uint8_t>(i + 2)}));
  }
  return spec;
}

const SignedManifest& Signed() {
  static const auto& manifest =
      *new SignedManifest(*SignedManifest::Sign(Spec(), NewSigningKey("coordinator")));
  return manifest;
}

TEST(SignedManifestTest, ALiveFederationEncryptsTheSumsOfTwoOrMore) {
  const auto refusal = [](void (*change)(SignedManifestSpec&)) {
    SignedManifestSpec spec = Spec();
    change(spec);
    return base::Message(SignedManifest::Sign(spec, NewSigningKey("coordinator")).status());
  };
  EXPECT_THAT(refusal([](SignedManifestSpec& spec) { spec.agreement.without_encryption = true; }),
              HasSubstr("the agreement leaves out encryption"));
  EXPECT_THAT(refusal([](SignedManifestSpec& spec) { spec.agreement.privacy.colluders = 2; }),
              HasSubstr("or lower privacy.colluders to 1"));
  EXPECT_THAT(refusal([](SignedManifestSpec& spec) {
                spec.agreement.sampling.cohort = 1;
                spec.members.resize(1);
              }),
              HasSubstr("the federation needs 2 members or more, it has 1"));
}

TEST(SignedManifestTest, IsReadAsItWasSigned) {
  ASSERT_OK_AND_ASSIGN(const auto read, SignedManifest::Read(Signed().bytes()));
  EXPECT_EQ(read.federation(), "hospitals");
  EXPECT_EQ(read.epoch(), 4u);
  EXPECT_EQ(read.annex(), "batch = 20\n");
  EXPECT_EQ(read.coordinator(), NewSigningKey("coordinator").public_key());
  EXPECT_EQ(read.authority(), Spec().authority);
  EXPECT_EQ(read.manifest().hash(), Signed().manifest().hash());
  EXPECT_EQ(read.bytes(), Signed().bytes());
  EXPECT_EQ(read.members()[2].name, "west");
  EXPECT_EQ(read.MemberWith(Sites()[1].signing.public_key()), 1u);
  EXPECT_EQ(read.MemberWith(read.coordinator()), std::nullopt);
}

TEST(SignedManifestTest, TheHashCoversTheAnnex) {
  SignedManifestSpec spec = Spec();
  spec.annex = "batch = 21\n";
  ASSERT_OK_AND_ASSIGN(const auto other, SignedManifest::Sign(spec, NewSigningKey("coordinator")));
  EXPECT_NE(other.manifest().hash(), Signed().manifest().hash());
  EXPECT_NE(other.manifest().agreement(), Signed().manifest().agreement());
}

TEST(SignedManifestTest, EveryChangedByteIsNoticed) {
  const base::Bytes& bytes = Signed().bytes();
  for (size_t i = 0; i < bytes.size(); ++i) {
    base::Bytes altered = bytes;
    altered[i] ^= 1;
    EXPECT_FALSE(SignedManifest::Read(altered).ok()) << i;
  }
  for (const size_t size : {size_t{0}, size_t{5}, bytes.size() / 2, bytes.size() - 1}) {
    EXPECT_FALSE(SignedManifest::Read(std::span(bytes).first(size)).ok()) << size;
  }
}

TEST(SignedManifestTest, RefusesMembersThatCannotBeToldApart) {
  const auto message = [](const SignedManifestSpec& spec) {
    return base::Message(SignedManifest::Sign(spec, NewSigningKey("coordinator")).status());
  };
  SignedManifestSpec spec = Spec();
  spec.members[1].name = "north";
  EXPECT_THAT(message(spec), HasSubstr("two members are called north"));
  spec = Spec();
  spec.members[1] = SignMember("south", Sites()[0].signing, Sites()[1].sealing.public_key(), {2});
  EXPECT_THAT(message(spec), HasSubstr("south has the key of another member"));
  spec = Spec();
  spec.members[1] = SignMember("south", Sites()[1].signing, Sites()[1].sealing.public_key(), {1});
  EXPECT_THAT(message(spec), AllOf(HasSubstr("south"), HasSubstr("a point of small order")));
  spec.members[1] = SignMember("south", Sites()[1].signing, {1}, {3});
  EXPECT_THAT(message(spec), AllOf(HasSubstr("south"), HasSubstr("a point of small order")));
  spec = Spec();
  spec.agreement.sampling.cohort = 4;
  EXPECT_THAT(message(spec), HasSubstr("the federation has 3 clients"));
  spec = Spec();
  spec.authority = {1, 2, 3};
  EXPECT_THAT(message(spec), HasSubstr("not an X.509 certificate"));
}

// A coordinator, or a thief of its key, that puts a key of its own beside a member's name would
// share that member's pairs, or read its epoch key. It signs a manifest like any other.
TEST(SignedManifestTest, NobodyButTheMemberChoosesItsKeys) {
  const auto message = [](void (*change)(ManifestMember & member)) {
    SignedManifestSpec spec = Spec();
    change(spec.members[1]);
    return base::Message(SignedManifest::Sign(spec, NewSigningKey("coordinator")).status());
  };
  const auto refused = HasSubstr("has not signed the keys that are listed for it");
  EXPECT_EQ(message([](ManifestMember&) {}), "");
  EXPECT_THAT(message([](ManifestMember& member) { member.exchange_key = {9}; }), refused);
  EXPECT_THAT(message([](ManifestMember& member) { member.sealing_key = {9}; }), refused);
  EXPECT_THAT(message([](ManifestMember& member) { member.name = "east"; }), refused);
  EXPECT_THAT(message([](ManifestMember& member) {
                member.signing_key = NewSigningKey("coordinator").public_key();
              }),
              refused);
  EXPECT_THAT(message([](ManifestMember& member) { member.signature = {}; }), refused);
}

// The same against a coordinator whose program skips the check when it signs: each member finds
// the false key when it reads the manifest.
TEST(SignedManifestTest, AMemberThatReadsAFalseKeyRefusesIt) {
  const crypto::SigningKey coordinator = NewSigningKey("coordinator");
  base::Bytes bytes = Signed().bytes();
  const auto replace = [&bytes](const crypto::SealingPublicKey& from,
                                const crypto::SealingPublicKey& to) {
    const auto at = std::search(bytes.begin(), bytes.end(), from.begin(), from.end());
    ASSERT_NE(at, bytes.end());
    std::ranges::copy(to, at);
  };
  replace(Sites()[1].sealing.public_key(), Sites()[2].sealing.public_key());
  const std::string_view label = "tacet/1/signed manifest";
  base::Bytes labelled(label.begin(), label.end());
  labelled.insert(labelled.end(), bytes.begin(), bytes.end() - 64);
  std::ranges::copy(coordinator.Sign(labelled), bytes.end() - 64);
  EXPECT_THAT(base::Message(SignedManifest::Read(bytes).status()),
              HasSubstr("south has not signed the keys that are listed for it"));
}

crypto::SecretBytes EpochKey() {
  crypto::InsecureSeededEntropy entropy(1, "epoch key");
  return entropy.Draw(32);
}

TEST(EpochKeyTest, IsForOneMemberOfOneEpoch) {
  const crypto::SigningKey coordinator = NewSigningKey("coordinator");
  const base::Bytes sealed = *EncryptEpochKey(Signed(), 1, EpochKey(), coordinator);
  ASSERT_OK_AND_ASSIGN(const auto opened, DecryptEpochKey(sealed, Signed(), 1, Sites()[1].sealing));
  EXPECT_TRUE(crypto::ConstantTimeEqual(opened.Expose(), EpochKey().Expose()));

  EXPECT_THAT(base::Message(DecryptEpochKey(sealed, Signed(), 0, Sites()[0].sealing).status()),
              HasSubstr("is for member 1, not for 0"));
  EXPECT_THAT(base::Message(DecryptEpochKey(sealed, Signed(), 1, Sites()[0].sealing).status()),
              HasSubstr("encrypted for another key"));
  SignedManifestSpec next = Spec();
  next.epoch = 5;
  EXPECT_THAT(base::Message(DecryptEpochKey(sealed, *SignedManifest::Sign(next, coordinator), 1,
                                            Sites()[1].sealing)
                                .status()),
              HasSubstr("not for epoch 5 of hospitals"));
}

TEST(EpochKeyTest, OnlyTheCoordinatorHandsOneOut) {
  const base::Bytes forged = *EncryptEpochKey(Signed(), 1, EpochKey(), NewSigningKey("a stranger"));
  const absl::Status refused = DecryptEpochKey(forged, Signed(), 1, Sites()[1].sealing).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(base::Message(refused), HasSubstr("not signed by the coordinator of hospitals"));
}

TEST(EpochKeyTest, EveryChangedByteIsNoticed) {
  const base::Bytes sealed =
      *EncryptEpochKey(Signed(), 1, EpochKey(), NewSigningKey("coordinator"));
  for (size_t i = 0; i < sealed.size(); ++i) {
    base::Bytes altered = sealed;
    altered[i] ^= 1;
    EXPECT_FALSE(DecryptEpochKey(altered, Signed(), 1, Sites()[1].sealing).ok()) << i;
    EXPECT_FALSE(DecryptEpochKey(std::span(sealed).first(i), Signed(), 1, Sites()[1].sealing).ok());
  }
}

TEST(EpochKeyTest, RefusesStrangersAndShortKeys) {
  const crypto::SigningKey coordinator = NewSigningKey("coordinator");
  EXPECT_THAT(base::Message(EncryptEpochKey(Signed(), 3, EpochKey(), coordinator).status()),
              HasSubstr("there is no member 3, the manifest has 3"));
  EXPECT_THAT(
      base::Message(EncryptEpochKey(Signed(), 1, crypto::SecretBytes(31), coordinator).status()),
      HasSubstr("31 bytes, expected 32"));
}

TEST(InvitationTest, HoldsItsParts) {
  const Invitation invitation{.manifest = {1, 2},
                              .earlier = {{9}, {8, 7}},
                              .certificate = {3},
                              .epoch_key = {},
                              .initial_model = {4, 5, 6, 7}};
  const base::Bytes bytes = WriteInvitation(invitation);
  ASSERT_OK_AND_ASSIGN(const auto read, ReadInvitation(bytes));
  EXPECT_EQ(read.manifest, invitation.manifest);
  EXPECT_EQ(read.certificate, invitation.certificate);
  EXPECT_EQ(read.epoch_key, invitation.epoch_key);
  EXPECT_EQ(read.initial_model, invitation.initial_model);
  for (size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_FALSE(ReadInvitation(std::span(bytes).first(i)).ok()) << i;
  }
}

}  // namespace
}  // namespace tacet::agreement
