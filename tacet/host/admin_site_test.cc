#include "tacet/host/admin_site.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/failure_cause.h"
#include "tacet/base/status.h"
#include "tacet/base/temporary_folder_for_test.h"
#include "tacet/host/log_for_test.h"
#include "tacet/protocol/small_federation_for_test.h"
#include "tacet/server/initial_attestations_for_test.h"
#include "tacet/server/memory_server_store_for_test.h"

namespace tacet::host {
namespace {

using protocol::testing::SmallFederation;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kToken[] = "0123456789abcdef";

class AdminSiteTest : public ::testing::Test {
 protected:
  AdminSiteTest() {
    std::ofstream(token_path_) << kToken;
    std::filesystem::permissions(token_path_, std::filesystem::perms(0600));
    rounds_ = *tacet::server::RoundServer::Create(
        members_.manifest(), {.collecting_seconds = 100, .unmasking_seconds = 50}, store_, blobs_,
        [this] { return now_; }, entropy_);
    tacet::server::testing::AttestInitialModel(*rounds_, members_);
  }

  AdminSite Site(bool page = true) {
    return {ServerParts{.manifest = members_.manifest(),
                        .rounds = *rounds_,
                        .log = *log_.log,
                        .metrics = metrics_,
                        .readiness = readiness_,
                        .store = health_,
                        .guarantees = guarantees_,
                        .clock = [this] { return now_; },
                        .version = "1.2.3",
                        .started_at = now_},
            page ? std::make_unique<PageToken>(*PageToken::Read(token_path_)) : nullptr};
  }
  transport::http::Page Get(const std::string& path, bool with_token = false, bool page = true) {
    return Site(page).Handle(
        {.path = path, .authorization = with_token ? std::string("Bearer ") + kToken : ""});
  }
  base::JsonValue Status() { return *base::JsonValue::Parse(Get("/api/status", true).body); }

  base::TemporaryFolder folder_;
  const std::filesystem::path token_path_ = folder_.path() / "token";
  SmallFederation members_;
  tacet::server::MemoryServerStore store_;
  tacet::server::MemoryBlobStore blobs_;
  crypto::InsecureSeededEntropy entropy_{3, "cohorts"};
  uint64_t now_ = 1'755'000'000;
  std::unique_ptr<tacet::server::RoundServer> rounds_;
  LogForTest log_;
  ServerMetrics metrics_;
  std::chrono::steady_clock::time_point steady_;
  Readiness readiness_{[this] { return steady_; }};
  StoreHealth health_;
  GuaranteeWorker guarantees_{members_.manifest().manifest()};
};

TEST_F(AdminSiteTest, HealthIsNotReadiness) {
  EXPECT_EQ(Get("/healthz").status, 200);
  EXPECT_EQ(Get("/readyz").status, 503);
  EXPECT_THAT(Get("/readyz").body, StartsWith("not ready\nepoch 0 of "));
  EXPECT_THAT(Get("/readyz").body, HasSubstr("\nnot-listening: it does not listen for members. "));
  EXPECT_THAT(Get("/metrics").body, HasSubstr("tacet_ready 0"));
  readiness_.SetListening(true);
  readiness_.NoteTick(now_);
  EXPECT_EQ(Get("/readyz").status, 200);
  EXPECT_THAT(Get("/readyz").body,
              StartsWith("ready\nepoch 0 of " + members_.manifest().federation() + "\n"));
  EXPECT_THAT(Get("/metrics").body, HasSubstr("tacet_ready 1"));
  EXPECT_THAT(Get("/metrics").body, HasSubstr("tacet_problem{code=\"database-away\"} 0"));
  health_.NoteTick(base::WithCause(base::Unavailable("no"), base::FailureCause::kNotConnected));
  EXPECT_EQ(Get("/readyz").status, 503);
  EXPECT_THAT(Get("/readyz").body, HasSubstr("\ndatabase-away: its database cannot be reached."));
  EXPECT_THAT(Get("/metrics").body, HasSubstr("tacet_problem{code=\"database-away\"} 1"));
}

TEST_F(AdminSiteTest, APageSaysWhatIsToBePutRight) {
  readiness_.SetListening(true);
  for (int second = 0; second < 100; ++second) {  // nobody comes
    now_ += 1;
    steady_ += std::chrono::seconds(1);
    readiness_.NoteTick(now_);
  }
  ASSERT_TRUE(rounds_->Tick().ok());
  EXPECT_EQ(Get("/readyz").status, 200);
  EXPECT_THAT(Get("/readyz").body, HasSubstr("\nmember-away: a member does not call: site-0 "));
  const base::JsonValue problem = Status().Find("problems")->items().at(0);
  EXPECT_EQ(*problem.Find("code")->AsString(), "member-away");
  EXPECT_FALSE(*problem.Find("stops")->AsBool());
  EXPECT_EQ(problem.Find("members")->items().size(), 5u);
  EXPECT_THAT(*problem.Find("text")->AsString(), HasSubstr("Start `tacet client run`"));
  EXPECT_EQ(*Status().Find("format")->AsUint(), 3u);
}

TEST_F(AdminSiteTest, WithoutATokenThereIsNoPage) {
  for (const std::string path : {"/", "/live.js", "/page.css", "/api/status"}) {
    EXPECT_EQ(Get(path, true, false).status, 404) << path;
  }
  EXPECT_EQ(Get("/metrics", false, false).status, 200);
}

TEST_F(AdminSiteTest, TheFrameIsForEverybodyTheDataAreNot) {
  for (const std::string path : {"/", "/live.js", "/page.css"}) {
    EXPECT_EQ(Get(path).status, 200) << path;
    EXPECT_THAT(Get(path).body, Not(HasSubstr("site-0")));
  }
  for (const std::string path : {"/api/status", "/api/agreement", "/api/"}) {
    EXPECT_EQ(Get(path).status, 401) << path;
  }
  EXPECT_EQ(Get("/api/status", true).status, 200);
  EXPECT_EQ(Get("/api/status/", true).status, 404);
  EXPECT_EQ(Get("/../page.token", true).status, 404);
}

TEST_F(AdminSiteTest, TheStatusFollowsTheServer) {
  EXPECT_TRUE(Status().Find("current")->is_null());
  const auto show_up = [this] {
    const uint64_t members = members_.manifest().manifest().spec().sampling.clients;
    for (uint64_t member = 0; member < members; ++member) rounds_->NotePresence(member);
  };
  show_up();
  ASSERT_TRUE(rounds_->Tick().ok());
  base::JsonValue current = *Status().Find("current");
  EXPECT_EQ(*current.Find("phase")->AsString(), "collecting");
  EXPECT_EQ(*current.Find("invited")->AsUint(), 3u);
  EXPECT_EQ(*current.Find("deadline")->AsUint(), now_ + 100);
  EXPECT_TRUE(Status().Find("attendance")->Find("gathering")->is_null());
  EXPECT_THAT(Status().Dump(), Not(HasSubstr("site-")));
  now_ += 100;
  ASSERT_TRUE(rounds_->Tick().ok());
  show_up();
  const base::JsonValue status = Status();
  EXPECT_EQ(*status.Find("failed")->AsUint(), 1u);
  EXPECT_EQ(*status.Find("failures")->Find("too-few-uploads")->AsUint(), 1u);
  EXPECT_EQ(status.Find("listed")->items().size(), 1u);
  EXPECT_THAT(status.Dump(), Not(HasSubstr("site-")));
  EXPECT_THAT(Get("/api/agreement", true).body, HasSubstr("site-4"));
}

}  // namespace
}  // namespace tacet::host
