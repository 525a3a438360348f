// A federation inside of another framework: ordinary homes whose members train by the framework's
// apps, the ordinary server, and messages of bytes between them.
#include <fstream>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "fmt/ranges.h"
#include <sys/stat.h>

#include "tacet/base/float_bytes.h"
#include "tacet/crypto/random.h"
#include "tacet/host/operator_action.h"
#include "tacet/host/relay_server.h"
#include "tacet/host/server_state.h"
#include "tacet/protocol/member_request.h"
#include "tacet/site/app_for_test.h"
#include "tests/integration/haystack_for_test.h"
#include "tests/integration/live_federation_for_test.h"

namespace tacet::app {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr std::array<float, 3> kInitial = {1, -2, 3};
constexpr std::array<float, 3> kUpdate = {0.25, 0.125, -0.25};
constexpr std::chrono::seconds kInStep(60);

class RelayFederationTest : public LiveFederationTest {
 protected:
  using Reply = std::optional<site::MemberFrame>;

  RelayFederationTest() : LiveFederationTest(3) {
    agreed_ = R"(
[model]
name = "external"
architecture = "three numbers"
app = '{{"lr": 0.5}}'
[federation]
min_participants = 2
spare_attempts = 20
rounds = {}
[privacy]
clip_norm = 0.5
coordinate_bound = 0.1
noise_multiplier = 12
scale = 1e-3
)";
    init_flags_ = {"--initial-model", "initial.f32"};
  }

