// A live federation whose server keeps what it has in a database and in a folder of objects. The
// server can be stopped and started, on this host or on another one with the same database.
#ifndef TACET_TESTS_LIVE_STORED_FEDERATION_FOR_TEST_H_
#define TACET_TESTS_LIVE_STORED_FEDERATION_FOR_TEST_H_

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "tacet/base/temporary_folder_for_test.h"
#include "tacet/storage/file/blob_folder.h"
#include "tacet/storage/file/posix_file.h"
#include "tacet/storage/postgres/postgres_for_test.h"
#include "tacet/storage/postgres/postgres_store.h"
#include "tacet/storage/sqlite/sqlite_store.h"
#include "tests/live/live_members_for_test.h"

namespace tacet::live::testing {

enum class Database : uint8_t { kSqlite, kPostgres };

inline std::string NameOf(Database database) {
  return database == Database::kSqlite ? "sqlite" : "postgresql";
}

class FullDisk final : public storage::file::DiskCalls {
 public:
  ssize_t Write(int descriptor, std::span<const uint8_t> bytes) override {
    if (!full) return DiskCalls::Write(descriptor, bytes);
    errno = ENOSPC;
    return -1;
  }

  bool full = false;
};

class StoredFederation {
 public:
  StoredFederation(Database database, agreement::ManifestSpec agreement)
      : database_(database), live_(std::move(agreement)) {
    if (database == Database::kPostgres) {
      url_ = storage::postgres::PostgresForTest::Get().NewDatabase();
    }
    Start();
  }
  ~StoredFederation() { Stop(); }
  StoredFederation(const StoredFederation&) = delete;
  StoredFederation& operator=(const StoredFederation&) = delete;

  LiveFederation& live() { return live_; }
  const LiveFederation& live() const { return live_; }

  // `most_bytes` as SqliteStoreOptions.
  void Start(uint64_t most_bytes = 0) {
    using protocol::testing::ValueOf;
    if (database_ == Database::kSqlite) {
      facts_ = ValueOf(storage::sqlite::SqliteStore::Open(folder_.path() / "server.sqlite",
                                                          {.most_bytes = most_bytes}));
    } else {
      facts_ = ValueOf(storage::postgres::PostgresStore::Open(url_, entropy_));
    }
    objects_ = ValueOf(storage::file::BlobFolder::Open(Blobs(), disk_));
    live_.facts = facts_.get();
    live_.objects = objects_.get();
    live_.RestartServer();
  }
  void Stop() {
    live_.handler.reset();
    live_.server.reset();
    objects_.reset();
    facts_.reset();
  }

  // Whether the server runs or not.
  void RemoveBlobs() const { std::filesystem::remove_all(Blobs()); }
  // Each file is cut short.
  void DamageBlobs() const {
    for (const auto& file : std::filesystem::directory_iterator(Blobs())) {
      const uintmax_t size = std::filesystem::file_size(file);
      if (size > 0) std::filesystem::resize_file(file, size - 1);
    }
  }
  // The next server has the database, and nothing else of this one.
  void LoseHost() {
    RemoveBlobs();
    ++host_;
  }
  // The database forgets its session with the server, as after a crash. Nothing where it is a part
  // of the server.
  void CutDatabase() const {
    if (database_ == Database::kSqlite) return;
    Execute(
        "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity "
        "WHERE datname LIKE 'test%'");
  }
  // Whether PostgreSQL refuses the server, or SQLite's file takes no further page.
  void SetDatabaseAway(bool away) {
    if (database_ == Database::kSqlite) {
      Stop();
      return Start(away ? 1 : 0);
    }
    Execute(std::string("UPDATE pg_database SET datallowconn = ") + (away ? "false" : "true") +
            " WHERE datname LIKE 'test%'");
    if (away) CutDatabase();
  }
  // Where large objects are.
  void SetDiskFull(bool full) { disk_.full = full; }

 private:
  static void Execute(const std::string& sql) {
    auto& postgres = storage::postgres::PostgresForTest::Get();
    postgres.Execute(postgres.UrlOf("postgres"), sql);
  }
  std::filesystem::path Blobs() const { return folder_.path() / std::to_string(host_); }

  const base::TemporaryFolder folder_{base::TemporaryFolder::kInMemory};
  Database database_;
  FullDisk disk_;
  crypto::SystemEntropy entropy_;
  std::string url_;
  int host_ = 1;
  std::unique_ptr<server::ServerStore> facts_;
  std::unique_ptr<server::BlobStore> objects_;
  LiveFederation live_;
};

}  // namespace tacet::live::testing

#endif  // TACET_TESTS_LIVE_STORED_FEDERATION_FOR_TEST_H_
