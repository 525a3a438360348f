// Keys on disk and in memory: what other users, other processes and core dumps get of them.
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "fmt/core.h"
#include "fmt/ranges.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tacet/base/bytes.h"
#include "tests/integration/haystack_for_test.h"
#include "tests/integration/live_federation_for_test.h"

namespace tacet::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using Words = std::vector<std::string>;

class KeyFilesTest : public LiveFederationTest {
 protected:
  KeyFilesTest() : LiveFederationTest(1) {}
  void SetUp() override { SetUpFolders(); }

  // The command ends with the path, its mode and the command that repairs it.
  void ExpectRefused(const std::string& path, unsigned mode, const std::string& repair,
                     const Words& command) {
    const auto before = std::filesystem::status(path_ / path).permissions();
    std::filesystem::permissions(path_ / path, std::filesystem::perms(mode));
    const Outcome refused = Tacet(command);
    EXPECT_NE(refused.exit_code, 0) << fmt::format("{}", fmt::join(command, " "));
    EXPECT_THAT(refused.err, AllOf(HasSubstr(fmt::format("{} has mode {:04o}", path, mode)),
                                   HasSubstr(fmt::format("run `chmod {} {}`", repair, path))))
        << fmt::format("{}", fmt::join(command, " "));
    std::filesystem::permissions(path_ / path, before);
  }

  const Words renew_ = {"client", "renew", "--home", "north", "--key-file", "north.key"};
  const Words join_ = {"client",   "join",  "federation/invitations/north-epoch-0.tacet",
                       "--home",   "north", "--key-file",
                       "north.key"};
  const Words check_ = {"client",   "check",       "--home",     "north",
                        "--server", "127.0.0.1:1", "--key-file", "north.key"};
  const Words run_ = {"client",      "run",        "--home",    "north",    "--server",
                      "127.0.0.1:1", "--key-file", "north.key", "--config", "site.toml",
                      "--client",    "0",          "--draw"};
  const Words change_ = {"keys",      "change",         "north",  "--key-file",
                         "north.key", "--new-key-file", "new.key"};
  const Words enrol_ = {"federation",          "enrol",      "north", "--request",
                        "north/north.request", "--key-file", "c.key"};
  const Words seal_ = {"federation", "seal-key", "--key-file", "c.key"};
  const Words rotate_ = {"federation", "rotate", "--key-file", "c.key"};
};

