#include "tacet/storage/sqlite/sqlite_store.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tacet/base/child_for_test.h"
#include "tacet/base/status.h"
#include "tacet/base/temporary_folder_for_test.h"
#include "tacet/server/server_store_contract_for_test.h"

namespace tacet::storage::sqlite {
namespace {

using secagg::AttemptNumber;
using server::AttemptRecord;
using server::BytesOf;
using server::DigestOf;
using server::Failed;
using server::Item;
using server::ItemKind;
using server::RecordOf;
using ::testing::HasSubstr;

std::unique_ptr<SqliteStore> OpenOrDie(const std::filesystem::path& path,
                                       const SqliteStoreOptions& options = {}) {
  auto store = SqliteStore::Open(path, options);
  if (!store.ok()) ADD_FAILURE() << store.status();
  return store.ok() ? *std::move(store) : nullptr;
}

class SqliteBackend {
 public:
  server::ServerStore& store() { return *store_; }
  void Reopen() {
    store_.reset();
    store_ = OpenOrDie(path_);
  }

 private:
  const base::TemporaryFolder folder_{base::TemporaryFolder::kInMemory};
  const std::filesystem::path path_ = folder_.path() / "server.db";
  std::unique_ptr<SqliteStore> store_ = OpenOrDie(path_);
};

}  // namespace
}  // namespace tacet::storage::sqlite

namespace tacet::server {
INSTANTIATE_TYPED_TEST_SUITE_P(Sqlite, ServerStoreContract, storage::sqlite::SqliteBackend);
}  // namespace tacet::server

namespace tacet::storage::sqlite {
namespace {

class SqliteStoreTest : public ::testing::Test {
 protected:
  // Changes the file as another program would.
  void Execute(const std::string& sql) const {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(database);
    sqlite3_close(database);
  }
  void ExpectRefused(absl::StatusCode code, const std::string& message) const {
    const auto store = SqliteStore::Open(path_);
    EXPECT_EQ(store.status().code(), code) << store.status();
    EXPECT_THAT(base::Message(store.status()), HasSubstr(message));
    EXPECT_THAT(base::Message(store.status()), HasSubstr(path_.string()));
  }
  static mode_t ModeOf(const std::filesystem::path& path) {
    struct stat info {};
    EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
    return info.st_mode & 0777;
  }
  // The bytes of all files there are.
  std::string AllFiles() const {
    std::string all;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      std::ifstream file(entry.path(), std::ios::binary);
      all.append(std::istreambuf_iterator<char>(file), {});
    }
    return all;
  }

  const base::TemporaryFolder folder_{base::TemporaryFolder::kInMemory};
  const std::filesystem::path path_ = folder_.path() / "server.db";
};

TEST_F(SqliteStoreTest, OnlyItsOwnerCanReadTheFiles) {
  auto store = OpenOrDie(path_);
  ASSERT_TRUE(store->Begin(RecordOf(0, 0, 0), {}).ok());
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    EXPECT_EQ(ModeOf(entry.path()), 0600u) << entry.path();
    ++files;
  }
  EXPECT_EQ(files, 2u);  // the database and its log
  store.reset();
  ASSERT_EQ(::chmod(path_.c_str(), 0644), 0);
  store = OpenOrDie(path_);
  EXPECT_EQ(ModeOf(path_), 0600u);
}

TEST_F(SqliteStoreTest, RefusesAnotherSchemaVersion) {
  OpenOrDie(path_).reset();
  Execute("PRAGMA user_version = 3");
  ExpectRefused(absl::StatusCode::kFailedPrecondition,
                "has schema version 3, this program reads and writes 4");
  Execute("PRAGMA user_version = 4");
  EXPECT_NE(OpenOrDie(path_), nullptr);
}

