// A whole federation as processes of their own: a server and three sites, killed at random moments.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fmt/core.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>

#include "tacet/base/locked_secret.h"
#include "tacet/federation/signed_manifest.h"
#include "tacet/storage/file/secret_file.h"
#include "tacet/storage/file/site_folder.h"
#include "tests/integration/federation_for_test.h"

namespace tacet::app {
namespace {

using base::JsonValue;
using ::testing::SizeIs;

// More than can be done between the kills.
constexpr int kRounds = TACET_KILLS + 4;
constexpr char kAgreed[] = R"(
[data]
classes = 4
[model]
name = "logistic"
input_shape = [28, 28]
[federation]
min_participants = 2
spare_attempts = 60
attempts_per_round = 40
rounds = {}
[privacy]
clip_norm = 0.5
coordinate_bound = 0.1
noise = 6
scale = 1e-3
)";

class LiveFederationTest : public FederationProgramTest {
 protected:
  void SetUp() override {
    SetUpFederation(fmt::format(kAgreed, kRounds));
    WriteConfig(
        "[data]\nhandwriting_writers = 3\nhandwriting_min_samples = 10\n"
        "handwriting_max_samples = 20\nhandwriting_classes = 4\n",
        "site.toml");
    StartServer(ServerFlags());
    server_address_ = "127.0.0.1:" + std::to_string(members_port_);
    for (const std::string& site : sites_) StartSite(site);
  }
  void TearDown() override {
    for (const auto& [site, process] : running_) {
      ::kill(process, SIGKILL);
      WaitFor(process, site + "-");
    }
    FederationProgramTest::TearDown();
  }

  std::vector<std::string> ServerFlags() const {
    std::vector<std::string> flags = {"--collecting-seconds", "5", "--opening-seconds", "10"};
    if (!server_address_.empty()) flags.insert(flags.end(), {"--listen", server_address_});
    return flags;
  }
  void StartSite(const std::string& site) {
    const auto number = std::ranges::find(sites_, site) - sites_.begin();
    running_[site] = Start(
        TACET_PROGRAM,
        {"client", "run", "--home", site, "--key-file", site + ".key", "--server", server_address_,
         "--config", "site.toml", "--draw", "--owner", std::to_string(number), "--json"},
        site + "-");
  }

  void KillAndRestart(size_t victim) {
    if (victim == sites_.size()) {
      ::kill(server_, SIGKILL);
      EXPECT_EQ(WaitFor(server_, "server-").exit_code, -1);
      StartServer(ServerFlags());
      return;
    }
    const std::string& site = sites_[victim];
    ::kill(running_[site], SIGKILL);
    EXPECT_EQ(WaitFor(running_[site], site + "-").exit_code, -1) << "it had ended by itself";
    StartSite(site);
  }

  void AwaitAllDone() {
    for (const std::string& site : sites_) {
      const Outcome ended = WaitFor(running_[site], site + "-");
      running_.erase(site);
      ASSERT_EQ(ended.exit_code, 0) << ended.err;
      const auto json = JsonValue::Parse(ended.out);
      ASSERT_TRUE(json.ok()) << ended.out;
      EXPECT_EQ(Number(*json, "rounds"), kRounds);
      EXPECT_EQ(json->Find("alarms")->Dump(), "[]") << ended.err;
      charged_.insert(Number(*json, "charged_attempts"));
    }
  }

  // By attempt, the digests of what the site ever sent for it of one kind.
  std::map<std::string, std::set<std::string>> Sent(const std::string& site,
                                                    const std::string& what) const {
    std::map<std::string, std::set<std::string>> sent;
    std::istringstream log(Read(site + "/node-log.jsonl"));
    for (std::string line; std::getline(log, line);) {
      const auto event = JsonValue::Parse(line);
      if (!event.ok() || *event->Find("event")->AsString() != "sent" ||
          *event->Find("what")->AsString() != what) {
        continue;
      }
      sent[event->Find("round")->Dump() + "/" + event->Find("attempt")->Dump()].insert(
          *event->Find("sha256")->AsString());
    }
    return sent;
  }

  void ExpectOneModelAndNothingSaidTwice() {
    std::set<std::string> models;
    for (const std::string& site : sites_) {
      models.insert(Read(site + "/run/model.f32"));
      for (const std::string what : {"upload", "vote", "opened-sum", "statement"}) {
        for (const auto& [attempt, digests] : Sent(site, what)) {
          EXPECT_THAT(digests, SizeIs(1)) << site << " sent two " << what << " for " << attempt;
        }
      }
      const Outcome verified = Tacet({"ledger", "verify", site + "/run/ledger"});
      EXPECT_EQ(verified.exit_code, 0) << verified.err;
    }
    EXPECT_THAT(models, SizeIs(1));
    EXPECT_FALSE(models.begin()->empty());
    EXPECT_THAT(charged_, SizeIs(1)) << "ledgers of announced attempts are all alike";
  }

