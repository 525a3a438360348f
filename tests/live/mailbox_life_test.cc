// Epochs of a federation whose invitations and prekeys pass through the mailbox of an honest
// server, and through lines that break.
#include <memory>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/agreement/key_renewal.h"
#include "tacet/coordinator/server_steps.h"
#include "tests/live/mailbox_life_for_test.h"

namespace tacet::live {
namespace {

using absl::StatusCode;
using base::ValueOf;
using protocol::MailClient;
using protocol::MailKind;
using storage::file::KeyFile;
using storage::file::SiteFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST_F(MailboxLifeTest, LaterEpochsNeedNoFiles) {
  for (uint32_t epoch = 1; epoch <= 2; ++epoch) {
    ASSERT_OK_AND_ASSIGN(const auto prekeys, Rotate());
    EXPECT_THAT(prekeys.taken, ElementsAre("north", "south", "west"));
    EXPECT_THAT(prekeys.run_out, IsEmpty());
    EXPECT_THAT(prekeys.refused, IsEmpty());
    EXPECT_TRUE(
        agreement::MembersKeepingKeys(manifests_[epoch - 1].members(), manifests_[epoch].members())
            .empty());
    ASSERT_EQ(Join("north"), absl::OkStatus());
    // The fetched file is the one that the coordinator wrote.
    EXPECT_EQ(FilesOf("north").at("invitation"), File("north", epoch));
    EXPECT_EQ(Join("north").code(), StatusCode::kNotFound);  // it has dropped its letter
    ASSERT_EQ(Join("south"), absl::OkStatus());
    // West is late: the server has begun the epoch by then.
    BeginServer(epoch);
    ASSERT_EQ(Join("west"), absl::OkStatus());
    for (const auto& [name, site] : sites_) EXPECT_EQ(EpochOf(name), epoch);
    EXPECT_FALSE(blobs_.Open({.name = {}, .member = 2}).ok()) << "the enclosure went with them";
  }
}

// An honest server has the letter of an epoch still whose successor the site joined by a file.
TEST_F(MailboxLifeTest, ALetterBeforeTheFileThatWasJoinedIsDropped) {
  ASSERT_TRUE(Rotate().ok());
  for (const std::string name : {"south", "west"}) ASSERT_EQ(Join(name), absl::OkStatus());
  // The next epoch begins without the mailbox.
  ASSERT_OK_AND_ASSIGN(auto next,
                       coordinator::BeginNextEpoch({.keep_exchange_keys = true}, kMailAsked,
                                                   keys_->signing, KeyFile(1), *federation_));
  ASSERT_TRUE(
      coordinator::WriteInvitations(*federation_, next.manifest, keys_->signing, next.key).ok());
  ASSERT_TRUE(sites_.at("north").Join(File("north", 2), coordinator_, KeyFile(2)).ok());
  EXPECT_EQ(Join("north"), absl::OkStatus());
  EXPECT_EQ(EpochOf("north"), 2u);
  EXPECT_EQ(Join("north").code(), StatusCode::kNotFound);
}

// A running client leaves what the folder says then, not what it said at its start.
TEST_F(MailboxLifeTest, ARunningClientLeavesNoUsedPrekey) {
  const SiteFolder running = ValueOf(SiteFolder::Open(Home("north")));
  const agreement::MemberKeys keys = ValueOf(running.UnlockKeys(KeyFile(2)));
  Line line(*this, "north");
  const MailClient mail(Federation(), keys.signing, line, 1);
  ASSERT_EQ(site::LeaveUnusedPrekey(mail, running), absl::OkStatus());
  ASSERT_TRUE(Rotate().ok());
  ASSERT_TRUE(sites_.at("north").Join(File("north", 1), coordinator_, KeyFile(2)).ok());
  const base::Bytes used = Kept(MailKind::kPrekey, "north");
  ASSERT_EQ(EndJoin("north"), absl::OkStatus());
  const base::Bytes fresh = Kept(MailKind::kPrekey, "north");
  ASSERT_NE(fresh, used);
  ASSERT_EQ(site::LeaveUnusedPrekey(mail, running), absl::OkStatus());
  EXPECT_EQ(Kept(MailKind::kPrekey, "north"), fresh);
  // Keys that were replaced meanwhile are left in their place.
  SiteFolder& other = sites_.at("north");
  ASSERT_TRUE(other.Renew(KeyFile(2), entropy_, storage::file::UnusedKeys::kReplaced).ok());
  ASSERT_EQ(site::LeaveUnusedPrekey(mail, running), absl::OkStatus());
  EXPECT_EQ(Kept(MailKind::kPrekey, "north"), other.request());
  EXPECT_NE(other.request(), fresh);
}

// A certificate is renewed within an epoch. A letter from before the renewal leads nobody back.
TEST_F(MailboxLifeTest, ARenewedCertificateIsFetchedAndNoOlderOne) {
  ASSERT_TRUE(Rotate().ok());
  const base::Bytes old = Kept(MailKind::kLetter, "north");
  ASSERT_EQ(Join("north"), absl::OkStatus());
  ASSERT_EQ(
      coordinator::EnrolParty(sites_.at("north").request(), 700, keys_->authority, *federation_),
      absl::OkStatus());
  // As `tacet federation seal-key --mailbox`.
  const crypto::SecretBytes& key = epoch_keys_.at(0);
  ASSERT_TRUE(coordinator::WriteInvitations(*federation_, manifests_[1], keys_->signing, key).ok());
  Line line(*this, std::string(protocol::kCoordinatorName));
  const MailClient mail(Federation(), keys_->signing, line, 1);
  ASSERT_TRUE(
      coordinator::LeaveInvitations(manifests_[1], key, keys_->signing, mail, *federation_).ok());
  const base::Bytes before = ValueOf(sites_.at("north").Joined()).certificate;
  ASSERT_EQ(Join("north"), absl::OkStatus());
  EXPECT_EQ(FilesOf("north").at("invitation"), File("north", 1));
  EXPECT_NE(ValueOf(sites_.at("north").Joined()).certificate, before);
  Serve(MailKind::kLetter, old);
  EXPECT_EQ(RefusedBy("north"), absl::OkStatus());  // nothing new, and nothing changed
}

// The end of a training is what a server in its epoch says. One in another epoch says nothing about
// it, and no number of rounds is told for it.
TEST_F(MailboxLifeTest, TheEndOfATrainingIsToldInItsEpoch) {
  ASSERT_TRUE(Rotate().ok());
  std::string said;
  bool continues = true;
  coordinator::ChangeHooks hooks{
      .connect = [this]() -> absl::StatusOr<std::unique_ptr<protocol::Wire>> {
        return std::make_unique<Line>(*this, std::string(protocol::kCoordinatorName));
      },
      .say = [&](const std::string& line) { said = line; },
      .wait = [&](double) { return continues; }};
  const crypto::Unlocker unlocker = storage::file::KeyFile(1);
  const auto await = [&](uint32_t epoch) {
    return coordinator::AwaitEnd(manifests_.at(epoch),
                                 {.folder = *federation_, .keys = *keys_, .unlocker = unlocker},
                                 hooks);
  };
  const auto serve = [&](uint32_t epoch, const protocol::ServedEpoch& progress) {
    mailbox_.reset();
    mailbox_ = ValueOf(server::Mailbox::Open(manifests_.at(epoch), blobs_, limits_, observer_,
                                             base::SystemUnixSeconds, [=] { return progress; }));
  };
  serve(0, {.finished = 4});
  EXPECT_EQ(await(0).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(said, HasSubstr("4 of 5 rounds are published"));
  serve(0, {.finished = 5});
  EXPECT_EQ(await(0), absl::OkStatus());
  EXPECT_THAT(await(1).message(), HasSubstr("the server is in epoch 0 still"));
  EXPECT_THAT(said, Not(HasSubstr("rounds are published")));
  serve(1, {.finished = 3, .stopped = true});
  EXPECT_EQ(await(1), absl::OkStatus());
  // A person who ends the command has begun nothing.
  serve(1, {.finished = 3});
  hooks.most_seconds = 60;
  continues = false;
  EXPECT_EQ(await(1).code(), absl::StatusCode::kCancelled);
}

// A site that has not joined since the last epoch has no other key to give.
TEST_F(MailboxLifeTest, ASiteThatHasRunOutIsNamed) {
  ASSERT_TRUE(Rotate().ok());
  for (const std::string name : {"north", "west"}) ASSERT_EQ(Join(name), absl::OkStatus());
  const absl::Status refused = Rotate().status();
  EXPECT_THAT(base::Message(refused), HasSubstr("those of south."));
  EXPECT_THAT(told_.taken, ElementsAre("north", "west"));
  EXPECT_THAT(told_.run_out, ElementsAre("south"));
  ASSERT_EQ(Join("south"), absl::OkStatus());
  ASSERT_OK_AND_ASSIGN(const auto prekeys, Rotate());
  EXPECT_THAT(prekeys.run_out, IsEmpty());
  EXPECT_EQ(manifests_.size(), 3u);
}

// A site that is fast has fetched and dropped its letter before the next one is put.
TEST_F(MailboxLifeTest, AnEnclosureIsPutAgainForTheNextLetter) {
  std::set<std::string> joined;
  bool joins = false;
  lie_ = [&](const protocol::MailBody& body, absl::StatusOr<base::Bytes> honest) {
    const auto* const put = std::get_if<protocol::PutMail>(&body);
    if (joins || put == nullptr || put->name.kind != MailKind::kLetter || !honest.ok()) {
      return honest;
    }
    joins = true;
    for (const auto& [name, site] : sites_) {
      if (KeyOf(name) != put->name.site) continue;
      EXPECT_EQ(Join(name), absl::OkStatus());
      joined.insert(name);
    }
    joins = false;
    return honest;
  };
  ASSERT_TRUE(Rotate().ok());
  EXPECT_THAT(joined, ElementsAre("north", "south", "west"));
}

// A renewal through the mailbox changes no term of the certificate.
TEST_F(MailboxLifeTest, ACertificateIsForAsLongAsItWasEnrolledFor) {
  ASSERT_EQ(
      coordinator::EnrolParty(sites_.at("north").request(), 30, keys_->authority, *federation_),
      absl::OkStatus());
  ASSERT_TRUE(Rotate().ok());
  for (const auto& [name, site] : sites_) ASSERT_EQ(Join(name), absl::OkStatus());
  ASSERT_TRUE(Rotate().ok());  // with keys that came through the mailbox
  EXPECT_THAT(told_.taken, ElementsAre("north", "south", "west"));
  for (const storage::file::EnrolledSite& site : ValueOf(federation_->Enrolled())) {
    const crypto::CertificateFacts facts = ValueOf(crypto::ReadCertificate(site.certificate));
    EXPECT_EQ((facts.not_after - facts.not_before) / base::kSecondsADay,
              site.request.name == "north" ? 30 : 365);
  }
}

// The coordinator connects to the server of this epoch, or the one that has run until now.
TEST_F(MailboxLifeTest, ARemovedServerIsNotTrusted) {
  EXPECT_THAT(base::Message(coordinator::ServerKeys(*federation_).status()),
              HasSubstr("the manifest of epoch 0 names no server"));
  std::vector<base::Bytes> keys;
  const auto enrol = [&](const std::string& name) {
    const std::string hosts[] = {"127.0.0.1"};
    const SiteFolder hub =
        ValueOf(SiteFolder::Create(Home(name), name, hosts, KeyFile(2), entropy_));
    ASSERT_EQ(coordinator::EnrolParty(hub.request(), 365, keys_->authority, *federation_),
              absl::OkStatus());
    keys.push_back(ValueOf(agreement::ReadEnrolmentRequest(hub.request())).tls_key);
  };
  const auto begin = [&](std::set<std::string> removed) {
    const auto next =
        coordinator::BeginNextEpoch({.removed = std::move(removed), .keep_exchange_keys = true},
                                    kMailAsked, keys_->signing, KeyFile(1), *federation_);
    ASSERT_TRUE(next.ok()) << next.status();
  };
  enrol("hub");
  begin({});
  EXPECT_EQ(ValueOf(coordinator::ServerKeys(*federation_)), std::vector({keys[0]}));
  enrol("other");
  begin({"hub"});
  EXPECT_EQ(ValueOf(coordinator::ServerKeys(*federation_)), std::vector({keys[0], keys[1]}));
  begin({});
  EXPECT_EQ(ValueOf(coordinator::ServerKeys(*federation_)), std::vector({keys[1], keys[1]}));
}

// Whichever call of a command breaks, before it or after it, the same command ends the work: one
// epoch a command, one letter a site, and every site joins.
TEST_F(MailboxLifeTest, ACommandThatIsInterruptedEndsWhenItIsRunAgain) {
  // 3 prekeys, an enclosure and 3 letters; a letter, an enclosure, a prekey, a letter, a reply and
  // a drop.
  constexpr uint64_t kRotateCalls = 7, kJoinCalls = 6;
  for (uint64_t run = 0; run < 2 * kRotateCalls; ++run) {
    const uint64_t call = run / 2;
    breaks_before_ = run % 2 == 0;
    calls_until_break_ = call;
    EXPECT_EQ(Rotate().status().code(), StatusCode::kUnavailable) << run;
    calls_until_break_.reset();
    ASSERT_TRUE(Rotate().ok()) << run;
    ASSERT_EQ(manifests_.size(), run + 2);
    const std::string name = call % 2 == 0 ? "north" : "south";
    calls_until_break_ = call;
    const absl::Status broken = Join(name);
    EXPECT_EQ(broken.ok(), call >= kJoinCalls) << broken;
    calls_until_break_.reset();
    for (const auto& [site, folder] : sites_) {
      const absl::Status joined = Join(site);
      const bool is_done = site == name && joined.code() == StatusCode::kNotFound;
      EXPECT_TRUE(joined.ok() || is_done) << joined;
      EXPECT_EQ(EpochOf(site), run + 1);
    }
  }
}

}  // namespace
}  // namespace tacet::live
