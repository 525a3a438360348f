#include "tacet/storage/postgres/postgres_store.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status_for_test.h"
#include "tacet/crypto/random.h"
#include "tacet/server/server_store_contract_for_test.h"
#include "tacet/storage/postgres/postgres_for_test.h"

namespace tacet::storage::postgres {
namespace {

using server::AttemptRecord;
using server::BytesOf;
using server::DigestOf;
using server::Failed;
using server::Item;
using server::ItemKind;
using server::RecordOf;
using ::testing::HasSubstr;
using ::testing::Not;

absl::StatusOr<std::unique_ptr<PostgresStore>> Open(const std::string& url) {
  crypto::SystemEntropy entropy;
  return PostgresStore::Open(url, entropy);
}

std::unique_ptr<PostgresStore> OpenOrDie(const std::string& url) {
  auto store = Open(url);
  if (!store.ok()) ADD_FAILURE() << store.status();
  return store.ok() ? *std::move(store) : nullptr;
}

class PostgresBackend {
 public:
  server::ServerStore& store() { return *store_; }
  void Reopen() {
    store_.reset();
    store_ = OpenOrDie(url_);
  }

 private:
  const std::string url_ = PostgresForTest::Get().NewDatabase();
  std::unique_ptr<PostgresStore> store_ = OpenOrDie(url_);
};

}  // namespace
}  // namespace tacet::storage::postgres

namespace tacet::server {
INSTANTIATE_TYPED_TEST_SUITE_P(Postgres, ServerStoreContract, storage::postgres::PostgresBackend);
}  // namespace tacet::server

namespace tacet::storage::postgres {
namespace {

class PostgresStoreTest : public ::testing::Test {
 protected:
  void Execute(const std::string& sql) const { postgres_.Execute(url_, sql); }
  // Ends the connections to databases of tests.
  void CutConnections() const {
    postgres_.Execute(postgres_.UrlOf("postgres"),
                      "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
                      "WHERE datname LIKE 'test%'");
  }
  static void ExpectError(const absl::Status& status, absl::StatusCode code,
                          const std::string& message) {
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(base::Message(status), HasSubstr(message));
    EXPECT_THAT(base::Message(status), Not(HasSubstr(PostgresForTest::kPassword)));
    EXPECT_THAT(base::Message(status), Not(HasSubstr(PostgresForTest::kPasswordInUrl)));
  }
  void ExpectRefused(absl::StatusCode code, const std::string& message) const {
    ExpectError(Open(url_).status(), code, message);
  }

