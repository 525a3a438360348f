// Epochs of a federation whose invitations and prekeys pass through the mailbox of a server that
// may lie, and through lines that may break.
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/agreement/key_renewal.h"
#include "tacet/base/status.h"
#include "tacet/base/status_for_test.h"
#include "tacet/base/temporary_folder_for_test.h"
#include "tacet/coordinator/federation_setup.h"
#include "tacet/coordinator/federation_steps.h"
#include "tacet/coordinator/mailbox_steps.h"
#include "tacet/server/mailbox_wire_for_test.h"
#include "tacet/server/memory_server_store_for_test.h"
#include "tacet/site/site_mail.h"
#include "tacet/storage/file/key_file_for_test.h"
#include "tacet/storage/file/posix_file.h"

namespace tacet::live {
namespace {

namespace fs = std::filesystem;

using absl::StatusCode;
using base::ValueOf;
using protocol::MailClient;
using protocol::MailKind;
using storage::file::CoordinatorFolder;
using storage::file::KeyFile;
using storage::file::SiteFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kAgreed[] = R"(
[data]
classes = 2
[model]
name = "logistic"
input_shape = [10]
[federation]
rounds = 5
cohort = 3
sampling = "fixed-size"
min_participants = 2
[privacy]
noise_multiplier = 6
scale = 1e-2
)";
constexpr size_t kParameters = 22;
constexpr std::string_view kAsked = "tacet federation rotate";

// What a server answers to a request, given what an honest one answers.
using Lie = std::function<absl::StatusOr<base::Bytes>(const protocol::MailBody&,
                                                      absl::StatusOr<base::Bytes>)>;

class MailboxLifeTest : public ::testing::Test {
 protected:
  // Of one sender. It breaks, or lies, as the test says.
  class Line final : public protocol::Wire {
   public:
    Line(MailboxLifeTest& test, std::string name) : test_(test), name_(std::move(name)) {}
    absl::StatusOr<base::Bytes> Call(std::span<const uint8_t> request, uint32_t) override {
      const bool breaks = test_.calls_until_break_ == 0;
      if (test_.calls_until_break_.has_value() && !breaks) --*test_.calls_until_break_;
      if (breaks && test_.breaks_before_) return base::Unavailable("the line is broken");
      test_.Overhear(request);
      absl::StatusOr<base::Bytes> answer =
          server::testing::AnswerOf(*test_.mailbox_, request, name_);
      if (answer.ok()) test_.Overhear(*answer);
      if (breaks) return base::Unavailable("the line is broken");
      if (!test_.lie_) return answer;
      const auto head = ValueOf(protocol::ReadMailHead(request, test_.Federation()));
      return test_.lie_(head.request.body, std::move(answer));
    }
    void Stop() override {}

   private:
    MailboxLifeTest& test_;
    std::string name_;
  };

  MailboxLifeTest() {
    model_ = agreement::InitialModel{.salt = {5}, .parameters = std::vector<float>(kParameters)};
    for (size_t i = 0; i < kParameters; ++i) model_.parameters[i] = 0.37F * static_cast<float>(i);
    coordinator_ = ValueOf(coordinator::FoundFederation(
        {.folder = folder_.path() / "federation",
         .name = "hospitals",
         .terms = {.agreement = kAgreed, .initial_model = agreement::WriteInitialModel(model_)},
         .days = 3650},
        KeyFile(1)));
    federation_.emplace(ValueOf(CoordinatorFolder::Open(folder_.path() / "federation")));
    keys_.emplace(ValueOf(federation_->UnlockKeys(KeyFile(1))));
    for (const std::string name : {"north", "south", "west"}) {
      SiteFolder site = ValueOf(SiteFolder::Create(Home(name), name, {}, KeyFile(2), entropy_));
      EXPECT_EQ(coordinator::EnrolParty(site.request(), 365, keys_->authority, *federation_),
                absl::OkStatus());
      sites_.emplace(name, std::move(site));
    }
    manifests_.push_back(
        ValueOf(coordinator::SignLatestManifest(*federation_, keys_->signing, {})));
    const crypto::SecretBytes key = ValueOf(federation_->EpochKey(0, KeyFile(1)));
    EXPECT_TRUE(
        coordinator::WriteInvitations(*federation_, manifests_[0], keys_->signing, key).ok());
    for (auto& [name, site] : sites_) {
      EXPECT_TRUE(site.Join(File(name, 0), coordinator_, KeyFile(2)).ok());
    }
    BeginServer(0);
    for (auto& [name, site] : sites_) {
      EXPECT_EQ(EndJoin(name), absl::OkStatus());  // leaves the first prekey
    }
  }

