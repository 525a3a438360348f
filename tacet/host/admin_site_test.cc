#include "tacet/host/admin_site.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/failure_cause.h"
#include "tacet/base/status.h"
#include "tacet/base/temporary_folder_for_test.h"
#include "tacet/host/log_for_test.h"
#include "tacet/host/operator_desk.h"
#include "tacet/host/request_watch.h"
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
constexpr char kOperator[] = "0123456789abcdef0123456789abcdef";
constexpr char kPause[] = R"({"revision": 0, "action": "pause", "note": "works on the line"})";

class AdminSiteTest : public ::testing::Test {
 protected:
  AdminSiteTest() {
    std::ofstream(token_path_) << kToken;
    std::filesystem::permissions(token_path_, std::filesystem::perms(0600));
    rounds_ = *tacet::server::RoundServer::Create(
        members_.manifest(), {.collecting_seconds = 100, .unmasking_seconds = 50}, store_, blobs_,
        [this] { return now_; }, entropy_);
    tacet::server::testing::AttestInitialModel(*rounds_, members_);
    mailbox_ = *tacet::server::Mailbox::Open(members_.manifest(), mail_, limits_, watch_,
                                             [this] { return now_; });
    desk_.emplace(members_.manifest(), store_, *rounds_, *log_.log, [this] { return now_; });
  }
  void NameOperators(const std::string& lines) {
    operators_ = folder_.path() / "operators";
    std::ofstream(*operators_) << lines;
    std::filesystem::permissions(*operators_, std::filesystem::perms(0600));
  }

  AdminSite Site(bool page = true) {
    return {ServerParts{.manifest = members_.manifest(),
                        .rounds = *rounds_,
                        .log = *log_.log,
                        .metrics = metrics_,
                        .readiness = readiness_,
                        .store = health_,
                        .mailbox = *mailbox_,
                        .desk = *desk_,
                        .guarantees = guarantees_,
                        .clock = [this] { return now_; },
                        .version = "1.2.3",
                        .started_at = now_},
            page ? std::make_unique<PageToken>(*PageToken::Read(token_path_)) : nullptr,
            operators_};
  }
  // An operator's action as the page sends it.
  transport::http::PageRequest Action(const std::string& body) const {
    return {.method = "POST",
            .path = "/api/act",
            .authorization = std::string("Bearer ") + kOperator,
            .host = "127.0.0.1:9464",
            .content_type = "application/json",
            .origin = "http://127.0.0.1:9464",
            .fetch_site = "same-origin",
            .body = body};
  }
  bool IsPaused() const { return rounds_->Status().paused; }
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
  tacet::server::RequestLimits limits_{{}, 5, [] { return 0.0; }};
  RequestWatch watch_{*log_.log, metrics_, health_};
  tacet::server::MemoryBlobStore mail_;
  std::unique_ptr<tacet::server::Mailbox> mailbox_;
  std::optional<OperatorDesk> desk_;
  std::optional<std::filesystem::path> operators_;
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
  EXPECT_EQ(*Status().Find("format")->AsUint(), 4u);
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

TEST_F(AdminSiteTest, AnOperatorActsAndIsLogged) {
  NameOperators(std::string("ann ") + kOperator + "\n");
  const auto page = Site().Handle(Action(kPause));
  EXPECT_EQ(page.status, 200) << page.body;
  EXPECT_TRUE(IsPaused());
  EXPECT_THAT(log_.Events().back(), HasSubstr(R"("by":"ann","note":"works on the line")"));
  readiness_.SetListening(true);
  readiness_.NoteTick(now_);
  EXPECT_THAT(Get("/readyz").body, HasSubstr("\npaused: no further attempt begins"));
  EXPECT_THAT(Get("/readyz").body, Not(HasSubstr("ann")));
  // An operator's token reads, too, and the page learns whose it is.
  const auto read =
      Site().Handle({.path = "/api/status", .authorization = std::string("Bearer ") + kOperator});
  EXPECT_THAT(read.body, HasSubstr(R"("you":"ann")"));
  EXPECT_TRUE(Status().Find("you")->is_null());
  EXPECT_EQ(*Status().Find("operators")->Find("pause")->Find("by")->AsString(), "ann");
  EXPECT_EQ(Site().Handle(Action(kPause)).status, 409);  // the same once more
}

// Everything but the operator's own page with the operator's own token.
TEST_F(AdminSiteTest, NobodyElseActs) {
  EXPECT_EQ(Site().Handle(Action(kPause)).status, 405);  // there are no operators
  NameOperators(std::string("ann ") + kOperator + "\n");
  EXPECT_EQ(Site(false).Handle(Action(kPause)).status, 405);
  const auto changed = [this](auto change) {
    transport::http::PageRequest request = Action(kPause);
    change(request);
    return Site().Handle(request).status;
  };
  using Request = transport::http::PageRequest;
  for (const std::string origin :
       {"http://evil.example", "null", "https://127.0.0.1:9464", "http://127.0.0.1:9465"}) {
    EXPECT_EQ(changed([&](Request& request) { request.origin = origin; }), 403) << origin;
  }
  for (const std::string site : {"cross-site", "same-site", "none"}) {
    EXPECT_EQ(changed([&](Request& request) { request.fetch_site = site; }), 403) << site;
  }
  // The types that a form of another page can send.
  for (const std::string type : {"text/plain", "application/x-www-form-urlencoded", ""}) {
    EXPECT_EQ(changed([&](Request& request) { request.content_type = type; }), 415) << type;
  }
  for (const std::string token : {"", "Bearer ", "Bearer ann", "Basic YW5uOg=="}) {
    EXPECT_EQ(changed([&](Request& request) { request.authorization = token; }), 401) << token;
  }
  EXPECT_EQ(
      changed([](Request& request) { request.authorization = std::string("Bearer ") + kToken; }),
      403);  // the page's token looks
  EXPECT_EQ(changed([](Request& request) { request.method = "GET"; }), 405);
  EXPECT_EQ(changed([](Request& request) { request.path = "/api/status"; }), 405);
  EXPECT_EQ(changed([](Request& request) { request.body = "{}"; }), 400);
  EXPECT_FALSE(IsPaused());
  for (const std::string& event : log_.Events()) {
    EXPECT_THAT(event, Not(HasSubstr(kOperator)));
    EXPECT_THAT(event, Not(HasSubstr(kToken)));
  }
  // A program sends neither.
  EXPECT_EQ(changed([](Request& request) { request.origin = request.fetch_site = ""; }), 200);
}

// Everybody behind the sign-on proxy has that token.
TEST_F(AdminSiteTest, ThePagesTokenDoesNotActEvenWhereAnOperatorHasIt) {
  std::ofstream(token_path_) << kOperator;
  NameOperators(std::string("ann ") + kOperator + "\n");
  EXPECT_EQ(Site().Handle(Action(kPause)).status, 403);
  EXPECT_FALSE(IsPaused());
}

// A token that was stolen ends with its line, without a restart.
TEST_F(AdminSiteTest, ATokenEndsWithItsLine) {
  NameOperators(std::string("ann ") + kOperator + "\n");
  const AdminSite site = Site();
  EXPECT_EQ(site.Handle(Action(kPause)).status, 200);
  NameOperators("ann fedcba9876543210fedcba9876543210\n");
  EXPECT_EQ(site.Handle(Action(R"({"revision": 1, "action": "resume"})")).status, 401);
  std::filesystem::permissions(*operators_, std::filesystem::perms(0644));
  EXPECT_EQ(site.Handle(Action(R"({"revision": 1, "action": "resume"})")).status, 503);
  EXPECT_TRUE(IsPaused());
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