TEST_F(SqliteStoreTest, RefusesADatabaseOfAnotherProgram) {
  Execute("CREATE TABLE patients (name TEXT)");
  ExpectRefused(absl::StatusCode::kFailedPrecondition, "is a database of another program");
  Execute("DROP TABLE patients; PRAGMA user_version = 3");
  ExpectRefused(absl::StatusCode::kFailedPrecondition, "is a database of another program");
}

TEST_F(SqliteStoreTest, RefusesAFileThatIsNoDatabase) {
  std::ofstream(path_) << std::string(5000, 'x');
  ExpectRefused(absl::StatusCode::kDataLoss, "file is not a database");
}

TEST_F(SqliteStoreTest, RefusesAFolderThatDoesNotExist) {
  const auto store = SqliteStore::Open(folder_.path() / "none" / "server.db");
  EXPECT_EQ(store.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(base::Message(store.status()), HasSubstr("No such file or directory"));
}

TEST_F(SqliteStoreTest, RefusesValuesThatNoServerWrote) {
  const auto expect_lost = [&](const std::string& sql, const std::string& message) {
    Execute(sql);
    auto store = OpenOrDie(path_);
    absl::Status status = store->Attempts().status();
    if (status.ok()) status = store->Cohort().status();
    if (status.ok()) status = store->Items({0, 0, 0}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
    EXPECT_THAT(base::Message(status), HasSubstr(message));
  };
  auto store = OpenOrDie(path_);
  ASSERT_TRUE(store->Begin(RecordOf(0, 0, 0), std::vector<uint64_t>{1}).ok());
  ASSERT_TRUE(store->PutItem({0, 0, 0}, {ItemKind::kVote, 1, {}}).ok());
  store.reset();
  expect_lost("UPDATE item SET kind = 15", "unknown kind 15");
  expect_lost("UPDATE cohort SET members = x'010203'", "a cohort of 3 bytes");
  expect_lost("UPDATE attempt SET phase = 0", "unknown phase 0");
  expect_lost("UPDATE attempt SET model_digest = x'01'", "a digest of 1 bytes");
}

TEST_F(SqliteStoreTest, ReadsNoValueThatIsLongerThanAny) {
  auto store = OpenOrDie(path_);
  ASSERT_TRUE(store->PutItem({0, 0, 0}, {ItemKind::kVote, 1, {}}).ok());
  store.reset();
  Execute("UPDATE item SET bytes = zeroblob((1 << 24) + 1)");
  store = OpenOrDie(path_);
  const absl::Status read = store->Items({0, 0, 0}).status();
  EXPECT_EQ(read.code(), absl::StatusCode::kDataLoss) << read;
  EXPECT_THAT(base::Message(read), HasSubstr("tacet federation rotate"));
}

TEST_F(SqliteStoreTest, ServesOneProcessAtATime) {
  auto store = OpenOrDie(path_);
  ExpectRefused(absl::StatusCode::kFailedPrecondition, "is in use by another process");
  EXPECT_EQ(base::ExitCodeInChild([&] {
              const auto other = SqliteStore::Open(path_);
              return other.status().code() == absl::StatusCode::kFailedPrecondition ? 0 : 1;
            }),
            0);
  EXPECT_TRUE(store->Begin(RecordOf(0, 0, 0), {}).ok());
  store.reset();
  EXPECT_NE(OpenOrDie(path_), nullptr);
}

// Member numbers and bytes that nothing else holds, as the file would hold them.
class PlantedValues {
 public:
  explicit PlantedValues(size_t count) {
    uint64_t state = 88172645463325252u;
    for (size_t i = 0; i < count; ++i) {
      for (const int shift : {13, -7, 17}) state ^= shift > 0 ? state << shift : state >> -shift;
      members.push_back((uint64_t{0x7d} << 56) | (state >> 8));
    }
    std::sort(members.begin(), members.end());
  }
  static base::Bytes BytesOf(uint64_t member) {
    const crypto::Digest digest = crypto::Sha256(base::AsBytes(std::to_string(member)));
    return {digest.begin(), digest.end()};
  }
  // The number of members that show in `text`, by number or by bytes.
  size_t CountIn(const std::string& text) const {
    size_t count = 0;
    for (const uint64_t member : members) {
      std::string little(8, 0);
      for (size_t i = 0; i < 8; ++i) little[i] = static_cast<char>(member >> (8 * i));
      const std::string big(little.rbegin(), little.rend());
      const base::Bytes bytes = BytesOf(member);
      const std::string digest(bytes.begin(), bytes.end());
      if (text.find(little) != text.npos || text.find(big) != text.npos ||
          text.find(digest) != text.npos) {
        ++count;
      }
    }
    return count;
  }

  std::vector<uint64_t> members;
};

TEST_F(SqliteStoreTest, LeavesNothingOfACohortOnTheDisk) {
  const PlantedValues planted(600);
  auto store = OpenOrDie(path_);
  ASSERT_TRUE(store->Begin(RecordOf(0, 0, 0), planted.members).ok());
  for (size_t i = 0; i < planted.members.size(); ++i) {
    // Not in their order, and between items that stay, so that rows move from page to page.
    const uint64_t member = planted.members[i * 7 % planted.members.size()];
    const base::Bytes bytes = PlantedValues::BytesOf(member);
    ASSERT_TRUE(store->PutItem({0, 0, 0}, {ItemKind::kAccepted, member, bytes}).ok());
    ASSERT_TRUE(store->PutItem({0, 0, 0}, {ItemKind::kUnmaskShare, i, BytesOf("stays")}).ok());
  }
  EXPECT_EQ(planted.CountIn(AllFiles()), planted.members.size());
  ASSERT_TRUE(
      store->Finish(Failed(RecordOf(0, 0, 0), "few"), std::vector{ItemKind::kAccepted}).ok());
  EXPECT_EQ(planted.CountIn(AllFiles()), 0u);
  EXPECT_EQ(store->Items({0, 0, 0})->size(), planted.members.size());
}

TEST_F(SqliteStoreTest, LeavesNothingOfForgottenItemsOnTheDisk) {
  const PlantedValues planted(50);
  auto store = OpenOrDie(path_);
  for (const uint64_t member : planted.members) {
    const base::Bytes bytes = PlantedValues::BytesOf(member);
    ASSERT_TRUE(store->PutItem({0, 3, 0}, {ItemKind::kVote, member, bytes}).ok());
  }
  ASSERT_TRUE(store->ForgetBefore(3, 0).ok());
  EXPECT_EQ(planted.CountIn(AllFiles()), planted.members.size());
  ASSERT_TRUE(store->ForgetBefore(4, 0).ok());
  EXPECT_EQ(planted.CountIn(AllFiles()), 0u);
}

// Killed between the end of an attempt and the cleaning of the disk.
TEST_F(SqliteStoreTest, CleansWhatAKilledProcessLeft) {
  const PlantedValues planted(50);
  OpenOrDie(path_).reset();
  const int code = base::ExitCodeInChild([&] {
    auto store = SqliteStore::Open(path_);
    const bool begun = store.ok() && (*store)->Begin(RecordOf(0, 0, 0), planted.members).ok();
    // As Finish does, but for its last step.
    store->reset();
    sqlite3* database = nullptr;
    const bool forgot = sqlite3_open(path_.c_str(), &database) == SQLITE_OK &&
                        sqlite3_exec(database, "DELETE FROM cohort; UPDATE attempt SET phase = 4",
                                     nullptr, nullptr, nullptr) == SQLITE_OK;
    return begun && forgot ? 0 : 1;
  });
  ASSERT_EQ(code, 0);
  ASSERT_EQ(planted.CountIn(AllFiles()), planted.members.size());
  auto store = OpenOrDie(path_);
  EXPECT_EQ(planted.CountIn(AllFiles()), 0u);
  EXPECT_EQ(store->Attempts()->back().phase, protocol::AttemptPhase::kFailed);
}

// Puts items until one is refused; all before it are there, and the store works once there is room.
template <typename MakeRoom>
void ExpectUnavailableWhenFull(std::unique_ptr<SqliteStore>& store, MakeRoom make_room) {
  const AttemptRecord record = RecordOf(0, 5, 0);
  ASSERT_TRUE(store->Begin(record, std::vector<uint64_t>{1, 2, 3}).ok());
  std::vector<Item> put;
  absl::Status status;
  while (put.size() < 5000) {
    const Item item{ItemKind::kVote, put.size(), base::Bytes(3000, uint8_t(put.size()))};
    status = store->PutItem({0, 5, 0}, item);
    if (!status.ok()) break;
    put.push_back(item);
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_GT(put.size(), 10u);
  const std::vector<Item> more = {{ItemKind::kUnmaskShare, 0, base::Bytes(3000)},
                                  {ItemKind::kUnmaskShare, 1, base::Bytes(300'000)}};
  EXPECT_EQ(store->Update(server::UnmaskingOf(record), more).code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(store->Items({0, 5, 0}).value(), put);
  EXPECT_EQ(store->Attempts()->back(), record);
  EXPECT_EQ(store->Cohort()->size(), 3u);

  make_room();
  EXPECT_TRUE(store->Update(server::UnmaskingOf(record), more).ok());
  put.insert(put.end(), more.begin(), more.end());
  EXPECT_EQ(store->Items({0, 5, 0}).value(), put);
  EXPECT_TRUE(store->Finish(Failed(record, "few"), {}).ok());
}

TEST_F(SqliteStoreTest, TheSizeThatWasAllowedIsAFullDisk) {
  auto store = OpenOrDie(path_, {.most_bytes = 400'000});
  ExpectUnavailableWhenFull(store, [&] {
    store.reset();
    store = OpenOrDie(path_);
  });
}

class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    handler_ = ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

TEST_F(SqliteStoreTest, AFullDiskIsUnavailableUntilThereIsRoom) {
  auto store = OpenOrDie(path_);
  auto limit = std::make_unique<FileSizeLimit>(500'000);
  ExpectUnavailableWhenFull(store, [&] { limit.reset(); });
}

// The end of an attempt is kept when there is no room to clean the disk; the next change cleans it,
// and is refused as long as it cannot.
TEST_F(SqliteStoreTest, CleansLaterWhatThereWasNoRoomToClean) {
  const PlantedValues planted(2000);
  auto store = OpenOrDie(path_);
  ASSERT_TRUE(store->Begin(RecordOf(0, 0, 0), planted.members).ok());
  for (uint64_t i = 0; i < 60; ++i) {
    ASSERT_TRUE(store->PutItem({0, 0, 0}, {ItemKind::kUnmaskShare, i, base::Bytes(10'000)}).ok());
  }
  store.reset();
  store = OpenOrDie(path_);  // with an empty log
  const AttemptRecord failed = Failed(RecordOf(0, 0, 0), "few");
  {
    const FileSizeLimit limit(300'000);
    EXPECT_EQ(store->Finish(failed, {}).code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(store->Attempts()->back(), failed);
    EXPECT_TRUE(store->Cohort()->empty());
    EXPECT_EQ(store->Finish(failed, {}).code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(store->Begin(RecordOf(0, 0, 1), {}).code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(store->Attempts()->size(), 1u);
  }
  EXPECT_GT(planted.CountIn(AllFiles()), 0u);
  const absl::Status cleaned = store->Begin(RecordOf(0, 0, 1), {});
  EXPECT_TRUE(cleaned.ok()) << cleaned;
  EXPECT_EQ(planted.CountIn(AllFiles()), 0u);
}

}  // namespace
}  // namespace tacet::storage::sqlite
