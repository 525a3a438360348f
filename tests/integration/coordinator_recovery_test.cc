// Plays every cell of the coordinator's table in docs/deploy.md, section "Recovery": the fault
// happens to the file in a federation's second epoch, and what the cell says is enough for the
// coordinator's commands, and for an epoch that all members can join.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "fmt/core.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/integration/broken_disk_for_test.h"
#include "tests/integration/enrolment_for_test.h"
#include "tests/integration/recovery_table_for_test.h"

namespace tacet::app {
namespace {

using ::testing::HasSubstr;

constexpr char kAgreed[] = R"(
[data]
classes = 2
[model]
name = "logistic"
input_shape = [{}]
[federation]
min_participants = 2
rounds = 2
[privacy]
clip_norm = 0.5
coordinate_bound = 0.1
noise_multiplier = 12
scale = 1e-3
)";

class CoordinatorRecoveryTest : public EnrolmentTest {
 protected:
  using Arguments = std::vector<std::string>;

  // Four parties, of which west leaves after the first training.
  void SetUp() override {
    Init(fmt::format(kAgreed, 3));
    WriteConfig(fmt::format(kAgreed, 4), "second.toml");
    for (const std::string name : {"north", "south", "west"}) Request(name);
    Request("hub", {"--server-host", "localhost"});
    for (const std::string name : {"north", "south", "west", "hub"}) Publish(name);
    Keep("begun");
    for (const std::string name : {"north", "south", "west", "hub"}) {
      ASSERT_EQ(EnrolOf(name, {"--fingerprint", Fingerprint(name)}).exit_code, 0);
    }
    Keep("enrolled");
    ASSERT_EQ(SealKey().exit_code, 0);
    for (const std::string name : {"north", "south", "west", "hub"}) JoinEpoch(name, 0);
    Keep("older");
    for (const std::string name : {"north", "south"}) RenewAt(name);
    for (const std::string name : {"north", "south"}) ASSERT_EQ(EnrolOf(name).exit_code, 0);
    Keep("renewed");
    ASSERT_EQ(As(rotate_).exit_code, 0);
    for (const std::string name : {"north", "south", "hub"}) JoinEpoch(name, 1);
    Keep("done");
  }

