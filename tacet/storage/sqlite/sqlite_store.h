// Server store in one SQLite file (docs/formats/server-store.md).
#ifndef TACET_STORAGE_SQLITE_SQLITE_STORE_H_
#define TACET_STORAGE_SQLITE_SQLITE_STORE_H_

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/mutex.h"
#include "tacet/secagg/attempt.h"
#include "tacet/server/server_store.h"
#include "tacet/storage/sqlite/database.h"

namespace tacet::storage::sqlite {

struct SqliteStoreOptions {
  uint64_t most_bytes = 0;  // to which the file may grow; 0: as far as the disk allows
};

// A commit is synchronised before a call returns. What Finish and Forget... forget is in no file
// any more when they return OK; where there was no room for that, no other change is accepted until
// there is.
class SqliteStore final : public server::ServerStore {
 public:
  // Makes the file, mode 0600, when there is none. FailedPrecondition when it has another schema
  // version, holds something else, or is in use by another process; DataLoss when it is damaged.
  static absl::StatusOr<std::unique_ptr<SqliteStore>> Open(const std::filesystem::path& path,
                                                           const SqliteStoreOptions& options = {});

  absl::Status Claim(const crypto::Digest& federation) override;
  absl::StatusOr<std::vector<server::AttemptRecord>> Attempts() const override;
  absl::Status Begin(const server::AttemptRecord& record,
                     std::span<const uint64_t> cohort) override;
  absl::StatusOr<std::vector<uint64_t>> Cohort() const override;
  absl::Status Update(const server::AttemptRecord& record,
                      std::span<const server::Item> items) override;
  absl::Status Finish(const server::AttemptRecord& record,
                      std::span<const server::ItemKind> forgotten) override;
  absl::Status PutItem(const secagg::AttemptNumber& at, const server::Item& item) override;
  absl::StatusOr<std::vector<server::Item>> Items(const secagg::AttemptNumber& at) const override;
  absl::Status ForgetItem(const secagg::AttemptNumber& at, server::ItemKind kind,
                          uint64_t member) override;
  absl::StatusOr<std::vector<server::Item>> ItemsOf(const secagg::AttemptNumber& at,
                                                    server::ItemKind kind, uint64_t from,
                                                    size_t most) const override;
  absl::Status ForgetBefore(uint32_t round, uint32_t epoch) override;

 private:
  enum Query {
    kOwner,
    kSetOwner,
    kAllAttempts,
    kLastAttempt,
    kHasAttempt,
    kAddAttempt,
    kSetAttempt,
    kCohort,
    kAddCohort,
    kForgetCohort,
    kItem,
    kAddItem,
    kItems,
    kItemsOf,
    kForgetItems,
    kForgetItem,
    kForgetBefore,
    kQueries,
  };
  static std::string_view TextOf(Query query);

  explicit SqliteStore(Database database) : database_(std::move(database)) {}

  // Both take the lock.
  template <typename Act>
  absl::Status Change(Act act) ABSL_LOCKS_EXCLUDED(mutex_);
  template <typename Act>
  absl::Status Forget(Act act) ABSL_LOCKS_EXCLUDED(mutex_);

  // Here and below under the lock.
  const Statement& Of(Query query) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return statements_[query];
  }
  absl::Status Clean() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<std::optional<server::AttemptRecord>> Last() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Put(const secagg::AttemptNumber& at, const server::Item& item) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable base::Mutex mutex_;
  Database database_ ABSL_GUARDED_BY(mutex_);
  bool unclean_ ABSL_GUARDED_BY(mutex_) = true;  // something that was forgotten may be in the files
  std::array<Statement, kQueries> statements_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tacet::storage::sqlite

#endif  // TACET_STORAGE_SQLITE_SQLITE_STORE_H_