  PostgresForTest& postgres_ = PostgresForTest::Get();
  const std::string url_ = postgres_.NewDatabase();
};

TEST_F(PostgresStoreTest, RefusesAnotherSchemaVersion) {
  OpenOrDie(url_).reset();
  Execute("UPDATE tacet.store SET version = 3");
  ExpectRefused(absl::StatusCode::kFailedPrecondition,
                "has schema version 3, this program reads and writes 4");
}

TEST_F(PostgresStoreTest, RefusesASchemaOfAnotherProgram) {
  Execute("CREATE SCHEMA tacet");
  ExpectRefused(absl::StatusCode::kFailedPrecondition, "the schema tacet of the database test");
  ExpectRefused(absl::StatusCode::kFailedPrecondition, "belongs to another program");
}

TEST_F(PostgresStoreTest, LivesBesideTablesOfOthers) {
  Execute("CREATE TABLE attempt (name text)");
  EXPECT_TRUE(OpenOrDie(url_)->Begin(RecordOf(0, 0, 0), {}).ok());
}

TEST_F(PostgresStoreTest, ServesOneServerAtATime) {
  auto store = OpenOrDie(url_);
  ExpectRefused(absl::StatusCode::kFailedPrecondition, "is in use by another server");
  const std::string elsewhere = postgres_.NewDatabase();
  EXPECT_NE(OpenOrDie(elsewhere), nullptr);
  store.reset();
  EXPECT_NE(OpenOrDie(url_), nullptr);
}

TEST_F(PostgresStoreTest, NoErrorHoldsThePassword) {
  const std::string wrong = "postgresql://tacet:hunter2@/postgres?host=";
  const std::string folder = url_.substr(url_.find("host=") + 5);
  for (const auto& [url, message] : std::vector<std::pair<std::string, std::string>>{
           {wrong + folder, "password authentication failed for user"},
           {wrong + "/no/such/folder", "No such file or directory"},
           {"postgresql://tacet:hunter2@127.0.0.1:1/postgres", "Connection refused"},
           {"postgresql://tacet:hunter2@/postgres?host=" + folder + "/hunter2",
            "the reason is not told"},
           {"postgresql://hunter2:hunter2@/postgres?host=" + folder, "the reason is not told"}}) {
    const absl::Status status = Open(url).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_THAT(base::Message(status), HasSubstr(message));
    if (url.find("/hunter2") == url.npos) {
      EXPECT_THAT(base::Message(status), Not(HasSubstr("hunter2")));
    }
  }
  const absl::Status status = Open("mysql://tacet:hunter2@db/x").status();
  ExpectError(status, absl::StatusCode::kInvalidArgument, "not the URL of a PostgreSQL database");
  EXPECT_THAT(base::Message(status), Not(HasSubstr("hunter2")));
}

TEST_F(PostgresStoreTest, ConnectsAgainAfterALostConnection) {
  auto store = OpenOrDie(url_);
  const AttemptRecord record = RecordOf(0, 0, 0);
  ASSERT_TRUE(store->Begin(record, std::vector<uint64_t>{1, 2}).ok());
  for (int i = 0; i < 3; ++i) {
    CutConnections();
    const Item item{ItemKind::kVote, static_cast<uint64_t>(i), BytesOf("vote")};
    ExpectError(store->PutItem({0, 0, 0}, item), absl::StatusCode::kUnavailable, "database test");
    EXPECT_TRUE(store->PutItem({0, 0, 0}, item).ok());
    EXPECT_EQ(store->Items({0, 0, 0})->size(), static_cast<size_t>(i + 1));
  }
  ExpectRefused(absl::StatusCode::kFailedPrecondition, "is in use by another server");
  EXPECT_EQ(store->Attempts().value(), std::vector{record});
}

// While the connection was lost another server came: what this one remembers is out of date.
TEST_F(PostgresStoreTest, StopsWhenAnotherServerCameInBetween) {
  auto store = OpenOrDie(url_);
  CutConnections();
  auto other = OpenOrDie(url_);
  ASSERT_TRUE(other->Begin(RecordOf(0, 0, 0), {}).ok());
  ExpectError(store->Begin(RecordOf(0, 9, 0), {}), absl::StatusCode::kUnavailable, "");
  ExpectError(store->Begin(RecordOf(0, 9, 0), {}), absl::StatusCode::kUnavailable,
              "is in use by another server");
  other.reset();
  for (int i = 0; i < 2; ++i) {
    ExpectError(store->Begin(RecordOf(0, 9, 0), {}), absl::StatusCode::kFailedPrecondition,
                "another server has used the database");
  }
  EXPECT_EQ(OpenOrDie(url_)->Attempts()->size(), 1u);
}

TEST_F(PostgresStoreTest, AnErrorOfTheDatabaseIsUnavailableAndChangesNothing) {
  auto store = OpenOrDie(url_);
  const AttemptRecord record = RecordOf(0, 0, 0);
  ASSERT_TRUE(store->Begin(record, std::vector<uint64_t>{77, 78}).ok());
  // A full disk cannot be had in a test; an error in the middle of a transaction can.
  Execute("ALTER TABLE tacet.item ADD CONSTRAINT room CHECK (member < 1000)");
  const std::vector<Item> items = {{ItemKind::kVote, 7, BytesOf("fits")},
                                   {ItemKind::kVote, 424242, BytesOf("does not")}};
  const absl::Status status = store->Update(server::UnmaskingOf(record), items);
  ExpectError(status, absl::StatusCode::kUnavailable, "room");
  EXPECT_THAT(base::Message(status), Not(HasSubstr("424242")));  // no values in messages
  EXPECT_TRUE(store->Items({0, 0, 0})->empty());
  EXPECT_EQ(store->Attempts().value(), std::vector{record});
  Execute("ALTER TABLE tacet.item DROP CONSTRAINT room");
  EXPECT_TRUE(store->Update(server::UnmaskingOf(record), items).ok());
}

TEST_F(PostgresStoreTest, RefusesValuesThatNoServerWrote) {
  auto store = OpenOrDie(url_);
  ASSERT_TRUE(store->Begin(RecordOf(0, 0, 0), std::vector<uint64_t>{1}).ok());
  ASSERT_TRUE(store->PutItem({0, 0, 0}, {ItemKind::kVote, 1, {}}).ok());
  const auto item = [&] { return store->Items({0, 0, 0}).status(); };
  Execute("UPDATE tacet.item SET bytes = convert_to(repeat('x', (1 << 24) + 1), 'UTF8')");
  ExpectError(item(), absl::StatusCode::kDataLoss, "tacet federation rotate");
  ExpectError(store->PutItem({0, 0, 0}, {ItemKind::kVote, 1, {}}), absl::StatusCode::kDataLoss,
              "a value of more than 16777216 bytes");
  Execute("UPDATE tacet.item SET bytes = '', kind = 15");
  ExpectError(item(), absl::StatusCode::kDataLoss, "unknown kind 15");
  Execute("UPDATE tacet.cohort SET members = '\\x010203'");
  ExpectError(store->Cohort().status(), absl::StatusCode::kDataLoss, "a cohort of 3 bytes");
  Execute("UPDATE tacet.attempt SET phase = 0");
  ExpectError(store->Attempts().status(), absl::StatusCode::kDataLoss, "unknown phase 0");
  Execute("UPDATE tacet.attempt SET model_digest = '\\x01'");
  ExpectError(store->Attempts().status(), absl::StatusCode::kDataLoss, "a digest of 1 bytes");
}

// PostgreSQL is killed while items are put: what was acknowledged is there, nothing by half.
TEST_F(PostgresStoreTest, ForgetsNothingWhenPostgresIsKilled) {
  auto store = OpenOrDie(url_);
  ASSERT_TRUE(store->Begin(RecordOf(0, 0, 0), {}).ok());
  std::atomic<size_t> acknowledged = 0;
  for (int death = 0; death < 3; ++death) {
    std::thread killer([&, enough = acknowledged + 3] {
      for (int wait = 0; acknowledged < enough && wait < 30'000; ++wait) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      postgres_.Kill();
    });
    absl::Status status;
    while (status.ok()) {
      status = store->PutItem({0, 0, 0}, {ItemKind::kVote, acknowledged, base::Bytes(100)});
      if (status.ok()) ++acknowledged;
    }
    killer.join();
    ExpectError(status, absl::StatusCode::kUnavailable, "");
    ExpectError(store->Items({0, 0, 0}).status(), absl::StatusCode::kUnavailable, "");
    postgres_.Start();
    ASSERT_OK_AND_ASSIGN(const auto items, store->Items({0, 0, 0}));
    EXPECT_GE(items.size(), acknowledged.load());
    EXPECT_LE(items.size(), acknowledged + 1);
    acknowledged = items.size();
  }
  EXPECT_GE(acknowledged.load(), 9u);
}

TEST_F(PostgresStoreTest, RefusesADatabaseThatDoesNotSynchronise) {
  OpenOrDie(url_).reset();
  postgres_.Kill();
  postgres_.Start({"fsync=off"});
  ExpectRefused(absl::StatusCode::kFailedPrecondition, "runs with fsync off");
  postgres_.Kill();
  postgres_.Start();
  EXPECT_NE(OpenOrDie(url_), nullptr);
}

TEST_F(PostgresStoreTest, SynchronisesCommitsWhateverTheDefault) {
  Execute("ALTER DATABASE " +
          url_.substr(url_.find("@/") + 2, url_.find('?') - url_.find("@/") - 2) +
          " SET synchronous_commit = off");
  auto store = OpenOrDie(url_);
  ASSERT_TRUE(store->Begin(RecordOf(0, 0, 0), {}).ok());
  postgres_.Kill();
  postgres_.Start();
  EXPECT_EQ(OpenOrDie(url_)->Attempts()->size(), 1u);
}

}  // namespace
}  // namespace tacet::storage::postgres
