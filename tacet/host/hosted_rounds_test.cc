// A server whose store fails in every way that is possible: what members are told of it, and what
// its log keeps.
#include "tacet/host/hosted_rounds.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "tacet/base/status.h"
#include "tacet/base/temporary_folder_for_test.h"
#include "tacet/base/unix_clock.h"
#include "tacet/crypto/hash.h"
#include "tacet/host/log_for_test.h"
#include "tacet/protocol/small_federation_for_test.h"
#include "tacet/protocol/whole_requests_for_test.h"
#include "tacet/server/initial_attestations_for_test.h"

namespace tacet::host {
namespace {

namespace fs = std::filesystem;

using protocol::BulkKind;
using protocol::testing::ValueOf;
using ::testing::Contains;
using ::testing::HasSubstr;

// Every file that this process writes is full as long as this exists.
class FullDisk {
 public:
  FullDisk() {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    signal_ = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit none{.rlim_cur = 0, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &none);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, signal_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
  void (*signal_)(int) = SIG_DFL;
};

class FailingStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(home_);
    ASSERT_TRUE(hosted_.Open("test").ok());
    server::testing::GivePackets(hosted_.rounds(), members_);
    server::testing::AttestInitialModel(hosted_.rounds(), members_);
    for (uint64_t member = 0; member < kMembers; ++member) hosted_.rounds().NotePresence(member);
    ASSERT_TRUE(hosted_.Tick().ok());
    for (uint64_t member = 0; member < kMembers; ++member) {
      const auto told = ValueOf(hosted_.rounds().AnnouncementFor(member, 0, false));
      ASSERT_TRUE(told.current.has_value());
      attempt_ = told.current->attempt;
      if (told.current->invited == protocol::Invited::kYes) invited_.push_back(member);
    }
    ASSERT_GE(invited_.size(), 3u);
    // One upload has arrived, and the first half of another.
    AskAll(0, 1.0);
    AskAll(1, 0.5);
    ASSERT_EQ(received_.find("UNAVAILABLE"), std::string::npos);
    EXPECT_EQ(hosted_.rounds().Status().accepted, 1u);
    received_.clear();
  }

  // Whatever a member may ask; its upload up to a share of it.
  void AskAll(size_t invited, double share) {
    const uint64_t member = invited_[invited];
    const base::Bytes upload = members_.Upload(member, attempt_);
    protocol::PutPartRequest put{.name = {BulkKind::kUpload, attempt_},
                                 .total = upload.size(),
                                 .digest = crypto::Sha256(upload)};
    Ask(member, put);
    put.part.assign(
        upload.begin(),
        upload.begin() + static_cast<ptrdiff_t>(share * static_cast<double>(upload.size())));
    Ask(member, put);
    Ask(member, protocol::AwaitRequest{.known_revision = 1});
    for (const BulkKind kind : {BulkKind::kClosedRound, BulkKind::kUnmaskShare,
                                BulkKind::kCheckpoint, BulkKind::kRoster, BulkKind::kUpload}) {
      Ask(member, protocol::FetchPartRequest{.name = {kind, attempt_}});
    }
    Ask(member, protocol::PutVoteRequest{.attempt = attempt_, .vote = base::Bytes(100)});
    Ask(member, protocol::FetchVotesRequest{.attempt = attempt_});
    Ask(member, protocol::PutVerdictRequest{.attempt = attempt_, .confirmed = true});
    Ask(member, protocol::PutAttestationRequest{
                    members_.Attestation(member, 0, server::testing::kInitialModel)});
    Ask(member, protocol::FetchAttestationsRequest{.round = 0});
    Ask(member, protocol::FetchOpeningRequest{});
  }

  // The store fails; members ask; time passes; members ask again.
  void AskAgainAndAgain() {
    for (int time = 0; time < 3; ++time) {
      AskAll(1, 1.0);
      AskAll(2, 1.0);
      (void)hosted_.Tick();  // it logs its errors
    }
  }
  void ExpectNoPathIsTold() {
    const auto receive = [this](const std::string& text) {
      return received_.find(text) != std::string::npos;
    };
    EXPECT_TRUE(receive("UNAVAILABLE"));
    EXPECT_FALSE(receive(folder_.path().string()));
    EXPECT_FALSE(receive("sqlite"));
    EXPECT_THAT(log_.Events(), Contains(HasSubstr(home_.string())));
  }

  static constexpr uint64_t kMembers = 5;
  const base::TemporaryFolder folder_;
  const fs::path home_ = folder_.path() / "hub";
  protocol::testing::SmallFederation members_;
  LogForTest log_;
  HostedRounds hosted_{{.home = home_}, members_.manifest(), *log_.log};
  secagg::Attempt attempt_;
  std::vector<uint64_t> invited_;
  std::string received_;  // every byte that members receive

 private:
  void Ask(uint64_t member, protocol::RequestBody body) {
    const base::Bytes request = protocol::WriteMemberRequest(
        {.member = member, .time = base::SystemUnixSeconds(), .body = std::move(body)},
        members_.manifest(), members_.site(member).signing);
    const auto handled = hosted_.handler().Handle(request, std::nullopt);
    if (!handled.ok()) {
      received_ += handled.status().ToString();
    } else if (const auto* const answer = std::get_if<base::Bytes>(&handled->next)) {
      received_ += base::AsText(*answer);
    } else {
      const auto waited = hosted_.handler().Answer(std::get<server::Waiting>(handled->next));
      received_ += waited.ok() ? std::string(base::AsText(*waited)) : waited.status().ToString();
    }
    received_ += '\n';
  }
};

TEST_F(FailingStoreTest, TheFolderIsGone) {
  fs::remove_all(home_);
  AskAgainAndAgain();
  ExpectNoPathIsTold();
}

TEST_F(FailingStoreTest, TheFolderOfObjectsIsGone) {
  fs::remove_all(home_ / "blobs");
  AskAgainAndAgain();
  // It is made again.
  EXPECT_EQ(received_.find("UNAVAILABLE"), std::string::npos);
  EXPECT_EQ(received_.find(folder_.path().string()), std::string::npos);
  EXPECT_THAT(log_.Events(), Contains(HasSubstr("attempt-closed")));
}

TEST_F(FailingStoreTest, AFileIsInPlaceOfTheObjects) {
  fs::remove_all(home_ / "blobs");
  std::ofstream(home_ / "blobs") << "no folder";
  AskAgainAndAgain();
  ExpectNoPathIsTold();
}

TEST_F(FailingStoreTest, TheDiskIsFull) {
  {
    const FullDisk full;
    AskAgainAndAgain();
  }
  ExpectNoPathIsTold();
}

}  // namespace
}  // namespace tacet::host