  void SetUp() override {
    const auto bytes = base::FloatBytes(kInitial);
    std::ofstream(path_ / "initial.f32", std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    SetUpFolders();
    for (const std::string& site : sites_) {
      std::filesystem::create_directory(path_ / (site + "-app"));
      ASSERT_EQ(::chmod((path_ / (site + "-app")).c_str(), 0750), 0);
      std::ofstream(path_ / (site + ".csv")) << "rows that the app reads\n";
      StartMember(site);
      messages_[site] = base::Bytes();
    }
    OpenServer();
  }

  std::filesystem::path SocketOf(const std::string& site) const {
    return path_ / (site + "-app") / "app.sock";
  }
  void StartMember(const std::string& site) {
    running_[site] = StartAs(site,
                             {"client", "run", "--home", site, "--key-file", site + ".key", "--app",
                              SocketOf(site), "--data", site + ".csv", "--json"},
                             site + "-");
    Await([&] { return site::AppForTest(SocketOf(site)).connected(); });
  }
  void OpenServer() {
    auto opened = host::RelayServer::Open(
        {.rounds = {.home = path_ / "hub",
                    .rounds = {.collecting_seconds = 20, .grace_seconds = 1, .retry_seconds = 1}},
         .log = (path_ / "server.log").string()},
        "test");
    ASSERT_TRUE(opened.ok()) << opened.status();
    server_ = *std::move(opened);
  }

  // As an operator's pause at the page of a server that had this store before.
  void Pause() {
    crypto::SystemEntropy entropy;
    const std::string where = "sqlite:" + (path_ / "hub/server.sqlite").string();
    auto state = host::OpenServerState(where, entropy);
    ASSERT_TRUE(state.ok()) << state.status();
    ASSERT_TRUE(state->store
                    ->PutItem(server::kOperatorsPlace,
                              {.kind = server::ItemKind::kOperator,
                               .bytes = host::WriteOperatorAction({.by = "ann", .at = 1})})
                    .ok());
  }

  // Keeps which kinds of requests a member sends in one message; false for a message without any,
  // of which a busy machine makes more.
  bool Keep(const std::string& site, const base::Bytes& bundle) {
    std::vector<std::string> kinds;
    const auto requests = transport::relay::ReadRequests(bundle);
    for (const std::span<const uint8_t> request : requests.value()) {
      kinds.emplace_back(protocol::RequestKindIn(request));
    }
    if (kinds.empty()) return false;
    asked_[site].push_back(fmt::format("{}", fmt::join(kinds, "+")));
    return true;
  }
  // The framework's client: the member's requests or its end, or nothing when the message is lost.
  // Several sites' clients run side by side.
  Reply AppOf(const std::string& site, const base::Bytes& message) {
    site::AppForTest app(SocketOf(site));
    if (!app.connected()) return std::nullopt;
    Haystack& seen = seen_.at(site);
    seen.Add(std::string(message.begin(), message.end()));
    std::optional<site::MemberFrame> frame = app.Ask(site::AppFrame::kExchange, message);
    if (frame.has_value()) seen.Add(frame->text());
    while (frame.has_value() && frame->kind == site::AppFrame::kTrain) {
      const site::TaskForTest task = site::TaskIn(*frame);
      trained_[site].push_back(task);
      if (dies_ && dies_(site, task)) return std::nullopt;
      frame = app.Trained(task, kUpdate);
      if (frame.has_value()) seen.Add(frame->text());
    }
    return frame;
  }
  // One message to each node for which there is something, and its way back.
  void Turn() {
    std::map<std::string, std::future<Reply>> replies;
    for (auto& [site, message] : std::exchange(messages_, {})) {
      replies[site] = std::async(
          std::launch::async, [this, site = site, bytes = message] { return AppOf(site, bytes); });
    }
    host::NodeBundles bundles;
    bool all_asked = true;
    for (auto& [site, reply] : replies) {
      Reply frame = reply.get();
      if (!frame.has_value()) {
        if (!ended_.contains(site)) messages_[site] = base::Bytes();  // again, from the beginning
      } else if (frame->kind == site::AppFrame::kRequests) {
        all_asked = Keep(site, frame->payload) && all_asked;
        bundles[site] = std::move(frame->payload);
      } else {
        ended_[site] = frame->text();
      }
    }
    const auto until = std::chrono::steady_clock::now() + kInStep;
    do {
      for (auto& [site, answers] : server_->Exchange(bundles, messages_.empty() ? 1 : 0.05)) {
        messages_[site] = std::move(answers);
      }
      bundles.clear();
    } while (in_step_ && all_asked && messages_.size() + ended_.size() < sites_.size() &&
             std::chrono::steady_clock::now() < until);
    if (lie_) lie_();
  }
  void RunUntilAllEnded() {
    for (const std::string& site : sites_) {  // AppOf adds nothing to these maps
      trained_[site];
      seen_[site];
      ended_.erase(site);
    }
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(90);
    while (ended_.size() < sites_.size()) {
      Turn();
      if (each_turn_) each_turn_();
      ASSERT_LT(std::chrono::steady_clock::now(), until) << Read("server.log");
    }
  }

  std::unique_ptr<host::RelayServer> server_;
  std::map<std::string, base::Bytes> messages_;  // to be sent
  // The apps' views of the federation but for what they compute: whatever the framework and the
  // members tell them.
  void ExpectAppsSawNoSecrets() {
    const auto text_of = [](std::span<const float> values) {
      return std::string(base::AsText(base::FloatBytes(values)));
    };
    std::vector<std::string> secrets = {text_of(kUpdate)};
    for (const std::string& site : sites_) {
      const auto opened = OpenSite(path_ / site, path_ / (site + ".key"));
      ASSERT_TRUE(opened.ok()) << opened.status();
      for (std::string& key : KeysOf(*opened)) secrets.push_back(std::move(key));
    }
    ASSERT_GT(secrets.size(), 4 * sites_.size());
    for (auto& [site, seen] : seen_) {
      seen.AddFolder(SocketOf(site).parent_path());
      EXPECT_THAT(seen.Find(secrets), testing::IsEmpty()) << site;
      EXPECT_TRUE(seen.Holds(text_of(kInitial))) << "the search finds what an app is told";
    }
  }

  std::map<std::string, Haystack> seen_;
  std::map<std::string, std::vector<std::string>> asked_;
  // Whether members get their next messages all at once, so that none is ahead of another.
  bool in_step_ = false;
  std::map<std::string, std::vector<site::TaskForTest>> trained_;
  std::map<std::string, std::string> ended_;  // what the member told
  std::function<bool(const std::string&, const site::TaskForTest&)> dies_;
  std::function<void()> lie_, each_turn_;
};

// Five messages a round: upload, vote, share and verdict each need something of the other seats,
// and the next attempt needs their attestations. The key packet comes before the first upload.
TEST_F(RelayFederationTest, OrdinaryHomesTrainInFiveMessagesARound) {
  in_step_ = true;
  std::vector<std::string> expected = {"await", "put-attestation", "put-part"};
  for (int round = 0; round < 3; ++round) {
    for (const char* of_round :
         {"put-part", "put-vote", "put-part", "put-verdict", "put-attestation+put-part"}) {
      expected.emplace_back(of_round);
    }
  }
  expected.emplace_back("fetch-attestations");
  RunUntilAllEnded();
  EXPECT_TRUE(server_->done());
  EXPECT_EQ(server_->round(), 3);
  const Outcome shown = Tacet({"client", "show", "--home", "north", "--json"});
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_EQ(Number(*base::JsonValue::Parse(shown.out)->Find("app"), "lr"), 0.5) << shown.err;
  AwaitAllDone();
  ExpectNoViolations();
  ExpectOneModelAndNothingSaidTwice();
  ExpectAppsSawNoSecrets();
  const Outcome audit = Tacet({"audit", "write", "north/run", "--out", "audit.json"});
  EXPECT_EQ(audit.exit_code, 0) << audit.err;
  for (const std::string& site : sites_) {
    EXPECT_EQ(asked_[site], expected) << site;
    EXPECT_EQ(Number(*base::JsonValue::Parse(ended_[site]), "rounds"), 3);
    EXPECT_THAT(trained_[site], SizeIs(3));
    EXPECT_EQ(trained_[site][0].configuration, R"({"lr": 0.5})") << "the agreed bytes";
    EXPECT_EQ(trained_[site][0].model, std::vector<float>(kInitial.begin(), kInitial.end()));
  }
}

// Apps, members and the server are killed in the middle, and the server finds a pause. Nothing is
// charged or trained twice.
TEST_F(RelayFederationTest, FaultsOfEveryPartEndNothing) {
  bool died = false;
  dies_ = [&](const std::string& site, const site::TaskForTest& task) {
    return site == "south" && task.round == 0 && !std::exchange(died, true);
  };
  bool killed = false;
  each_turn_ = [&] {
    if (server_->round() < 1 || std::exchange(killed, true)) return;
    server_.reset();
    Pause();
    OpenServer();
    KillSite("north");
    StartMember("north");
    messages_ = {{"north", {}}, {"south", {}}, {"west", {}}};
  };
  RunUntilAllEnded();
  EXPECT_TRUE(died && killed);
  EXPECT_THAT(Read("server.log"), HasSubstr("pause-ignored"));
  AwaitAllDone();
  ExpectNoViolations();
  ExpectOneModelAndNothingSaidTwice();
  EXPECT_TRUE(Noted("south", "refused", "training") || !NodeLog("south").empty());
  // Nobody was ever asked to train twice for an attempt, but for a member that was killed itself.
  for (const std::string site : {"south", "west"}) {
    std::set<std::pair<uint32_t, uint32_t>> attempts;
    for (const site::TaskForTest& task : trained_[site]) {
      EXPECT_TRUE(attempts.insert({task.round, task.attempt}).second)
          << site << ", round " << task.round << ", attempt " << task.attempt;
    }
  }
}

// The framework loses, repeats, cuts and exchanges bundles.
TEST_F(RelayFederationTest, AMessengerThatMixesMessagesUpEndsNothing) {
  std::mt19937 random(7);
  std::vector<base::Bytes> old;
  lie_ = [&] {
    for (auto& [site, message] : messages_) {
      old.push_back(message);
      switch (random() % 8) {
        case 0:
          message.clear();  // lost; the next one begins again
          break;
        case 1:
          message.resize(message.size() / 2);
          break;
        case 2:
          message = old[random() % old.size()];
          break;
        default:
          break;
      }
    }
  };
  RunUntilAllEnded();
  AwaitAllDone();
  ExpectNoViolations();
  ExpectOneModelAndNothingSaidTwice();
}

TEST_F(RelayFederationTest, WhatIsWrongIsSaid) {
  const auto refusal = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"client",     "run",       "--home", "north",
                                          "--key-file", "north.key", "--data", "north.csv"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Tacet(std::move(arguments)).err;
  };
  EXPECT_THAT(refusal({}), HasSubstr("give --server HOST:PORT, or --app SOCKET"));
  EXPECT_THAT(refusal({"--app", "a", "--server", "b:1"}), HasSubstr("or --app SOCKET"));
  EXPECT_THAT(refusal({"--app", "a", "--train-with", "b"}), HasSubstr("--app excludes"));
  EXPECT_THAT(refusal({"--app", SocketOf("south")}), HasSubstr("another member serves at"));
  const auto site = host::RelayServer::Open({.rounds = {.home = path_ / "south"}}, "test");
  EXPECT_THAT(std::string(site.status().message()), HasSubstr("is a site's folder"));
}

}  // namespace
}  // namespace tacet::app
