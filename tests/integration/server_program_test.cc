// A federation's server as its operators run it: a process, members that speak to it over the
// network, health, metrics, the page's data, its log, its end.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tacet/base/test_size_for_test.h"
#include "tacet/crypto/hash.h"
#include "tacet/storage/postgres/postgres_for_test.h"
#include "tests/integration/federation_for_test.h"
#include "tests/integration/site_for_test.h"

namespace tacet::app {
namespace {

using base::JsonValue;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kServed[] = R"(
[data]
classes = 2
[model]
name = "logistic"
input_shape = [10]
[federation]
rounds = 20
[privacy]
noise_multiplier = 6
scale = 1e-2
)";

class ServerProgramTest : public FederationProgramTest {
 protected:
  void SetUp() override { SetUpFederation(kServed); }

  SitesForTest Sites() const {
    SitesForTest sites;
    for (const std::string& site : sites_) {
      auto opened = SiteForTest::Open(path_ / site, path_ / (site + ".key"),
                                      "127.0.0.1:" + std::to_string(members_port_));
      EXPECT_TRUE(opened.ok()) << opened.status();
      sites.push_back(*std::move(opened));
    }
    return sites;
  }
};

constexpr char kOperator[] = "0123456789abcdef0123456789abcdef";

class OperatorProgramTest : public ServerProgramTest {
 protected:
  void SetUp() override {
    ServerProgramTest::SetUp();
    WriteConfig(std::string("ann ") + kOperator + "\n", "operators");
    ASSERT_EQ(::chmod((path_ / "operators").c_str(), 0600), 0);
  }
  // The first line of the answer.
  std::string Act(const std::string& action) const {
    const std::string answer =
        HttpSay(admin_port_, std::string("POST /api/act HTTP/1.1\r\nHost: localhost\r\n") +
                                 "Authorization: Bearer " + kOperator +
                                 "\r\nContent-Type: application/json\r\nContent-Length: " +
                                 std::to_string(action.size()) + "\r\n\r\n" + action);
    return answer.substr(0, answer.find("\r\n"));
  }
  // It looks at its invitation now.
  void AwaitPrepared(bool prepared) {
    ::kill(server_, SIGHUP);
    Await([&] { return Operators().Find("prepared")->is_null() != prepared; });
  }
  JsonValue Operators() const { return *Api("/api/status").Find("operators"); }
};

TEST_F(OperatorProgramTest, TokensDoNotLeaveTheMachine) {
  const auto refused = [this](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = Arguments(more);
    arguments.insert(arguments.end(), {"--operators", "operators"});
    const Outcome outcome = Tacet(arguments);
    EXPECT_EQ(outcome.exit_code, 1);
    return outcome.err;
  };
  EXPECT_THAT(refused({"--admin", "0.0.0.0:0", "--page", "on"}), HasSubstr("loopback address"));
  EXPECT_THAT(refused({"--page", "off"}), HasSubstr("--operators needs the page"));
  ASSERT_EQ(::chmod((path_ / "operators").c_str(), 0644), 0);
  EXPECT_THAT(refused({}), HasSubstr("operators"));
}

TEST_F(OperatorProgramTest, APauseSurvivesAKillAndAnEpochStartsInPlace) {
  StartServer({"--operators", "operators"});
  const std::vector<std::string> flags = {
      "--operators", "operators",
      "--listen",    "127.0.0.1:" + std::to_string(members_port_),
      "--admin",     "127.0.0.1:" + std::to_string(admin_port_)};
  EXPECT_THAT(Act(R"({"revision": 0, "action": "pause", "note": "new\u00a0line <b>"})"),
              StartsWith("HTTP/1.1 200"));
  ::kill(server_, SIGKILL);
  WaitFor(std::exchange(server_, 0), "server-");
  StartServer(flags);
  EXPECT_EQ(*Event("pause-found")->Find("by")->AsString(), "ann");
  SitesForTest sites = Sites();
  ASSERT_TRUE(ShowUp(sites).ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(2500));  // beyond --grace-seconds
  EXPECT_EQ(Number(Api("/api/status"), "attempts"), 0);
  EXPECT_THAT(HttpGet(admin_port_, "/readyz"), HasSubstr("paused: no further attempt begins"));
  EXPECT_THAT(Act(R"({"revision": 1, "action": "start-epoch", "epoch": 1})"),
              StartsWith("HTTP/1.1 409"));

  for (const std::string& site : sites_) Renew(site);
  const Outcome rotated = Rotate();
  ASSERT_EQ(rotated.exit_code, 0) << rotated.err;
  Accept("hub", 1);
  AwaitPrepared(true);
  // An invitation that cannot be read would end the server, which serves its epoch well.
  const std::string invitation = Read("hub/invitation");
  WriteConfig("cut", "hub/invitation");
  AwaitPrepared(false);
  EXPECT_THAT(Act(R"({"revision": 1, "action": "start-epoch", "epoch": 1})"),
              StartsWith("HTTP/1.1 409"));
  WriteConfig(invitation, "hub/invitation");
  AwaitPrepared(true);
  EXPECT_THAT(Act(R"({"revision": 1, "action": "start-epoch", "epoch": 1})"),
              StartsWith("HTTP/1.1 200"));
  Await(
      [this] { return Read("server.log").find(R"("epoch":1,"training":0)") != std::string::npos; });
  Await([this] {
    return HttpGet(admin_port_, "/readyz").find("ready\nepoch 1 of hospitals") != std::string::npos;
  });
  // The page's token is the same one, and so is the pause.
  EXPECT_TRUE(Operators().Find("prepared")->is_null());
  EXPECT_EQ(*Operators().Find("pause")->Find("by")->AsString(), "ann");
  EXPECT_THAT(Act(R"({"revision": 1, "action": "start-epoch", "epoch": 1})"),
              StartsWith("HTTP/1.1 409"));
  EXPECT_THAT(Act(R"({"revision": 2, "action": "resume"})"), StartsWith("HTTP/1.1 200"));
  EXPECT_TRUE(Operators().Find("pause")->is_null());
  EXPECT_THAT(Read("server.log"), Not(HasSubstr(kOperator)));
  EXPECT_EQ(StopServer().exit_code, 0);
}

class SecondServerTest : public OperatorProgramTest {
 protected:
  void SetUp() override {
    if (base::TestSize("TACET_DATABASES", 0) == 0) GTEST_SKIP() << "a long test";
    OperatorProgramTest::SetUp();
  }
};

// The first of two servers is lost, with its folder: the second finds the pause in the database.
TEST_F(SecondServerTest, TheNextServerOfADatabaseIsPaused) {
  const std::string url = storage::postgres::PostgresForTest::Get().NewDatabase();
  std::filesystem::copy(path_ / "hub", path_ / "second");
  StartServer({"--operators", "operators", "--state", url});
  EXPECT_THAT(Act(R"({"revision": 0, "action": "pause"})"), StartsWith("HTTP/1.1 200"));
  const Outcome second = Tacet(Arguments({"--home", "second", "--state", url, "--log", "-"}));
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_THAT(second.err, HasSubstr("is in use by another server"));
  ::kill(server_, SIGKILL);
  WaitFor(std::exchange(server_, 0), "server-");
  std::filesystem::remove_all(path_ / "hub");
  std::filesystem::rename(path_ / "second", path_ / "hub");
  StartServer({"--operators", "operators", "--state", url});
  EXPECT_EQ(*Operators().Find("pause")->Find("by")->AsString(), "ann");
  EXPECT_THAT(Act(R"({"revision": 0, "action": "pause"})"), StartsWith("HTTP/1.1 409"));
  EXPECT_THAT(Act(R"({"revision": 1, "action": "resume"})"), StartsWith("HTTP/1.1 200"));
}

TEST_F(ServerProgramTest, ServesRoundsAndEndsWhenItIsAsked) {
  StartServer();
  SitesForTest sites = Sites();
  const auto attempt = UploadAll(sites, 3);
  ASSERT_TRUE(attempt.ok()) << attempt.status();
  const absl::Status opened = DecryptRound(sites);
  ASSERT_TRUE(opened.ok()) << opened;
  AwaitEvent("attempt-published");

  const std::string metrics = HttpGet(admin_port_, "/metrics");
  EXPECT_THAT(metrics, HasSubstr("tacet_uploads_accepted_total 3\n"));
  EXPECT_THAT(metrics, HasSubstr("tacet_published_attempts_total 1\n"));
  EXPECT_THAT(metrics, HasSubstr("tacet_ready 1\n"));
  EXPECT_THAT(metrics, HasSubstr("tacet_requests_total{kind=\"put-vote\",status=\"ok\"} 2\n"));
  EXPECT_THAT(HttpGet(admin_port_, "/healthz"), HasSubstr("alive"));

  const JsonValue status = Api("/api/status");
  EXPECT_EQ(Number(status, "finished"), 1);
  EXPECT_EQ(status.Find("listed")->items().at(0).Find("phase")->AsString().value(), "published");
  Await([&] { return !Api("/api/status").Find("spent")->is_null(); });
  EXPECT_THAT(Api("/api/agreement").Find("words")->AsString().value(), HasSubstr("north"));

  sites.clear();
  const Outcome ended = StopServer();
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_TRUE(Event("server-stopped").has_value());

  // An accepted object is there after a restart; nothing is charged twice.
  StartServer();
  EXPECT_EQ(Number(*Event("server-started"), "finished_rounds"), 1);
  EXPECT_THAT(HttpGet(admin_port_, "/metrics"), HasSubstr("tacet_published_attempts_total 1\n"));
  SitesForTest again = Sites();
  ASSERT_TRUE(UploadAll(again, 3).ok());
  EXPECT_TRUE(DecryptRound(again).ok());
}

// The server invites two of three, and an attempt with one upload fails.
class ServerDrawsCohortsTest : public ServerProgramTest {
 protected:
  void SetUp() override {
    std::string agreed = kServed;
    const std::string rounds = "rounds = 20\n";
    agreed.insert(agreed.find(rounds) + rounds.size(), "cohort = 2\nsampling = \"fixed-size\"\n");
    SetUpFederation(agreed);
  }
};

// Neither log nor metrics nor status name a participant or hold a secret. Members are named by
// metrics, with a figure that is 0 for all that are there and while an attempt is open.
TEST_F(ServerDrawsCohortsTest, NamesNoParticipant) {
  StartServer({"--collecting-seconds", "2"});
  EXPECT_THAT(HttpGet(admin_port_, "/readyz"), HasSubstr("waits for members: 0 of 3 are here"));
  SitesForTest sites = Sites();
  const auto attempt = UploadAll(sites, 0);
  ASSERT_TRUE(attempt.ok()) << attempt.status();
  const auto uploads = [&](const auto& site) { return site->Upload(*attempt).ok(); };
  EXPECT_NE(std::ranges::find_if(sites, uploads), sites.end());
  AwaitEvent("attempt-failed");
  const auto stale =
      sites[0]->server().Put({.kind = protocol::BulkKind::kUpload, .attempt = {}}, base::Bytes(10));
  EXPECT_FALSE(stale.ok());
  AwaitEvent("request-refused");
  const std::string token = Read("hub/page.token");
  std::string metrics = HttpGet(admin_port_, "/metrics");
  for (const std::string& site : sites_) {
    const std::string line =
        "tacet_member_away_since_timestamp_seconds{member=\"" + site + "\"} 0\n";
    ASSERT_THAT(metrics, HasSubstr(line));
    metrics.erase(metrics.find(line), line.size());
  }
  const std::string told = Read("server.log") + metrics + Api("/api/status").Dump();
  for (const std::string& site : sites_) EXPECT_THAT(told, Not(HasSubstr(site)));
  EXPECT_THAT(told, Not(HasSubstr("member\":")));
  EXPECT_THAT(told, Not(HasSubstr(token)));
  EXPECT_THAT(Event("attempt-failed")->Dump(), HasSubstr("too-few-uploads"));
  EXPECT_EQ(StopServer().exit_code, 0);
}

TEST_F(ServerProgramTest, DataNeedTheToken) {
  StartServer();
  struct stat info {};
  ASSERT_EQ(::stat((path_ / "hub/page.token").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  const std::string token = Read("hub/page.token");
  for (const std::string path : {"/api/status", "/api/agreement", "/api/none"}) {
    for (const std::string& wrong : {std::string(), std::string("0"), token + "0"}) {
      EXPECT_THAT(HttpGet(admin_port_, path, wrong), StartsWith("HTTP/1.1 401")) << path;
    }
    EXPECT_THAT(HttpGet(admin_port_, path + "?token=" + token), StartsWith("HTTP/1.1 401"));
  }
  EXPECT_THAT(HttpGet(admin_port_, "/api/none", token), StartsWith("HTTP/1.1 404"));
  const std::string page = HttpGet(admin_port_, "/");
  EXPECT_THAT(page, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(page, HasSubstr("Content-Security-Policy: default-src 'none'; script-src 'self'"));
  EXPECT_THAT(page, HasSubstr("X-Frame-Options: DENY"));
  StopServer();
  StartServer({"--page", "off"});
  EXPECT_THAT(HttpGet(admin_port_, "/"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(HttpGet(admin_port_, "/api/status", Read("hub/page.token")),
              StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(HttpGet(admin_port_, "/metrics"), StartsWith("HTTP/1.1 200"));
}

TEST_F(ServerProgramTest, TakesUpANewCertificate) {
  StartServer();
  const double before = Number(Api("/api/status"), "certificate_end");
  Admit("hub", "500");
  ASSERT_EQ(Tacet({"federation", "seal-key", "--key-file", "c.key"}).exit_code, 0);
  Accept("hub");
  ::kill(server_, SIGHUP);
  AwaitEvent("certificate-replaced");
  EXPECT_GT(Number(Api("/api/status"), "certificate_end"), before + 100 * 86'400);
  EXPECT_FALSE(Event("new-epoch").has_value());

  // In another epoch's members it does not believe before it is started again.
  ASSERT_EQ(Rotate({"--keep-exchange-keys"}).exit_code, 0);
  Accept("hub", 1);
  ::kill(server_, SIGHUP);
  AwaitEvent("new-epoch");
  EXPECT_EQ(Number(*Event("new-epoch"), "epoch"), 1);
  SitesForTest sites = Sites();
  EXPECT_TRUE(UploadAll(sites, 3).ok());
  sites.clear();
  EXPECT_EQ(StopServer().exit_code, 0);
}

TEST_F(ServerProgramTest, KeepsItsStateInPostgresql) {
  using storage::postgres::PostgresForTest;
  PostgresForTest& postgres = PostgresForTest::Get();
  const std::string state = postgres.NewDatabase();
  StartServer({"--state", state});
  {
    SitesForTest sites = Sites();
    ASSERT_TRUE(UploadAll(sites, 3).ok());
    EXPECT_TRUE(DecryptRound(sites).ok());
  }
  const Outcome second = Tacet({"server", "--home", "hub", "--key-file", "hub.key", "--listen",
                                "127.0.0.1:0", "--admin", "127.0.0.1:0", "--state", state});
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_THAT(second.err, Not(HasSubstr("p'ss")));
  EXPECT_EQ(StopServer().exit_code, 0);

  StartServer({"--state", state});
  EXPECT_EQ(Number(*Event("server-started"), "finished_rounds"), 1);
  // Without its database it is not ready; with it again it continues by itself.
  postgres.Kill();
  AwaitEvent("store-failed");
  EXPECT_THAT(HttpGet(admin_port_, "/readyz"),
              HasSubstr("\ndatabase-away: its database cannot be reached."));
  postgres.Start();
  AwaitEvent("store-works-again");
  SitesForTest sites = Sites();
  EXPECT_TRUE(UploadAll(sites, 3).ok());
  EXPECT_TRUE(DecryptRound(sites).ok());
  EXPECT_THAT(Read("server.log"), Not(HasSubstr("p'ss")));
  EXPECT_THAT(Read("server.log"), Not(HasSubstr(PostgresForTest::kPasswordInUrl)));
}

TEST_F(ServerProgramTest, SaysWhyItCannotStart) {
  const auto refused = [&](std::vector<std::string> more) {
    const Outcome outcome = Tacet(Arguments(more));
    EXPECT_EQ(outcome.exit_code, 1);
    return outcome.err;
  };
  const Outcome site = Tacet({"server", "--home", "north", "--key-file", "north.key"});
  EXPECT_THAT(site.err, HasSubstr("north is a site's folder"));
  Request("other", {"--server-host", "localhost"});
  const Outcome alone = Tacet({"server", "--home", "other", "--key-file", "other.key"});
  EXPECT_THAT(alone.err, HasSubstr("has not joined a federation yet"));
  EXPECT_THAT(refused({"--key-file", "north.key"}), HasSubstr("does not open"));
  EXPECT_THAT(refused({"--state", "mysql://secret@host"}), HasSubstr("--state is sqlite:PATH"));
  EXPECT_THAT(refused({"--state", "mysql://secret@host"}), Not(HasSubstr("secret")));
  EXPECT_THAT(refused({"--admin", "9464"}), HasSubstr("is not HOST:PORT"));
  EXPECT_THAT(refused({"--listen", "9464"}), HasSubstr("9464"));
  EXPECT_THAT(refused({"--collecting-seconds", "0"}), HasSubstr("must be at least 1"));
  EXPECT_THAT(refused({"--log", "no/folder/log"}), HasSubstr("no/folder/log"));
  EXPECT_THAT(refused({"--page-token-file", "none"}), HasSubstr("none"));
  EXPECT_THAT(refused({"--member-requests-a-second", "0"}), HasSubstr("expected more than 0"));

  // Two servers never use one state.
  StartServer();
  const Outcome second = Tacet({"server", "--home", "hub", "--key-file", "hub.key", "--listen",
                                "127.0.0.1:0", "--admin", "127.0.0.1:0"});
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_THAT(second.err, HasSubstr("another process"));
}

}  // namespace
}  // namespace tacet::app