  static Arguments With(Arguments arguments, const Arguments& more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  static Arguments Coordinator(const std::string& command, const Arguments& more = {}) {
    return With({"federation", command, "--key-file", "c.key"}, more);
  }
  static Arguments EnrolCommand(const std::string& name, const Arguments& more = {}) {
    return With(Coordinator("enrol", {name, "--request", name + ".request", "--server", "hub"}),
                more);
  }
  // For the coordinator.
  Outcome As(const Arguments& command) {
    Arguments arguments = With(environment_, {TACET_PROGRAM});
    return Run("env", With(arguments, command));
  }
  Outcome EnrolOf(const std::string& name, const Arguments& more = {}) {
    return As(EnrolCommand(name, more));
  }
  // The request on its way to the coordinator.
  void Publish(const std::string& name) const {
    fs::copy_file(path_ / name / (name + ".request"), path_ / (name + ".request"),
                  fs::copy_options::overwrite_existing);
    fs::permissions(path_ / (name + ".request"), fs::perms::owner_read | fs::perms::others_read,
                    fs::perm_options::add);
  }
  void RenewAt(const std::string& name) {
    const Outcome renewed = Tacet({"client", "renew", "--home", name, "--key-file", name + ".key"});
    ASSERT_EQ(renewed.exit_code, 0) << renewed.err;
    Publish(name);
  }
  void JoinEpoch(const std::string& name, int epoch) {
    const Outcome joined = Join(name, epoch, {"--coordinator", coordinator_});
    ASSERT_EQ(joined.exit_code, 0) << joined.err;
  }
  fs::path Kept(const std::string& name, const std::string& who) const {
    return path_ / "kept" / name / who;
  }
  void Keep(const std::string& name) const {
    fs::create_directories(path_ / "kept" / name);
    for (const std::string who : {"federation", "north", "south", "west", "hub"}) {
      CopyOver(path_ / who, Kept(name, who));
    }
  }
  void PutBack(const std::string& name) const {
    for (const std::string who : {"federation", "north", "south", "west", "hub"}) {
      CopyOver(Kept(name, who), path_ / who);
      OwnAll(path_ / who, ::geteuid());
      const fs::path request = path_ / who / (who + ".request");
      if (fs::exists(request)) Publish(who);
    }
  }
  // The folder, and the key that opens it, are not root's.
  void RunAsOther() {
    if (::geteuid() != 0) return;
    ASSERT_EQ(::chmod(path_.c_str(), 0755), 0);
    OwnAll(path_ / "federation", kOtherUser);
    Own(path_ / "c.key", kOtherUser);
    environment_ = {"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env"};
  }
  void RunAsBefore() {
    environment_.clear();
    Own(path_ / "c.key", ::geteuid());
    OwnAll(path_ / "federation", ::geteuid());
  }

  // False when the fault cannot happen.
  bool Inject(const PlayedCell& cell) const {
    const fs::path folder = path_ / "federation", older = Kept("older", "federation");
    const RecoveryRow& row = *cell.row;
    bool injected = false;
    if (row.is_folder() && cell.fault == FileFault::kLost) return fs::remove_all(folder / row.file);
    if (row.is_folder() && cell.fault == FileFault::kOlder) {
      injected = FilesIn(older / row.file) != FilesIn(folder / row.file);
      CopyOver(older / row.file, folder / row.file);
      return injected;
    }
    if (row.is_folder() && cell.fault == FileFault::kDamaged) return false;  // its files are
    for (const std::string& file : FilesOf(row, Kept("done", "federation"))) {
      switch (cell.fault) {
        case FileFault::kLost:
          injected |= fs::remove(folder / file);
          break;
        case FileFault::kDamaged:
          Damage(folder / file, cuts_);
          injected = true;
          break;
        case FileFault::kOlder:
          if (!fs::exists(older / file) || ReadAll(older / file) == ReadAll(folder / file)) break;
          fs::copy_file(older / file, folder / file, fs::copy_options::overwrite_existing);
          injected = true;
          break;
        case FileFault::kWrongOwner:
          Disown(folder / file);
          injected = true;
          break;
        case FileFault::kFullDisk:
          break;
      }
    }
    return injected;
  }

  // Runs the command, and after a refusal what the refusal and the cell say.
  void RunRepairing(const PlayedCell& cell, const Arguments& command) {
    for (int repairs = 0;; ++repairs) {
      const Outcome outcome = As(command);
      if (outcome.exit_code == 0) return;
      SCOPED_TRACE(outcome.err);
      ASSERT_NE(cell.outcome(), kByItself);
      ASSERT_LT(repairs, 8);
      told_ = true;
      std::string first = outcome.err.substr(outcome.err.find("federation/") + 11);
      first = first.substr(0, first.find_first_of(" :"));
      EXPECT_TRUE(fs::path(first) == cell.row->file || cell.row->Matches(first)) << first;
      ASSERT_NO_FATAL_FAILURE(Repair(cell, first, outcome.err));
    }
  }
  void Repair(const PlayedCell& cell, const std::string& file, const std::string& err) {
    if (cell.outcome() == kRestore) {
      EXPECT_THAT(err, HasSubstr("backup"));
      fs::copy_file(Kept("done", "federation") / file, path_ / "federation" / file,
                    fs::copy_options::overwrite_existing);
      return;
    }
    const size_t end = cell.outcome().find_first_of("NU");
    EXPECT_THAT(err, HasSubstr(cell.outcome().substr(0, end)));
    if (cell.outcome() == "`chown USER FILE`") {
      Own(path_ / "federation" / file, kOtherUser);
    } else if (cell.outcome() == "`tacet federation enrol NAME --request FILE`") {
      const std::string name = fs::path(file).stem();
      if (name == "west") {  // which has left
        RenewAll();
        const Outcome without = As(Coordinator("rotate", {"--remove", name}));
        ASSERT_EQ(without.exit_code, 0) << without.err;
        return JoinAll();
      }
      const Outcome again = EnrolOf(name);  // its signature says who asks
      ASSERT_EQ(again.exit_code, 0) << again.err;
    } else if (cell.outcome() == "`tacet federation rotate`") {
      RenewAll();
      const Outcome rotated = As(Coordinator("rotate"));
      ASSERT_EQ(rotated.exit_code, 0) << rotated.err;
      JoinAll();
    } else if (cell.outcome() == "`tacet federation seal-key`") {
      const Outcome sealed = As(Coordinator("seal-key"));
      ASSERT_EQ(sealed.exit_code, 0) << sealed.err;
    } else {
      FAIL() << "docs/deploy.md has a cell that nobody can play: " << cell.outcome();
    }
  }
  void RenewAll() {
    for (const std::string name : {"north", "south"}) {
      RenewAt(name);
      const Outcome again = EnrolOf(name);
      ASSERT_EQ(again.exit_code, 0) << again.err;
    }
  }
  void JoinAll() {
    const Outcome shown = As({"federation", "show", "--json"});
    ASSERT_EQ(shown.exit_code, 0) << shown.err;
    const auto epoch = static_cast<int>(Number(*base::JsonValue::Parse(shown.out), "epoch"));
    for (const std::string name : {"north", "south", "hub"}) JoinEpoch(name, epoch);
  }

  void Play(const PlayedCell& cell) {
    SCOPED_TRACE(cell.Name());
    if (cell.fault == FileFault::kFullDisk) return PlayFullDisk(cell);
    for (const bool cuts : {false, true}) {
      if (cuts && cell.fault != FileFault::kDamaged) break;
      cuts_ = cuts;
      told_ = false;
      PutBack("done");
      if (cell.fault == FileFault::kWrongOwner) RunAsOther();
      const bool injected = Inject(cell);
      EXPECT_EQ(injected, cell.outcome() != kNever) << "it happens: " << injected;
      if (injected) PlayCommands(cell);
      RunAsBefore();
    }
  }
  // The commands that a coordinator runs sooner or later.
  void PlayCommands(const PlayedCell& cell) {
    RunRepairing(cell, {"federation", "show"});
    RunRepairing(cell, Coordinator("seal-key"));
    JoinAll();
    for (const std::string site : {"north", "south"}) {
      RenewAt(site);
      RunRepairing(cell, EnrolCommand(site));
    }
    RunRepairing(cell, Coordinator("rotate"));
    JoinAll();
    EXPECT_EQ(told_, cell.outcome() != kByItself);
    const Outcome shown = As({"federation", "show"});
    EXPECT_THAT(shown.out, HasSubstr("north"));
    EXPECT_THAT(shown.out, HasSubstr("south"));
  }

  void PlayFullDisk(const PlayedCell& cell) {
    bool told = false;
    const auto play = [&](const std::string& copy, const fs::path& folder,
                          const Arguments& command) {
      PutBack(copy);
      fs::remove_all(path_ / "fresh");
      const Arguments full =
          With(BrokenDiskOf(folder, {"BROKEN_FULL=" + cell.row->pattern(),
                                     "BROKEN_SWITCH=" + (path_ / "full").string(), TACET_PROGRAM}),
               command);
      std::ofstream(path_ / "full") << "";
      const Outcome outcome = Run("env", full);
      fs::remove(path_ / "full");
      if (outcome.exit_code == 0) return;
      told = true;
      EXPECT_THAT(outcome.err, HasSubstr(kNoRoom));
      const Outcome again = Tacet(command);
      EXPECT_EQ(again.exit_code, 0) << again.err;
    };
    play("begun", path_ / "fresh",
         Coordinator("init", {"--folder", "fresh", "--name", "hospitals", "--config", "second.toml",
                              "--members", "3"}));
    const fs::path folder = path_ / "federation";
    play("begun", folder, EnrolCommand("north", {"--fingerprint", Fingerprint("north")}));
    play("enrolled", folder, Coordinator("seal-key"));
    play("renewed", folder, rotate_);
    EXPECT_EQ(cell.outcome(), told ? kSameCommand : kNever);
  }

  void PlayBackup();
  void PlayInvitationOfAnother();

  const Arguments rotate_ = Coordinator("rotate", {"--remove", "west", "--config", "second.toml"});
  Arguments environment_;
  bool cuts_ = false, told_ = false;
};

// The backup is what the table says to restore, and nothing else is left.
void CoordinatorRecoveryTest::PlayBackup() {
  PutBack("done");
  const fs::path folder = path_ / "federation";
  fs::remove_all(folder);
  fs::create_directories(folder / "invitations");
  ASSERT_EQ(::chmod(folder.c_str(), 0700), 0);
  for (const RecoveryRow& row : Tables().at("coordinator")) {
    if (!row.IsBackedUp()) continue;
    for (const std::string& file : FilesOf(row, Kept("done", "federation"))) {
      fs::create_directories((folder / file).parent_path());
      fs::copy_file(Kept("done", "federation") / file, folder / file);
    }
  }
  const Outcome without = Tacet(Coordinator("rotate"));
  EXPECT_EQ(without.exit_code, 1);
  EXPECT_THAT(without.err, HasSubstr("copy a site's `invitation`"));
  fs::copy_file(path_ / "north/invitation", folder / "invitations/north-epoch-4294967295.tacet");
  EXPECT_EQ(Tacet(Coordinator("rotate")).exit_code, 1);
  // For the present epoch, from any site.
  fs::copy_file(path_ / "north/invitation", folder / "invitations/north-epoch-1.tacet");
  for (const std::string name : {"north", "south"}) RenewAt(name);
  for (const std::string name : {"north", "south", "hub"}) {
    const Outcome refused = Tacet(Coordinator("rotate"));
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_THAT(refused.err, HasSubstr(fmt::format("tacet federation enrol {} ", name)));
    const Outcome enrolled = EnrolOf(name);
    ASSERT_EQ(enrolled.exit_code, 0) << enrolled.err;
  }
  const Outcome rotated = Tacet(Coordinator("rotate"));
  ASSERT_EQ(rotated.exit_code, 0) << rotated.err;
  JoinAll();
}

// A site's file may be another federation's.
void CoordinatorRecoveryTest::PlayInvitationOfAnother() {
  PutBack("done");
  const Outcome init = Tacet(Coordinator("init", {"--folder", "fresh", "--name", "hospitals",
                                                  "--config", "second.toml", "--members", "3"}));
  ASSERT_EQ(init.exit_code, 0) << init.err;
  for (const std::string& file : FilesIn(path_ / "fresh")) {
    if (file != "coordinator.key") fs::remove(path_ / "fresh" / file);
  }
  fs::copy_file(path_ / "north/invitation", path_ / "fresh/invitations/north-epoch-1.tacet");
  const Outcome refused = Tacet(Coordinator("rotate", {"--folder", "fresh"}));
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("not by the key in this folder"));
}

TEST_F(CoordinatorRecoveryTest, ItsFilesHaveTheirRowsAndAFewCellsAreTrue) {
  std::set<std::string> files = FilesIn(Kept("done", "federation"));
  for (const RecoveryRow& row : Tables().at("coordinator")) {
    EXPECT_FALSE(FilesOf(row, Kept("done", "federation")).empty())
        << "a coordinator has no " << row.file;
    if (!row.is_folder()) std::erase_if(files, [&](const auto& file) { return row.Matches(file); });
  }
  EXPECT_THAT(files, ::testing::IsEmpty()) << "docs/deploy.md has no row for them";
  for (const PlayedCell& cell : DrawnCells("coordinator", 1)) Play(cell);
  PlayBackup();
  PlayInvitationOfAnother();
}

class WholeCoordinatorColumnTest : public CoordinatorRecoveryTest,
                                   public ::testing::WithParamInterface<FileFault> {
 protected:
  void SetUp() override {
    if (Cells() == 0) GTEST_SKIP() << "the long tests play all cells";
    CoordinatorRecoveryTest::SetUp();
  }
};

TEST_P(WholeCoordinatorColumnTest, IsTrue) {
  for (const PlayedCell& cell : CellsOf("coordinator", GetParam())) Play(cell);
}

INSTANTIATE_TEST_SUITE_P(Faults, WholeCoordinatorColumnTest,
                         ::testing::Values(FileFault::kLost, FileFault::kDamaged, FileFault::kOlder,
                                           FileFault::kFullDisk, FileFault::kWrongOwner),
                         NameOfFault);

}  // namespace
}  // namespace tacet::app
