// SQLite wrapper with our errors: a connection, statements that are prepared once, transactions.
#ifndef TACET_STORAGE_SQLITE_DATABASE_H_
#define TACET_STORAGE_SQLITE_DATABASE_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"

struct sqlite3;
struct sqlite3_stmt;

namespace tacet::storage::sqlite {

// One execution of a prepared statement; its end makes the statement free for the next.
class Execution {
 public:
  template <typename... Values>
  explicit Execution(sqlite3_stmt* statement, const Values&... values) : statement_(statement) {
    (Bind(values), ...);
  }
  ~Execution();
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  // Whether there is another row, which can then be read.
  absl::StatusOr<bool> Next();
  // Goes to the end.
  absl::Status Finish();

  // For the row, by column from 0.
  uint64_t Number(int column) const;
  base::Bytes Blob(int column) const;
  std::string Text(int column) const;

 private:
  // The next parameter. A u64 is kept as the signed number with the same bits.
  void Bind(uint64_t value);
  void Bind(std::span<const uint8_t> value);
  void Bind(std::string_view value);

  sqlite3_stmt* statement_;
  int bound_ = 0;
  int error_ = 0;  // of binding
};

class Statement {
 public:
  Statement() = default;
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}

  // One at a time.
  template <typename... Values>
  Execution With(const Values&... values) const {
    return Execution(statement_.get(), values...);
  }
  // For statements without rows.
  template <typename... Values>
  absl::Status Run(const Values&... values) const {
    return With(values...).Finish();
  }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// A file of which this process is the only user. Errors are DataLoss for a file that is damaged or
// no database, otherwise Unavailable; they hold SQLite's words and no values. Not thread-safe.
class Database {
 public:
  // Makes the file with mode 0600 when there is none. FailedPrecondition while another process uses
  // it. A value, or a row, of more than `most_value_bytes` counts as damage, and is not read.
  static absl::StatusOr<Database> Open(const std::filesystem::path& path, int most_value_bytes);

  absl::StatusOr<Statement> Prepare(std::string_view sql) const;
  // Statements without parameters, separated by semicolons; rows are skipped.
  absl::Status Run(std::string_view sql) const;
  // The first value of the first row.
  absl::StatusOr<uint64_t> Number(std::string_view sql) const;

  // Runs `act` in a transaction: all of it happens, durably, or, when it or the end of the
  // transaction fails, nothing.
  template <typename Act>
  absl::Status Transact(Act act) const {
    absl::Status status = Run("BEGIN IMMEDIATE");
    if (status.ok()) status = act();
    if (status.ok()) status = Run("COMMIT");
    if (!status.ok()) RollBack();
    return status;
  }

  // Rows that were inserted, updated or deleted since it was opened.
  int64_t changes() const;

  // Rewrites the file without anything that was deleted, and empties the log next to it.
  absl::Status Scrub() const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  explicit Database(sqlite3* database) : database_(database) {}
  void RollBack() const;

  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace tacet::storage::sqlite

#endif  // TACET_STORAGE_SQLITE_DATABASE_H_
