// Server store in a PostgreSQL database (docs/formats/server-store.md).
#ifndef TACET_STORAGE_POSTGRES_POSTGRES_STORE_H_
#define TACET_STORAGE_POSTGRES_POSTGRES_STORE_H_

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/base/mutex.h"
#include "tacet/crypto/random.h"
#include "tacet/secagg/attempt.h"
#include "tacet/server/server_store.h"
#include "tacet/storage/postgres/database_url.h"

namespace tacet::storage::postgres {

class Session;

// Keeps everything in the schema `tacet` of a database, which is one server's as long as the object
// lives: an advisory lock says so. After a lost connection the call that noticed is Unavailable,
// and whether it happened is known only by asking (Attempts, Items, Cohort); the next call connects
// again.
//
// PostgreSQL keeps what was deleted in its pages until they are vacuumed, and in its log and the
// copies of that: a cohort is forgotten by every query, but not by a database server's disk.
class PostgresStore final : public server::ServerStore {
 public:
  // Makes the schema when there is none. FailedPrecondition when it has another version, is another
  // program's, is in use by another server, or PostgreSQL runs with fsync off; Unavailable when it
  // cannot be reached; no error holds a password.
  static absl::StatusOr<std::unique_ptr<PostgresStore>> Open(std::string_view url,
                                                             crypto::Entropy& entropy);
  ~PostgresStore() override;

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
  PostgresStore(DatabaseUrl url, base::Bytes token);

  // Runs `act` in a transaction, after connecting where there is no connection: all of it happens
  // or nothing.
  template <typename Act>
  auto Transact(Act act) const;

  DatabaseUrl url_;
  base::Bytes token_;  // of this object, kept in the database
  mutable base::Mutex mutex_;
  mutable std::unique_ptr<Session> session_
      ABSL_GUARDED_BY(mutex_);  // null when there is no connection
};

}  // namespace tacet::storage::postgres

#endif  // TACET_STORAGE_POSTGRES_POSTGRES_STORE_H_
