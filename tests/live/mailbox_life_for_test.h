// A federation whose invitations and prekeys pass through the mailbox of a server that may lie, and
// through lines that may break.
#ifndef TACET_TESTS_LIVE_MAILBOX_LIFE_FOR_TEST_H_
#define TACET_TESTS_LIVE_MAILBOX_LIFE_FOR_TEST_H_

#include <algorithm>
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

inline constexpr char kMailAgreed[] = R"(
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
inline constexpr size_t kMailParameters = 22;
inline constexpr std::string_view kMailAsked = "tacet federation rotate";

// The answer of a server to a request, given what an honest one answers.
using Lie = std::function<absl::StatusOr<base::Bytes>(const protocol::MailBody&,
                                                      absl::StatusOr<base::Bytes>)>;

class MailboxLifeTest : public ::testing::Test {
 protected:
  // For one sender. It breaks, or lies, as the test says.
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
      const auto head = base::ValueOf(protocol::ReadMailHead(request, test_.Federation()));
      return test_.lie_(head.request.body, std::move(answer));
    }
    void Stop() override {}

   private:
    MailboxLifeTest& test_;
    std::string name_;
  };

  MailboxLifeTest() {
    model_ =
        agreement::InitialModel{.salt = {5}, .parameters = std::vector<float>(kMailParameters)};
    for (size_t i = 0; i < kMailParameters; ++i)
      model_.parameters[i] = 0.37F * static_cast<float>(i);
    coordinator_ = base::ValueOf(coordinator::FoundFederation(
        {.folder = folder_.path() / "federation",
         .name = "hospitals",
         .terms = {.agreement = kMailAgreed, .initial_model = agreement::WriteInitialModel(model_)},
         .days = 3650},
        storage::file::KeyFile(1)));
    federation_.emplace(
        base::ValueOf(storage::file::CoordinatorFolder::Open(folder_.path() / "federation")));
    keys_.emplace(base::ValueOf(federation_->UnlockKeys(storage::file::KeyFile(1))));
    for (const std::string name : {"north", "south", "west"}) {
      storage::file::SiteFolder site = base::ValueOf(storage::file::SiteFolder::Create(
          Home(name), name, {}, storage::file::KeyFile(2), entropy_));
      EXPECT_EQ(coordinator::EnrolParty(site.request(), 365, keys_->authority, *federation_),
                absl::OkStatus());
      sites_.emplace(name, std::move(site));
    }
    manifests_.push_back(
        base::ValueOf(coordinator::SignLatestManifest(*federation_, keys_->signing, {})));
    const crypto::SecretBytes key =
        base::ValueOf(federation_->EpochKey(0, storage::file::KeyFile(1)));
    EXPECT_TRUE(
        coordinator::WriteInvitations(*federation_, manifests_[0], keys_->signing, key).ok());
    for (auto& [name, site] : sites_) {
      EXPECT_TRUE(site.Join(File(name, 0), coordinator_, storage::file::KeyFile(2)).ok());
    }
    BeginServer(0);
    for (auto& [name, site] : sites_) {
      EXPECT_EQ(EndJoin(name), absl::OkStatus());  // leaves the first prekey
    }
  }

  std::filesystem::path Home(const std::string& name) const { return folder_.path() / name; }
  const crypto::Digest& Federation() const { return federation_->parts().identity; }
  base::Bytes File(const std::string& name, uint32_t epoch) const {
    return base::ValueOf(storage::file::SavedInvitation(*federation_, epoch, name));
  }
  void BeginServer(uint32_t epoch) {
    mailbox_ = base::ValueOf(server::Mailbox::Open(manifests_.at(epoch), blobs_, limits_, observer_,
                                                   base::SystemUnixSeconds));
  }
  const crypto::PublicKey& KeyOf(const std::string& name) const {
    const auto& members = manifests_[0].members();
    return std::ranges::find(members, name, &agreement::ManifestMember::name)->signing_key;
  }

  // As `tacet federation rotate --mailbox`.
  absl::StatusOr<coordinator::TakenPrekeys> Rotate() {
    Line line(*this, std::string(protocol::kCoordinatorName));
    const protocol::MailClient mail(Federation(), keys_->signing, line, 1);
    coordinator::TakenPrekeys prekeys;
    TACET_ASSIGN_OR_RETURN(
        std::optional<coordinator::NextEpoch> next,
        coordinator::BegunEpoch(kMailAsked, storage::file::KeyFile(1), *federation_));
    if (!next.has_value()) {
      TACET_ASSIGN_OR_RETURN(prekeys,
                             coordinator::TakePrekeys({}, keys_->authority, mail, *federation_));
      told_ = prekeys;
      TACET_ASSIGN_OR_RETURN(next,
                             coordinator::BeginNextEpoch({}, kMailAsked, keys_->signing,
                                                         storage::file::KeyFile(1), *federation_));
    }
    if (next->manifest.epoch() == manifests_.size()) manifests_.push_back(next->manifest);
    TACET_RETURN_IF_ERROR(
        coordinator::WriteInvitations(*federation_, next->manifest, keys_->signing, next->key)
            .status());
    TACET_ASSIGN_OR_RETURN(const coordinator::LeftInvitations left,
                           coordinator::LeaveInvitations(next->manifest, next->key, keys_->signing,
                                                         mail, *federation_));
    EXPECT_TRUE(left.by_file.empty());
    epoch_keys_.push_back(crypto::SecretBytes::CopyOf(next->key.Expose()));
    TACET_RETURN_IF_ERROR(federation_->ForgetEpochsBefore(next->manifest.epoch()));
    TACET_RETURN_IF_ERROR(storage::file::EndHandingOut(*federation_));
    return prekeys;
  }

  absl::Status EndJoin(const std::string& name) {
    storage::file::SiteFolder& site = sites_.at(name);
    const agreement::MemberKeys keys = base::ValueOf(site.UnlockKeys(storage::file::KeyFile(2)));
    Line line(*this, name);
    return site::EndJoin(protocol::MailClient(Federation(), keys.signing, line, 1),
                         base::ValueOf(site.Joined()), storage::file::KeyFile(2), site);
  }
  // As `tacet client join --server`.
  absl::Status Join(const std::string& name) {
    storage::file::SiteFolder& site = sites_.at(name);
    const agreement::MemberKeys keys = base::ValueOf(site.UnlockKeys(storage::file::KeyFile(2)));
    Line line(*this, name);
    const protocol::MailClient mail(Federation(), keys.signing, line, 1);
    const auto joined = base::ValueOf(site.Joined());
    TACET_ASSIGN_OR_RETURN(const std::optional<site::FoundLetter> found,
                           site::LookForLetter(mail, joined));
    if (!found.has_value()) return base::NotFound("no letter");
    if (found->is_news) {
      TACET_ASSIGN_OR_RETURN(const base::Bytes invitation,
                             site::FetchInvitation(mail, *found, joined, keys,
                                                   storage::file::ExchangeKeyFiles(Home(name)),
                                                   storage::file::KeyFile(2)));
      TACET_RETURN_IF_ERROR(
          site.Join(invitation, coordinator_, storage::file::KeyFile(2)).status());
    }
    return EndJoin(name);
  }
  uint32_t EpochOf(const std::string& name) {
    return base::ValueOf(sites_.at(name).Joined()).manifest.epoch();
  }
  // All files of a site, to see that nothing changed.
  std::map<std::string, base::Bytes> FilesOf(const std::string& name) const {
    std::map<std::string, base::Bytes> files;
    for (const auto& entry : std::filesystem::directory_iterator(Home(name))) {
      files[entry.path().filename()] = base::ValueOf(storage::file::ReadFile(entry.path()));
    }
    return files;
  }
  // The refusal by `site` of what the server says; nothing changes.
  absl::Status RefusedBy(const std::string& name) {
    const auto before = FilesOf(name);
    absl::Status refused = Join(name);
    for (const auto& [file, content] : FilesOf(name)) {
      EXPECT_TRUE(before.contains(file) && before.at(file) == content) << file << " was changed";
    }
    EXPECT_EQ(FilesOf(name).size(), before.size());
    return refused;
  }

  // The mail that a site fetches of one kind is `mail`.
  void Serve(protocol::MailKind kind, base::Bytes mail) {
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
  base::Bytes Kept(protocol::MailKind kind, const std::string& name = "") {
    server::BlobKey key;
    if (kind != protocol::MailKind::kEnclosure) key.name.attempt.manifest_hash = KeyOf(name);
    key.member = static_cast<uint8_t>(kind);
    const auto reader = base::ValueOf(blobs_.Open(key));
    base::Bytes bytes(reader->size());
    EXPECT_EQ(reader->Read(0, bytes), absl::OkStatus());
    return bytes;
  }
  void Overhear(std::span<const uint8_t> bytes) {
    heard_.insert(heard_.end(), bytes.begin(), bytes.end());
  }
  bool IsHeard(std::span<const uint8_t> needle) const {
    return std::search(heard_.begin(), heard_.end(), needle.begin(), needle.end()) != heard_.end();
  }

  base::TemporaryFolder folder_;
  crypto::SystemEntropy entropy_;
  agreement::InitialModel model_;
  crypto::PublicKey coordinator_{};
  std::optional<storage::file::CoordinatorFolder> federation_;
  std::optional<storage::file::CoordinatorKeys> keys_;
  std::map<std::string, storage::file::SiteFolder> sites_;
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

}  // namespace tacet::live

#endif  // TACET_TESTS_LIVE_MAILBOX_LIFE_FOR_TEST_H_