  fs::path Home(const std::string& name) const { return folder_.path() / name; }
  const crypto::Digest& Federation() const { return federation_->parts().identity; }
  base::Bytes File(const std::string& name, uint32_t epoch) const {
    return ValueOf(storage::file::SavedInvitation(*federation_, epoch, name));
  }
  void BeginServer(uint32_t epoch) {
    mailbox_ = ValueOf(server::Mailbox::Open(manifests_.at(epoch), blobs_, limits_, observer_,
                                             base::SystemUnixSeconds));
  }
  const crypto::PublicKey& KeyOf(const std::string& name) const {
    const auto& members = manifests_[0].members();
    return std::ranges::find(members, name, &agreement::ManifestMember::name)->signing_key;
  }

  // As `tacet federation rotate --mailbox`.
  absl::StatusOr<coordinator::TakenPrekeys> Rotate() {
    Line line(*this, std::string(protocol::kCoordinatorName));
    const MailClient mail(Federation(), keys_->signing, line, 1);
    coordinator::TakenPrekeys prekeys;
    TACET_ASSIGN_OR_RETURN(std::optional<coordinator::NextEpoch> next,
                           coordinator::BegunEpoch(kAsked, KeyFile(1), *federation_));
    if (!next.has_value()) {
      TACET_ASSIGN_OR_RETURN(
          prekeys, coordinator::TakePrekeys({}, 365, keys_->authority, mail, *federation_));
      told_ = prekeys;
      TACET_ASSIGN_OR_RETURN(
          next, coordinator::BeginNextEpoch({}, kAsked, keys_->signing, KeyFile(1), *federation_));
    }
    if (next->manifest.epoch() == manifests_.size()) manifests_.push_back(next->manifest);
    TACET_RETURN_IF_ERROR(
        coordinator::WriteInvitations(*federation_, next->manifest, keys_->signing, next->key)
            .status());
    TACET_ASSIGN_OR_RETURN(const coordinator::LeftInvitations left,
                           coordinator::LeaveInvitations(next->manifest, next->key, keys_->signing,
                                                         mail, *federation_));
    EXPECT_THAT(left.by_file, IsEmpty());
    epoch_keys_.push_back(crypto::SecretBytes::CopyOf(next->key.Expose()));
    TACET_RETURN_IF_ERROR(federation_->ForgetEpochsBefore(next->manifest.epoch()));
    TACET_RETURN_IF_ERROR(storage::file::EndHandingOut(*federation_));
    return prekeys;
  }

  absl::Status EndJoin(const std::string& name) {
    SiteFolder& site = sites_.at(name);
    const agreement::MemberKeys keys = ValueOf(site.UnlockKeys(KeyFile(2)));
    Line line(*this, name);
    return site::EndJoin(MailClient(Federation(), keys.signing, line, 1), ValueOf(site.Joined()),
                         KeyFile(2), site);
  }
  // As `tacet client join --server`.
  absl::Status Join(const std::string& name) {
    SiteFolder& site = sites_.at(name);
    const agreement::MemberKeys keys = ValueOf(site.UnlockKeys(KeyFile(2)));
    Line line(*this, name);
    const MailClient mail(Federation(), keys.signing, line, 1);
    const auto joined = ValueOf(site.Joined());
    TACET_ASSIGN_OR_RETURN(const std::optional<site::FoundLetter> found,
                           site::LookForLetter(mail, joined));
    if (!found.has_value()) return base::NotFound("no letter");
    if (found->is_news) {
      TACET_ASSIGN_OR_RETURN(
          const base::Bytes invitation,
          site::FetchInvitation(mail, *found, joined, keys,
                                storage::file::ExchangeKeyFiles(Home(name)), KeyFile(2)));
      TACET_RETURN_IF_ERROR(site.Join(invitation, coordinator_, KeyFile(2)).status());
    }
    return EndJoin(name);
  }
  uint32_t EpochOf(const std::string& name) {
    return ValueOf(sites_.at(name).Joined()).manifest.epoch();
  }
  // All files of a site, to see that nothing changed.
  std::map<std::string, base::Bytes> FilesOf(const std::string& name) const {
    std::map<std::string, base::Bytes> files;
    for (const auto& entry : fs::directory_iterator(Home(name))) {
      files[entry.path().filename()] = ValueOf(storage::file::ReadFile(entry.path()));
    }
    return files;
  }
  // What `site` does with what the server says, and that it changes nothing.
  absl::Status RefusedBy(const std::string& name) {
    const auto before = FilesOf(name);
    absl::Status refused = Join(name);
    for (const auto& [file, content] : FilesOf(name)) {
      EXPECT_TRUE(before.contains(file) && before.at(file) == content) << file << " was changed";
    }
    EXPECT_EQ(FilesOf(name).size(), before.size());
    return refused;
  }

