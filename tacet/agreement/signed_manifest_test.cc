#include "tacet/agreement/signed_manifest.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/agreement/hospitals_for_test.h"
#include "tacet/agreement/labelled_signature.h"
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

ExchangePublicKeys KeysOf(uint8_t number) { return {.exchange = {number}, .kem = {number}}; }

SignedManifestSpec Spec() {
  SignedManifestSpec spec = HospitalFederation(3);
  spec.epoch = 4;
  spec.predecessor = {3};
  spec.annex = "batch = 20\n";
  const char* const names[] = {"north", "south", "west"};
  for (int i = 0; i < 3; ++i) {
    spec.members.push_back(SignMember(names[i], Sites()[i].signing, Sites()[i].sealing.public_key(),
                                      KeysOf(static_cast<uint8_t>(i + 2))));
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
  spec.members[1] =
      SignMember("south", Sites()[0].signing, Sites()[1].sealing.public_key(), KeysOf(2));
  EXPECT_THAT(message(spec), HasSubstr("south has the key of another member"));
  spec = Spec();
  spec.members[1] =
      SignMember("south", Sites()[1].signing, Sites()[1].sealing.public_key(), KeysOf(1));
  EXPECT_THAT(message(spec), AllOf(HasSubstr("south"), HasSubstr("a point of small order")));
  spec.members[1] = SignMember("south", Sites()[1].signing, {1}, KeysOf(3));
  EXPECT_THAT(message(spec), AllOf(HasSubstr("south"), HasSubstr("a point of small order")));
  spec = Spec();
  spec.agreement.sampling.cohort = 4;
  EXPECT_THAT(message(spec), HasSubstr("the federation has 3 clients"));
  spec = Spec();
  spec.authority = {1, 2, 3};
  EXPECT_THAT(message(spec), HasSubstr("not an X.509 certificate"));
}

// Clients encapsulate to these keys, so nobody but the seat's member chooses one.
TEST(SignedManifestTest, HoldsTheKemKeysThatTheSeatsSigned) {
  SignedManifestSpec spec = Spec();
  spec.agreement.committee = {.seats = 2, .corrupt = 0};
  spec.agreement.committee_members = {2, 0};
  spec.agreement.privacy.colluders = 0;
  const auto signed_with = [](const SignedManifestSpec& with) {
    return SignedManifest::Sign(with, NewSigningKey("coordinator"));
  };
  const absl::StatusOr<SignedManifest> manifest = signed_with(spec);
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  const std::vector<crypto::KemPublicKey> keys = {KeysOf(4).kem, KeysOf(2).kem};
  EXPECT_EQ(manifest->seat_keys(), keys);
  EXPECT_EQ(SignedManifest::Read(manifest->bytes())->seat_keys(), keys);
  EXPECT_EQ(manifest->members()[1].kem_key, nullptr);
  EXPECT_EQ(manifest->members()[1].kem_digest, crypto::Sha256(KeysOf(3).kem));
  // The manifest's hash covers them, and no seat has another key or none.
  SignedManifestSpec other = spec;
  other.members[1] = SignMember("south", Sites()[1].signing, Sites()[1].sealing.public_key(),
                                {.exchange = KeysOf(3).exchange, .kem = KeysOf(9).kem});
  EXPECT_NE(signed_with(other)->manifest().hash(), manifest->manifest().hash());
  const auto refused = HasSubstr("its KEM key is not the one it signed");
  other = spec;
  other.members[2].kem_key = std::make_shared<const crypto::KemPublicKey>(KeysOf(9).kem);
  EXPECT_THAT(base::Message(signed_with(other).status()),
              AllOf(HasSubstr("west is on the committee"), refused));
  other.members[2].kem_key.reset();
  EXPECT_THAT(base::Message(signed_with(other).status()), refused);
  crypto::KemPublicKey none;
  none.fill(0xff);
  other.members[2] = SignMember("west", Sites()[2].signing, Sites()[2].sealing.public_key(),
                                {.exchange = KeysOf(4).exchange, .kem = none});
  EXPECT_THAT(base::Message(signed_with(other).status()), HasSubstr("not an ML-KEM-768 key"));
}

// A coordinator, or a thief of its key, that puts a key of its own next to a member's name would
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
  EXPECT_THAT(message([](ManifestMember& member) { member.kem_digest = {9}; }), refused);
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

const std::vector<crypto::KemKey>& KemKeys() {
  static const auto& keys = *new std::vector<crypto::KemKey>([] {
    std::vector<crypto::KemKey> made;
    crypto::InsecureSeededEntropy entropy(1, "KEM keys");
    for (int i = 0; i < 3; ++i) made.push_back(crypto::KemKey::Generate(entropy));
    return made;
  }());
  return keys;
}

base::Bytes EncryptedFor(uint64_t member, const crypto::SigningKey& coordinator) {
  crypto::SystemEntropy entropy;
  return EncryptEpochKey(Signed(), member, KemKeys()[member].public_key(), EpochKey(), coordinator,
                         entropy)
      .value();
}
// As the member `reader` does it.
absl::StatusOr<crypto::SecretBytes> Decrypt(std::span<const uint8_t> sealed, uint64_t reader,
                                            const SignedManifest& manifest = Signed()) {
  return DecryptEpochKey(sealed, manifest, reader, Sites()[reader].sealing, KemKeys()[reader]);
}

TEST(EpochKeyTest, IsForOneMemberOfOneEpoch) {
  const crypto::SigningKey coordinator = NewSigningKey("coordinator");
  const base::Bytes sealed = EncryptedFor(1, coordinator);
  ASSERT_OK_AND_ASSIGN(const auto opened, Decrypt(sealed, 1));
  EXPECT_TRUE(crypto::ConstantTimeEqual(opened.Expose(), EpochKey().Expose()));

  EXPECT_THAT(base::Message(Decrypt(sealed, 0).status()), HasSubstr("is for member 1, not for 0"));
  const auto with = [&](const crypto::SealingKey& sealing, const crypto::KemKey& kem) {
    return base::Message(DecryptEpochKey(sealed, Signed(), 1, sealing, kem).status());
  };
  EXPECT_THAT(with(Sites()[0].sealing, KemKeys()[1]), HasSubstr("made for other keys"));
  EXPECT_THAT(with(Sites()[1].sealing, KemKeys()[0]), HasSubstr("made for other keys"));
  SignedManifestSpec next = Spec();
  next.epoch = 5;
  const SignedManifest fifth = *SignedManifest::Sign(next, coordinator);
  EXPECT_THAT(base::Message(Decrypt(sealed, 1, fifth).status()),
              HasSubstr("not for epoch 5 of hospitals"));
}

TEST(EpochKeyTest, OnlyTheCoordinatorHandsOneOut) {
  const base::Bytes forged = EncryptedFor(1, NewSigningKey("a stranger"));
  const absl::Status refused = Decrypt(forged, 1).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(base::Message(refused), HasSubstr("not signed by the federation's coordinator"));
}

TEST(EpochKeyTest, EveryChangedByteIsNoticed) {
  const base::Bytes sealed = EncryptedFor(1, NewSigningKey("coordinator"));
  for (size_t i = 0; i < sealed.size(); ++i) {
    base::Bytes altered = sealed;
    altered[i] ^= 1;
    EXPECT_FALSE(Decrypt(altered, 1).ok()) << i;
    EXPECT_FALSE(Decrypt(std::span(sealed).first(i), 1).ok());
  }
}

TEST(EpochKeyTest, RefusesStrangersAndShortKeys) {
  const crypto::SigningKey coordinator = NewSigningKey("coordinator");
  const auto refusal = [&coordinator](uint64_t member, const crypto::KemPublicKey& kem_key,
                                      const crypto::SecretBytes& epoch_key) {
    crypto::SystemEntropy entropy;
    return base::Message(
        EncryptEpochKey(Signed(), member, kem_key, epoch_key, coordinator, entropy).status());
  };
  const crypto::KemPublicKey good = KemKeys()[1].public_key();
  EXPECT_THAT(refusal(3, good, EpochKey()), HasSubstr("there is no member 3, the manifest has 3"));
  EXPECT_THAT(refusal(1, good, crypto::SecretBytes(31)), HasSubstr("31 bytes, expected 32"));
  crypto::KemPublicKey bad = good;
  bad[0] = bad[1] = 0xff;
  EXPECT_THAT(refusal(1, bad, EpochKey()), HasSubstr("not an ML-KEM-768 key"));
}

// The coordinator's signature stands next to a box of another member or epoch: its context is
// bound.
TEST(EpochKeyTest, ABoxOpensInItsPlaceAlone) {
  const crypto::SigningKey coordinator = NewSigningKey("coordinator");
  const base::Bytes sealed = EncryptedFor(1, coordinator);
  SignedManifestSpec spec = Spec();
  std::swap(spec.members[1], spec.members[0]);  // the same members with other numbers
  const SignedManifest other = *SignedManifest::Sign(spec, coordinator);
  base::ByteWriter moved;
  moved.Raw(std::span(sealed).first(6));
  moved.Raw(other.manifest().hash());
  moved.U32(other.epoch());
  moved.U64(0);
  moved.Raw(std::span(sealed).subspan(50, 1168));
  AppendSignature("tacet/1/encrypted epoch key", coordinator, moved);
  ASSERT_EQ(moved.bytes().size(), sealed.size());
  EXPECT_THAT(
      base::Message(
          DecryptEpochKey(moved.bytes(), other, 0, Sites()[1].sealing, KemKeys()[1]).status()),
      HasSubstr("for another context"));
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
