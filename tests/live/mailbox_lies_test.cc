// Mail of a server that lies, and of members that do.
#include <map>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/live/mailbox_life_for_test.h"

namespace tacet::live {
namespace {

using absl::StatusCode;
using base::ValueOf;
using protocol::MailClient;
using protocol::MailKind;
using storage::file::KeyFile;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The server and the network see neither an epoch key nor the initial model.
TEST_F(MailboxLifeTest, WhatPassesThroughOpensForItsSiteAlone) {
  ASSERT_OK_AND_ASSIGN(const auto prekeys, Rotate());
  for (const auto& [name, site] : sites_) ASSERT_EQ(Join(name), absl::OkStatus());
  ASSERT_GT(heard_.size(), 10'000u);
  EXPECT_TRUE(IsHeard(KeyOf("north")));  // so a search finds what is there
  EXPECT_FALSE(IsHeard(epoch_keys_.at(0).Expose()));
  const base::Bytes model = agreement::WriteInitialModel(model_);
  EXPECT_FALSE(IsHeard(std::span(model).first(32)));
  EXPECT_FALSE(IsHeard(std::span(model).subspan(40, 24)));
  EXPECT_FALSE(IsHeard(base::AsBytes(manifests_[1].annex())));
  EXPECT_FALSE(IsHeard(manifests_[1].authority()));
  for (const auto& [name, site] : sites_) {
    for (const auto& own : ValueOf(storage::file::ExchangeKeyFiles(Home(name)).All(KeyFile(2)))) {
      EXPECT_FALSE(IsHeard(agreement::WriteExchangeKeys(own).Expose().first(32)));
    }
  }
}

TEST_F(MailboxLifeTest, AWithheldLetterChangesNothing) {
  ASSERT_OK_AND_ASSIGN(const auto prekeys, Rotate());
  lie_ = [](const protocol::MailBody&, absl::StatusOr<base::Bytes>) {
    return absl::StatusOr<base::Bytes>(base::NotFound("nothing"));
  };
  EXPECT_EQ(RefusedBy("north").code(), StatusCode::kNotFound);
  EXPECT_EQ(EpochOf("north"), 0u);
  // The file that goes by another way is as good.
  lie_ = nullptr;
  EXPECT_TRUE(sites_.at("north").Join(File("north", 1), coordinator_, KeyFile(2)).ok());
  EXPECT_EQ(Join("north"), absl::OkStatus());  // the letter says nothing new, and is dropped
}

TEST_F(MailboxLifeTest, OldForeignMixedAndAlteredLettersAreRefused) {
  ASSERT_TRUE(Rotate().ok());
  const base::Bytes old = Kept(MailKind::kLetter, "north");
  const base::Bytes old_enclosure = Kept(MailKind::kEnclosure);
  const base::Bytes of_south = Kept(MailKind::kLetter, "south");
  for (const auto& [name, site] : sites_) ASSERT_EQ(Join(name), absl::OkStatus());
  BeginServer(1);
  ASSERT_TRUE(Rotate().ok());
  for (const auto& [name, site] : sites_) ASSERT_EQ(Join(name), absl::OkStatus());
  ASSERT_TRUE(Rotate().ok());
  const base::Bytes letter = Kept(MailKind::kLetter, "north");
  const base::Bytes enclosure = Kept(MailKind::kEnclosure);

  Serve(MailKind::kLetter, old);
  EXPECT_EQ(RefusedBy("north"), absl::OkStatus());  // nothing new, and nothing changed
  EXPECT_EQ(EpochOf("north"), 2u);
  Serve(MailKind::kLetter, of_south);
  EXPECT_THAT(base::Message(RefusedBy("north")), HasSubstr("for another site"));
  Serve(MailKind::kLetter, Kept(MailKind::kLetter, "west"));
  EXPECT_THAT(base::Message(RefusedBy("north")), HasSubstr("for another site"));
  Serve(MailKind::kEnclosure, old_enclosure);
  EXPECT_THAT(base::Message(RefusedBy("north")),
              HasSubstr("the enclosure is not the one that the coordinator named"));
  // A letter that somebody else wrote.
  const auto read = ValueOf(protocol::ReadLetter(letter, coordinator_));
  Serve(MailKind::kLetter, protocol::WriteLetter(read, crypto::SigningKey::Generate(entropy_)));
  EXPECT_EQ(RefusedBy("north").code(), StatusCode::kPermissionDenied);
  // A box for another site in a letter that a bad coordinator signed.
  protocol::Letter mixed = read;
  mixed.epoch_key =
      ValueOf(protocol::ReadLetter(Kept(MailKind::kLetter, "west"), coordinator_)).epoch_key;
  Serve(MailKind::kLetter, protocol::WriteLetter(mixed, keys_->signing));
  EXPECT_THAT(base::Message(RefusedBy("north")), HasSubstr("is not for an exchange key"));
  for (size_t i = 0; i < letter.size(); i += 211) {
    base::Bytes altered = letter;
    altered[i] ^= 0x20;
    Serve(MailKind::kLetter, altered);
    EXPECT_FALSE(RefusedBy("north").ok()) << i;
    Serve(MailKind::kLetter, base::Bytes(letter.begin(), letter.begin() + static_cast<long>(i)));
    EXPECT_FALSE(RefusedBy("north").ok()) << i;
  }
  for (size_t i = 0; i < enclosure.size(); i += 3989) {
    base::Bytes altered = enclosure;
    altered[i] ^= 0x20;
    Serve(MailKind::kEnclosure, altered);
    EXPECT_FALSE(RefusedBy("north").ok()) << i;
  }
  lie_ = nullptr;
  EXPECT_EQ(Join("north"), absl::OkStatus());
}

// A server that returns more than there may be, or the same part without end.
TEST_F(MailboxLifeTest, AnswersWithoutEndAreGivenUp) {
  ASSERT_TRUE(Rotate().ok());
  lie_ = [](const protocol::MailBody& body, absl::StatusOr<base::Bytes> honest) {
    if (!std::holds_alternative<protocol::FetchMail>(body)) return honest;
    return absl::StatusOr<base::Bytes>(
        protocol::WriteFetchedPartHead(protocol::kMaxLetterBytes + 1, 0));
  };
  EXPECT_EQ(RefusedBy("north").code(), StatusCode::kDataLoss);
  lie_ = [](const protocol::MailBody& body, absl::StatusOr<base::Bytes> honest) {
    if (!std::holds_alternative<protocol::FetchMail>(body)) return honest;
    return absl::StatusOr<base::Bytes>(protocol::WriteFetchedPartHead(100, 0));
  };
  EXPECT_THAT(base::Message(RefusedBy("north")),
              HasSubstr("the server's mail is cut: 0 bytes at byte 0 of 100"));
  // One byte a call, and one byte more each time.
  for (const bool grows : {false, true}) {
    uint64_t calls = 0;
    lie_ = [&](const protocol::MailBody& body, absl::StatusOr<base::Bytes> honest) {
      if (!std::holds_alternative<protocol::FetchMail>(body)) return honest;
      ++calls;
      base::Bytes answer = protocol::WriteFetchedPartHead(grows ? calls : 100, 1);
      answer.push_back(7);
      return absl::StatusOr<base::Bytes>(answer);
    };
    EXPECT_EQ(RefusedBy("north").code(), StatusCode::kDataLoss);
    EXPECT_EQ(calls, 1u);
  }
  lie_ = [](const protocol::MailBody& body, absl::StatusOr<base::Bytes> honest) {
    if (!std::holds_alternative<protocol::PutMail>(body)) return honest;
    return absl::StatusOr<base::Bytes>(protocol::WriteArrived(0));
  };
  EXPECT_EQ(EndJoin("north").code(), StatusCode::kDataLoss);
}

// Prekeys that the server withholds, returns again, mixes up or makes are not enrolled, and their
// sites are named. The epoch does not begin with keys that were used.
TEST_F(MailboxLifeTest, OnlyUnusedPrekeysOfTheirSitesAreTaken) {
  std::map<std::string, base::Bytes> used;
  for (const auto& [name, site] : sites_) used[name] = Kept(MailKind::kPrekey, name);
  ASSERT_TRUE(Rotate().ok());
  for (const auto& [name, site] : sites_) ASSERT_EQ(Join(name), absl::OkStatus());
  const auto before = ValueOf(federation_->Enrolled());
  const std::string north = "north";
  const auto serve_north = [&](std::optional<base::Bytes> prekey) {
    lie_ = [this, prekey](const protocol::MailBody& body,
                          absl::StatusOr<base::Bytes> honest) -> absl::StatusOr<base::Bytes> {
      const auto* const fetch = std::get_if<protocol::FetchMail>(&body);
      if (fetch == nullptr || fetch->name.site != KeyOf("north")) return honest;
      if (!prekey.has_value()) return base::NotFound("nothing");
      base::Bytes answer = protocol::WriteFetchedPartHead(prekey->size(), prekey->size());
      answer.insert(answer.end(), prekey->begin(), prekey->end());
      return answer;
    };
  };
  const auto expect_refused = [&](const std::string& why) {
    const absl::Status refused = Rotate().status();
    EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(base::Message(refused), HasSubstr("would keep exchange keys of an earlier epoch, "
                                                  "those of north."));
    EXPECT_THAT(told_.run_out, ElementsAre("north"));
    if (why.empty()) {
      EXPECT_THAT(told_.refused, IsEmpty());
    } else {
      EXPECT_THAT(told_.refused, ElementsAre(HasSubstr(why)));
    }
    EXPECT_EQ(ValueOf(federation_->Epoch()), 1u);
  };
  serve_north(std::nullopt);
  expect_refused("");
  serve_north(used["north"]);
  expect_refused("");  // the request that is enrolled, whose keys the epoch has
  serve_north(Kept(MailKind::kPrekey, "south"));
  expect_refused("has other keys than north");
  serve_north(used["south"]);
  expect_refused("has other keys than north");
  base::Bytes altered = Kept(MailKind::kPrekey, "north");
  altered[200] ^= 1;
  serve_north(altered);
  expect_refused("the prekey of north is none");
  // Its identity, and a key of the server's own that the site never made.
  const agreement::MemberKeys server_made = agreement::MemberKeys::Generate(entropy_);
  serve_north(agreement::WriteEnrolmentRequest(
      north, {}, server_made, agreement::ExchangeKeys::Generate(entropy_).public_keys()));
  expect_refused("has other keys than north");

  lie_ = nullptr;
  ASSERT_OK_AND_ASSIGN(const auto prekeys, Rotate());
  EXPECT_THAT(prekeys.taken, ElementsAre("north", "south", "west"));
  // An older key than the one that is enrolled: an epoch has had it.
  for (const auto& [name, site] : sites_) ASSERT_EQ(Join(name), absl::OkStatus());
  serve_north(used["north"]);
  EXPECT_FALSE(Rotate().ok());
  EXPECT_THAT(told_.refused, ElementsAre(HasSubstr("was used in epoch 1")));
  EXPECT_THAT(told_.run_out, ElementsAre("north"));
}

// A key twice in a manifest ends the epoch of all. Who signed it is named, and the others' keys are
// taken.
TEST_F(MailboxLifeTest, AMemberThatSendsKeysOfOthersIsNamed) {
  const auto south = ValueOf(agreement::ReadEnrolmentRequest(sites_.at("south").request()));
  const auto enrolled = ValueOf(federation_->Enrolled());
  const agreement::MemberKeys north = ValueOf(sites_.at("north").UnlockKeys(KeyFile(2)));
  const agreement::ExchangePublicKeys own =
      agreement::ExchangeKeys::Generate(entropy_).public_keys();
  const auto leave = [&](const agreement::ExchangePublicKeys& keys) {
    Line line(*this, "north");
    const MailClient mail(Federation(), north.signing, line, 1);
    ASSERT_EQ(mail.Put({.kind = MailKind::kPrekey, .site = KeyOf("north")},
                       agreement::WriteEnrolmentRequest("north", {}, north, keys)),
              absl::OkStatus());
  };
  const auto expect_named = [&](const agreement::ExchangePublicKeys& keys,
                                const std::string& owner) {
    leave(keys);
    const absl::Status refused = Rotate().status();
    EXPECT_THAT(told_.refused,
                ::testing::Contains(HasSubstr("the prekey that north sent has a key of " + owner)));
    EXPECT_THAT(told_.run_out, ::testing::Contains("north"));
    EXPECT_THAT(base::Message(refused), HasSubstr("would keep exchange keys of an earlier epoch"));
    EXPECT_THAT(base::Message(refused), ::testing::Not(HasSubstr("same public key")));
    const auto now = ValueOf(federation_->Enrolled());
    EXPECT_EQ(now[0].request.exchange_keys, enrolled[0].request.exchange_keys);
  };
  // While south's prekey is not enrolled, nobody can tell which of the two made the key.
  expect_named({.exchange = south.exchange_keys.exchange, .kem = own.kem}, "south");
  EXPECT_THAT(told_.refused,
              ::testing::Contains(HasSubstr("the prekey that south sent has a key of north")));
  expect_named({.exchange = south.sealing_key, .kem = own.kem}, "south");
  EXPECT_THAT(told_.taken, ElementsAre("south", "west"));
  // Half of the signing keys cannot be exchange keys, and the server refuses those.
  for (const std::string owner : {"north", "south"}) {
    if (KeyOf(owner).back() >= 0x80) continue;
    expect_named({.exchange = KeyOf(owner), .kem = own.kem},
                 owner == "north" ? "its identity" : owner);
  }
  expect_named({.exchange = north.sealing.public_key(), .kem = own.kem}, "its identity");
  expect_named({.exchange = south.exchange_keys.exchange, .kem = own.kem},
               "south");  // enrolled now
  expect_named({.exchange = own.exchange, .kem = south.exchange_keys.kem}, "south");
  EXPECT_THAT(told_.refused, ::testing::SizeIs(1));
  leave(own);
  ASSERT_TRUE(Rotate().ok());
  EXPECT_THAT(told_.taken, ElementsAre("north", "south", "west"));
}

}  // namespace
}  // namespace tacet::live