  std::string server_address_;
  std::map<std::string, pid_t> running_;
  std::set<double> charged_;
};

TEST_F(LiveFederationTest, KillsAtRandomMomentsLoseNothing) {
  std::mt19937 random(TACET_KILLS);
  for (int i = 0; i < TACET_KILLS; ++i) {
    std::this_thread::sleep_for(
        std::chrono::milliseconds(std::uniform_int_distribution<int>(50, 800)(random)));
    // The server every second time, the sites in turn.
    KillAndRestart(i % 2 == 0 ? sites_.size() : static_cast<size_t>(i / 2) % sites_.size());
  }
  AwaitAllDone();
  ExpectOneModelAndNothingSaidTwice();
}

// In a network namespace of its own, whose loopback device is taken down for a while.
class CutNetworkTest : public LiveFederationTest {
 protected:
  void SetUp() override {
    if (::unshare(CLONE_NEWNET) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) {
      GTEST_SKIP() << "this system lets nobody make a network namespace: " << std::strerror(errno);
    }
    SetLoopback(true);
    LiveFederationTest::SetUp();
  }

  static void SetLoopback(bool up) {
    const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ifreq request{};
    std::strcpy(request.ifr_name, "lo");
    request.ifr_flags = static_cast<short>(up ? IFF_UP | IFF_RUNNING : 0);
    EXPECT_EQ(::ioctl(socket, SIOCSIFFLAGS, &request), 0) << std::strerror(errno);
    ::close(socket);
  }
};

TEST_F(CutNetworkTest, LosesNothing) {
  for (const int milliseconds : {300, 2500, 700, 4000}) {
    std::this_thread::sleep_for(std::chrono::milliseconds(900));
    SetLoopback(false);
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    SetLoopback(true);
  }
  AwaitAllDone();
  ExpectOneModelAndNothingSaidTwice();
}

// Everything that a file, or the memory of a process, holds.
class Haystack {
 public:
  void AddFolder(const std::filesystem::path& folder) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file()) parts_.push_back(ReadAll(entry.path()));
    }
  }
  void AddMemory(pid_t process) {
    const std::string folder = "/proc/" + std::to_string(process) + "/";
    std::istringstream maps(ReadAll(folder + "maps"));
    std::ifstream memory(folder + "mem", std::ios::binary);
    for (std::string line; std::getline(maps, line);) {
      uint64_t begin = 0, end = 0;
      char access[5] = {};
      if (std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, access) != 3) continue;
      if (access[0] != 'r' || line.find("[v") != std::string::npos) continue;
      std::string part(end - begin, 0);
      memory.clear();
      memory.seekg(static_cast<std::streamoff>(begin));
      memory.read(part.data(), static_cast<std::streamsize>(part.size()));
      parts_.push_back(std::move(part));
    }
  }
  bool Holds(std::string_view needle) const {
    return std::ranges::any_of(parts_, [needle](const std::string& part) {
      return part.find(needle) != std::string::npos;
    });
  }

 private:
  std::vector<std::string> parts_;
};

TEST_F(LiveFederationTest, TheServerHoldsNoModelAndNoKey) {
  AwaitAllDone();
  Haystack server;
  server.AddFolder(path_ / "hub");
  server.AddMemory(server_);
  Haystack site;
  site.AddFolder(path_ / "north");

  const std::string first = Read("federation/initial-model.f32");
  const std::string last = Read("north/run/model.f32");
  ASSERT_EQ(first.size(), last.size());
  for (size_t at = 0; at + 32 <= first.size(); at += 256) {
    for (const std::string* model : {&first, &last}) {
      const std::string_view piece = std::string_view(*model).substr(at, 32);
      if (piece.find_first_not_of(piece[0]) == std::string_view::npos) continue;  // zeros
      EXPECT_FALSE(server.Holds(piece)) << "32 bytes of a model, from byte " << at;
      // This search finds what is there.
      if (model == &last) {
        EXPECT_TRUE(site.Holds(piece));
      }
    }
  }

  const auto folder = storage::file::SiteFolder::Open(path_ / "north");
  auto content = storage::file::ReadSecretFile(path_ / "north.key");
  ASSERT_TRUE(folder.ok() && content.ok());
  const auto keys = folder->UnlockKeys(*base::Unlocker::FromKeyFile(*std::move(content)));
  const auto joined = folder->Joined();
  ASSERT_TRUE(keys.ok() && joined.ok());
  const auto epoch_key = federation::OpenEpochKey(joined->sealed_epoch_key, joined->manifest,
                                                  *joined->member, keys->sealing);
  ASSERT_TRUE(epoch_key.ok());
  EXPECT_FALSE(server.Holds(base::AsText(epoch_key->Expose())));
  EXPECT_FALSE(server.Holds(base::AsText(keys->signing.Seed().Expose())));
  EXPECT_FALSE(server.Holds(base::AsText(keys->sealing.seed().Expose())));
  EXPECT_TRUE(server.Holds(base::AsText(joined->manifest.manifest().hash())));
}

}  // namespace
}  // namespace tacet::app
