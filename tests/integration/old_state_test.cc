// Folders that version 0.2 left, in which every file had format number 1: a program of today names
// the file, its number, the number that it reads and what to do, and changes no byte.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/format_ids.h"
#include "tests/integration/live_federation_for_test.h"
#include "tests/integration/recovery_table_for_test.h"

namespace tacet::app {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

// For a file in SQLite's format.
constexpr std::string_view kSqliteMark = "SQLite format 3";
constexpr size_t kUserVersion = 60;  // where its number is, as a big-endian u32

// The format whose four characters open the file; null where there are none.
const base::FormatId* FormatOf(const std::string& bytes) {
  for (const base::FormatId& id : base::kFormatIds) {
    if (bytes.starts_with(id.magic) && bytes.size() >= base::kPreambleBytes) return &id;
  }
  return nullptr;
}

class OldStateTest : public LiveFederationTest {
 protected:
  OldStateTest() : LiveFederationTest(2) {}

  // The number of the format, and today's; both 0 where the file has none, or today's is 1.
  struct Numbers {
    uint32_t old = 0, now = 0;
  };
  // Gives the file the number that it had in version 0.2.
  Numbers MakeOld(const fs::path& file) const {
    std::string bytes = ReadAll(file);
    Numbers numbers;
    if (bytes.starts_with(kSqliteMark)) {
      numbers = {.old = 1, .now = static_cast<uint8_t>(bytes[kUserVersion + 3])};
      bytes[kUserVersion + 3] = 1;
    } else if (const base::FormatId* const id = FormatOf(bytes); id != nullptr && id->version > 1) {
      numbers = {.old = 1, .now = id->version};
      bytes[4] = 1;
    }
    if (numbers.now != 0) std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
    return numbers;
  }
  std::map<std::string, std::string> Bytes(const fs::path& folder) const {
    std::map<std::string, std::string> bytes;
    for (const std::string& file : FilesIn(folder)) bytes[file] = ReadAll(folder / file);
    return bytes;
  }
  // The command is refused for `file`, and leaves the folder unchanged.
  void ExpectRefused(const std::string& home, const std::string& file, uint32_t now,
                     const std::vector<std::string>& command, std::string_view remedy) {
    SCOPED_TRACE(home + "/" + file + ": " + command[0] + " " + command[1]);
    const auto before = Bytes(path_ / home);
    const pid_t process = StartAs(home, command, "old-");
    const Outcome outcome = WaitFor(process, "old-");
    EXPECT_EQ(outcome.exit_code, 1) << outcome.out;
    EXPECT_THAT(outcome.err,
                AllOf(HasSubstr(file), ContainsRegex("version.* 1, this program"),
                      ContainsRegex(fmt::format("[a-z] {}[.]", now)), HasSubstr(remedy)));
    const auto after = Bytes(path_ / home);
    for (const auto& [name, bytes] : before) {
      EXPECT_TRUE(after.contains(name) && after.at(name) == bytes) << name << " has changed";
    }
    for (const auto& [name, bytes] : after) EXPECT_TRUE(before.contains(name)) << name << " is new";
  }
  // The same where this file alone is old.
  void ExpectOneRefused(const std::string& home, const std::string& file,
                        const std::vector<std::string>& command, std::string_view remedy) {
    CopyOver(path_ / home, path_ / "kept");
    const Numbers numbers = MakeOld(path_ / home / file);
    ASSERT_GT(numbers.now, 1u) << file << " has the format that it had";
    ExpectRefused(home, file, numbers.now, command, remedy);
    CopyOver(path_ / "kept", path_ / home);
  }
  void MakeAllOld(const std::string& home) const {
    for (const std::string& file : FilesIn(path_ / home)) MakeOld(path_ / home / file);
  }
  std::vector<std::string> Run(const std::string& site) const {
    return {"client",      "run",      "--home",    site,       "--key-file",
            site + ".key", "--server", reached_at_, "--config", "site.toml",
            "--draw",      "--client", "0"};
  }
};

constexpr std::string_view kBeginAgain = "begin again in an empty folder";
constexpr std::string_view kKeepLedger = "Keep it: what it charged stays spent.";
constexpr std::string_view kOtherDatabase = "Give this server another database (--state)";

TEST_F(OldStateTest, IsRefusedByNameAndLeftAlone) {
  AwaitAllDone();
  ASSERT_EQ(StopServer().exit_code, 0);
  const std::vector<std::string> serve = Arguments(server_flags_);
  const std::vector<std::string> show = {"federation", "show"};
  const std::vector<std::string> rotate = {"federation", "rotate", "--key-file", "c.key"};
  const std::string ledger = "data/tacet/ledger/main.ledger";
  const std::vector<std::string> spent = {"ledger", "show", "north/" + ledger};

  // Files that an operator could carry into a folder of today.
  ExpectOneRefused("hub", "server.sqlite", serve, kOtherDatabase);
  ExpectOneRefused("hub", "invitation", serve, kBeginAgain);
  ExpectOneRefused("north", "invitation", Run("north"), kBeginAgain);
  ExpectOneRefused("north", ledger, Run("north"), kKeepLedger);
  ExpectOneRefused("north", ledger, spent, kKeepLedger);
  ExpectOneRefused("north", ledger + ".anchor", Run("north"), kKeepLedger);
  ExpectOneRefused("north", "ledger.anchor", Run("north"), kKeepLedger);
  ExpectOneRefused("north", "state/ledger.anchor", Run("north"), kKeepLedger);
  // Whole folders, as an upgrade finds them.
  fs::copy_file(path_ / "north/invitation", path_ / "today");
  for (const std::string home : {"north", "hub", "federation"}) MakeAllOld(home);
  ExpectRefused("hub", "invitation", 2, serve, kBeginAgain);
  ExpectRefused("north", "invitation", 2, Run("north"), kBeginAgain);
  ExpectRefused("north", "invitation", 2, {"client", "show", "--home", "north"}, kBeginAgain);
  ExpectRefused("north", ledger, 3, spent, kKeepLedger);
  // An invitation of today opens no old folder, whose journal and keys have the number of today.
  fs::copy_file(path_ / "today", path_ / "north/invitation", fs::copy_options::overwrite_existing);
  ExpectRefused("north", "ledger.anchor", 2, Run("north"), kKeepLedger);
  ExpectRefused("federation", "epochs/0000000000.manifest", 2, show, kBeginAgain);
  ExpectRefused("federation", "epochs/0000000000.manifest", 2, rotate, kBeginAgain);
}

}  // namespace
}  // namespace tacet::app
