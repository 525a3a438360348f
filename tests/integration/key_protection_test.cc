// Keys on disk: what other users get of them.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "fmt/core.h"
#include "fmt/ranges.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

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

}  // namespace
}  // namespace tacet::app
