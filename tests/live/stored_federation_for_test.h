// A live federation whose server keeps what it has in a database and in a folder of objects. The
// server can be stopped and started, on this host or on another one with the same database.
#ifndef TACET_TESTS_LIVE_STORED_FEDERATION_FOR_TEST_H_
#define TACET_TESTS_LIVE_STORED_FEDERATION_FOR_TEST_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "tacet/base/temporary_folder_for_test.h"
#include "tacet/storage/file/blob_folder.h"
#include "tacet/storage/postgres/postgres_for_test.h"
#include "tacet/storage/postgres/postgres_store.h"
#include "tacet/storage/sqlite/sqlite_store.h"
#include "tests/live/live_members_for_test.h"

namespace tacet::live::testing {

enum class Database : uint8_t { kSqlite, kPostgres };

inline std::string NameOf(Database database) {
  return database == Database::kSqlite ? "sqlite" : "postgresql";
}

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

  void Start() {
    using protocol::testing::ValueOf;
    if (database_ == Database::kSqlite) {
      facts_ = ValueOf(storage::sqlite::SqliteStore::Open(folder_.path() / "server.sqlite"));
    } else {
      facts_ = ValueOf(storage::postgres::PostgresStore::Open(url_, entropy_));
    }
    objects_ = ValueOf(storage::file::BlobFolder::Open(Blobs()));
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
    auto& postgres = storage::postgres::PostgresForTest::Get();
    postgres.Execute(postgres.UrlOf("postgres"),
                     "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity "
                     "WHERE datname LIKE 'test%'");
  }

 private:
  std::filesystem::path Blobs() const { return folder_.path() / std::to_string(host_); }

  const base::TemporaryFolder folder_{base::TemporaryFolder::kInMemory};
  Database database_;
  crypto::SystemEntropy entropy_;
  std::string url_;
  int host_ = 1;
  std::unique_ptr<server::ServerStore> facts_;
  std::unique_ptr<server::BlobStore> objects_;
  LiveFederation live_;
};

}  // namespace tacet::live::testing

#endif  // TACET_TESTS_LIVE_STORED_FEDERATION_FOR_TEST_H_