TEST_F(KeyFilesTest, HomesAreMadeForTheirOwnerAlone) {
  for (const std::string home : {"north", "hub", "federation"}) {
    struct stat info {};
    ASSERT_EQ(::stat((path_ / home).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0700u) << home;
  }
}

TEST_F(KeyFilesTest, AHomeThatOthersCanEnterIsRefusedByEveryCommand) {
  Words check_join = join_;
  check_join.emplace_back("--check");
  for (const Words& command :
       {renew_, join_, check_join, check_, run_, change_,
        Words{"client", "show", "--home", "north"},
        Words{"data", "check", "--agreement", "north", "--config", "site.toml"}}) {
    ExpectRefused("north", 0755, "700", command);
  }
  for (const Words& command : {enrol_, seal_, rotate_, Words{"federation", "show"}}) {
    ExpectRefused("federation", 0750, "700", command);
  }
  ExpectRefused("hub", 0711, "700", Arguments({}));
  std::filesystem::create_directory(path_ / "new");
  ExpectRefused("new", 0755, "700",
                {"client", "request", "--home", "new", "--name", "new", "--key-file", "n.key"});
  ExpectRefused("new", 0755, "700",
                {"federation", "init", "--folder", "new", "--name", "new", "--config",
                 "config.toml", "--members", "3", "--key-file", "n.key"});
}

TEST_F(KeyFilesTest, AKeyThatOthersCanReadIsRefusedByEveryCommand) {
  for (const Words& command : {renew_, join_, check_, run_, change_}) {
    for (const std::string key : {"north/identity.key", "north.key"}) {
      ExpectRefused(key, 0644, "600", command);
    }
  }
  ExpectRefused("north/exchange.key", 0640, "600", run_);
  for (const Words& command : {enrol_, seal_, rotate_}) {
    for (const std::string key : {"federation/coordinator.key", "c.key"}) {
      ExpectRefused(key, 0644, "600", command);
    }
  }
  for (const std::string key : {"hub/identity.key", "hub.key"}) {
    ExpectRefused(key, 0604, "600", Arguments({}));
  }
  std::ofstream(path_ / "pass") << "four words of it\n";
  Words passphrase = renew_;
  passphrase[4] = "--passphrase-file";
  passphrase[5] = "pass";
  ExpectRefused("pass", 0644, "600", passphrase);
}

// With a limit of core dumps that this process raised for all that it starts.
class KeysInMemoryTest : public LiveFederationTest {
 protected:
  KeysInMemoryTest() : LiveFederationTest(2) { HoldBefore(1); }

  void SetUp() override {
    rlimit limit{};
    ASSERT_EQ(::getrlimit(RLIMIT_CORE, &before_), 0);
    limit = {.rlim_cur = before_.rlim_max, .rlim_max = before_.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_CORE, &limit), 0);
    LiveFederationTest::SetUp();
  }
  void TearDown() override {
    ::setrlimit(RLIMIT_CORE, &before_);
    LiveFederationTest::TearDown();
  }

  // Where the memory of a process holds these bytes: of each place, whether dumps leave it out.
  // None where this user may not read the memory.
  static std::optional<std::vector<bool>> PlacesOf(const std::string& bytes, pid_t process) {
    std::vector<bool> places;
    const std::string folder = "/proc/" + std::to_string(process) + "/";
    std::istringstream maps(ReadAll(folder + "smaps"));
    std::ifstream memory(folder + "mem", std::ios::binary);
    if (!memory.is_open()) return std::nullopt;
    size_t found = 0;
    for (std::string line; std::getline(maps, line);) {
      uint64_t begin = 0, end = 0;
      char access[5] = {};
      if (std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, access) == 3) {
        found = 0;
        if (access[0] != 'r' || line.find("[v") != std::string::npos) continue;
        std::string part(end - begin, 0);
        memory.clear();
        memory.seekg(static_cast<std::streamoff>(begin));
        memory.read(part.data(), static_cast<std::streamsize>(part.size()));
        for (size_t at = part.find(bytes); at != part.npos; at = part.find(bytes, at + 1)) ++found;
      }
      if (!line.starts_with("VmFlags:")) continue;
      places.insert(places.end(), found, line.find(" dd") != std::string::npos);
    }
    return places;
  }

 private:
  rlimit before_{};
};

TEST_F(KeysInMemoryTest, AProcessThatHoldsKeysLeavesNoDump) {
  Await([&] { return !NodeLog("north").empty(); });
  const auto site = OpenSite(path_ / "north", path_ / "north.key");
  ASSERT_TRUE(site.ok()) << site.status();
  const std::string epoch_key(base::AsText(site->epoch_key.Expose()));
  const auto places = PlacesOf(epoch_key, running_["north"]);
  if (places.has_value()) {
    EXPECT_FALSE(places->empty());
    EXPECT_EQ(std::ranges::count(*places, false), 0) << "copies of the epoch key in dumped memory";
  }

  for (const pid_t process : {running_["north"], server_}) {
    EXPECT_THAT(ReadAll("/proc/" + std::to_string(process) + "/limits"),
                HasSubstr("Max core file size        0 "));
    ::kill(process, SIGABRT);
    int status = 0;
    ASSERT_EQ(::waitpid(process, &status, 0), process);
    EXPECT_EQ(WTERMSIG(status), SIGABRT);
    EXPECT_FALSE(WCOREDUMP(status));
  }
  running_.erase("north");
  server_ = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    EXPECT_FALSE(entry.path().filename().string().starts_with("core")) << entry.path();
  }
  if (!places.has_value()) GTEST_SKIP() << "a site's memory is for an administrator to read";
}

}  // namespace
}  // namespace tacet::app
