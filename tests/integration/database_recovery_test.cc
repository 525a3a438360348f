// Plays the cells of the database in PostgreSQL in docs/deploy.md, section "Recovery", as
// server_recovery_test.cc does for a server's files.
#include <filesystem>
#include <string>
#include <vector>

#include "fmt/core.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/kept_database_for_test.h"
#include "tests/integration/running_recovery_for_test.h"

namespace tacet::app {
namespace {

// As PostgreSQL says it.
constexpr char kFullDisk[] = R"(
  CREATE FUNCTION tacet.full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100';
  END $$;
  CREATE TRIGGER no_room BEFORE INSERT ON tacet.item
    FOR EACH ROW EXECUTE FUNCTION tacet.full();
  CREATE TRIGGER no_room BEFORE INSERT OR UPDATE ON tacet.attempt
    FOR EACH ROW EXECUTE FUNCTION tacet.full();
)";
constexpr char kRoom[] = "DROP FUNCTION tacet.full() CASCADE";

// Two rounds are done. The server's role is nobody's administrator.
class DatabaseRecoveryTest : public RecoveryTest, public ::testing::WithParamInterface<FileFault> {
 protected:
  void SetUp() override {
    if (Cells() == 0 && GetParam() != FileFault::kWrongOwner) {
      GTEST_SKIP() << "the long tests play all cells";
    }
    database_.Execute(
        fmt::format("CREATE ROLE {} LOGIN PASSWORD 'x'; CREATE ROLE {}", role_, other_));
    Permit();
    std::string url = database_.url();
    const size_t user = url.find("//") + 2;
    url.replace(user, url.find("@/") - user, role_ + ":x");
    server_flags_.insert(server_flags_.end(), {"--state", url});
    HoldBefore(1);
    SetUpFolders();
    BeginServer();
    StartAll();
    AwaitEvent("attempt-published");
    KillAll();
    database_.Keep("older");
    HoldBefore(2);
    StartAll();
    AwaitEvent("attempt-published");
    KillAll();
  }
  void TearDown() override {
    KillAll();
    RecoveryTest::TearDown();
  }
  void Permit() {
    database_.Execute(
        fmt::format("GRANT CREATE ON DATABASE \"{}\" TO {}", database_.name(), role_));
  }

  void Inject() {
    switch (GetParam()) {
      case FileFault::kLost:
        database_.Empty();
        return Permit();
      case FileFault::kDamaged:
        return database_.Execute("UPDATE tacet.attempt SET model_digest = '\\x01'");
      case FileFault::kOlder:
        return database_.PutBack("older");
      case FileFault::kFullDisk:
        return database_.Execute(kFullDisk);
      case FileFault::kWrongOwner:
        return database_.Execute(fmt::format("REASSIGN OWNED BY {} TO {}", role_, other_));
    }
  }
  void Repair(const std::string& outcome) {
    if (outcome == kByItself) return database_.Execute(kRoom);
    KillAll();
    if (outcome == "`REASSIGN OWNED BY OTHER TO ROLE`") {
      return database_.Execute(fmt::format("REASSIGN OWNED BY {} TO {}", other_, role_));
    }
    ASSERT_EQ(outcome, "`tacet federation rotate`");
    for (const std::string& site : sites_) Renew(site);
    const Outcome rotated = Rotate();
    ASSERT_EQ(rotated.exit_code, 0) << rotated.err;
    for (const std::string who : {"north", "south", "west", "hub"}) Accept(who, 1);
    database_.Empty();
    Permit();
  }

  KeptDatabase database_;
  const std::string role_ = database_.name() + "_hub", other_ = database_.name() + "_other";
};

TEST_P(DatabaseRecoveryTest, IsTrue) {
  ASSERT_EQ(Tables().at("database").size(), 1u);
  const PlayedCell cell = CellsOf("database", GetParam()).front();
  SCOPED_TRACE(cell.Name());
  const bool by_itself = cell.outcome() == kByItself;
  Inject();
  BeginAnyServer();
  for (const std::string& site : sites_) StartSite(site);
  LetGo();
  const std::string told =
      by_itself ? "disk-full: " : cell.outcome().substr(1, cell.outcome().size() - 2);
  const auto is_told = [&] { return Said().find(told) != std::string::npos; };
  ASSERT_TRUE(Comes([&] { return is_told() || HasEnded(server_); })) << Said();
  EXPECT_TRUE(is_told()) << Said();
  ASSERT_NO_FATAL_FAILURE(Repair(cell.outcome()));
  StartAll();
  ExpectDone("rollback");
}

INSTANTIATE_TEST_SUITE_P(Faults, DatabaseRecoveryTest,
                         ::testing::Values(FileFault::kLost, FileFault::kDamaged, FileFault::kOlder,
                                           FileFault::kFullDisk, FileFault::kWrongOwner),
                         NameOfFault);

}  // namespace
}  // namespace tacet::app