  // What a site fetches of one kind is `mail`.
  void Serve(MailKind kind, base::Bytes mail) {
    lie_ = [kind, mail = std::move(mail)](const protocol::MailBody& body,
                                          absl::StatusOr<base::Bytes> honest) {
      const auto* const fetch = std::get_if<protocol::FetchMail>(&body);
      if (fetch == nullptr || fetch->name.kind != kind) return honest;
      base::Bytes answer = protocol::WriteFetchedPartHead(mail.size(), mail.size());
      answer.insert(answer.end(), mail.begin(), mail.end());
      return absl::StatusOr<base::Bytes>(answer);
    };
  }
  // As the server keeps it.
  base::Bytes Kept(MailKind kind, const std::string& name = "") {
    server::BlobKey key;
    if (kind != MailKind::kEnclosure) key.name.attempt.manifest_hash = KeyOf(name);
    key.member = static_cast<uint8_t>(kind);
    const auto reader = ValueOf(blobs_.Open(key));
    base::Bytes bytes(reader->size());
    EXPECT_EQ(reader->Read(0, bytes), absl::OkStatus());
    return bytes;
  }
  void Overhear(std::span<const uint8_t> bytes) {
    heard_.insert(heard_.end(), bytes.begin(), bytes.end());
  }
  bool IsHeard(std::span<const uint8_t> needle) const {
    return std::ranges::search(heard_, needle).begin() != heard_.end();
  }

  base::TemporaryFolder folder_;
  crypto::SystemEntropy entropy_;
  agreement::InitialModel model_;
  crypto::PublicKey coordinator_{};
  std::optional<CoordinatorFolder> federation_;
  std::optional<storage::file::CoordinatorKeys> keys_;
  std::map<std::string, SiteFolder> sites_;
  std::deque<agreement::SignedManifest> manifests_;  // servers keep references
  std::vector<crypto::SecretBytes> epoch_keys_;      // of the epochs behind the first
  coordinator::TakenPrekeys told_;

  server::MemoryBlobStore blobs_;
  server::testing::IgnoringObserver observer_;
  server::RequestLimits limits_{{.burst = 1e9, .burst_bytes = 1e12}, 3, [] { return 0.0; }};
  std::unique_ptr<server::Mailbox> mailbox_;

  Lie lie_;
  std::optional<uint64_t> calls_until_break_;
  bool breaks_before_ = false;
  base::Bytes heard_;  // by the server
};

TEST_F(MailboxLifeTest, LaterEpochsNeedNoFiles) {
  for (uint32_t epoch = 1; epoch <= 2; ++epoch) {
    ASSERT_OK_AND_ASSIGN(const auto prekeys, Rotate());
    EXPECT_THAT(prekeys.taken, ElementsAre("north", "south", "west"));
    EXPECT_THAT(prekeys.run_out, IsEmpty());
    EXPECT_THAT(prekeys.refused, IsEmpty());
    EXPECT_TRUE(agreement::MembersKeepingKeys(manifests_[epoch - 1], manifests_[epoch]).empty());
    ASSERT_EQ(Join("north"), absl::OkStatus());
    // What was fetched is the file that the coordinator wrote.
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
  absl::Status refused = RefusedBy("north");
  EXPECT_EQ(refused.code(), StatusCode::kPermissionDenied);
  EXPECT_THAT(base::Message(refused),
              HasSubstr("an old letter, of epoch 1, and this site has joined epoch 2"));
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
  for (size_t i = 0; i < letter.size(); i += 151) {
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
  EXPECT_THAT(base::Message(RefusedBy("north")), HasSubstr("ends too early"));
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

// Whichever call of a command breaks, before it or after it, the same command ends the work: one
// epoch a command, one letter a site, and every site joins.
TEST_F(MailboxLifeTest, ACommandThatIsInterruptedEndsWhenItIsRunAgain) {
  // 3 prekeys, an enclosure and 3 letters; a letter, an enclosure, a prekey, a letter and a drop.
  constexpr uint64_t kCalls = 7;
  for (uint64_t call = 0; call < kCalls; ++call) {
    breaks_before_ = call % 2 == 0;
    calls_until_break_ = call;
    EXPECT_EQ(Rotate().status().code(), StatusCode::kUnavailable) << call;
    calls_until_break_.reset();
    ASSERT_TRUE(Rotate().ok()) << call;
    ASSERT_EQ(manifests_.size(), call + 2);
    const std::string name = call % 2 == 0 ? "north" : "south";
    calls_until_break_ = call;
    const absl::Status broken = Join(name);
    EXPECT_EQ(broken.ok(), call >= 5) << broken;
    calls_until_break_.reset();
    for (const auto& [site, folder] : sites_) {
      const absl::Status joined = Join(site);
      const bool is_done = site == name && joined.code() == StatusCode::kNotFound;
      EXPECT_TRUE(joined.ok() || is_done) << joined;
      EXPECT_EQ(EpochOf(site), call + 1);
    }
  }
}

}  // namespace
}  // namespace tacet::live
