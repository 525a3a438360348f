#include "tacet/storage/sqlite/database.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tacet/base/failure_cause.h"
#include "tacet/base/status.h"

namespace tacet::storage::sqlite {
namespace {

// The time that opening waits for a process that is about to end.
constexpr int kBusyMilliseconds = 1000;

std::string OwnerRemedy(const std::string& files) {
  return fmt::format(". User {0} runs this program: `chown {0} {1}` lets it", ::geteuid(), files);
}

absl::Status SystemError(std::string_view what, const std::filesystem::path& path) {
  const int code = errno;
  const bool is_others = code == EACCES || code == EPERM;
  return base::Unavailable("cannot {} {}: {}{}", what, path.string(), std::strerror(code),
                           is_others ? OwnerRemedy(path.string() + "*") : "");
}

absl::Status ErrorOf(sqlite3* database, int code) {
  const char* const name = sqlite3_db_filename(database, "main");
  const std::string file = name == nullptr ? "" : name;
  std::string text = fmt::format("{}: {} (SQLite error {})", file, sqlite3_errmsg(database), code);
  const int kind = code & 0xff;  // without what SQLite calls the extension
  const int cause = sqlite3_system_errno(database);
  switch (kind) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_TOOBIG:
      return base::DataLoss(
          "{}. Move it away, with its -wal, and begin an epoch (`tacet federation rotate`): it "
          "continues from the members' states",
          text);
    case SQLITE_FULL:
      return base::WithCause(base::Unavailable("{}", text), base::FailureCause::kNoRoom);
    case SQLITE_IOERR:
      return base::WithCauseOf(base::Unavailable("{}", text), cause);
    case SQLITE_CANTOPEN:
      if (cause == EACCES) text += OwnerRemedy(file + "*");
      break;
    default:
      break;
  }
  return base::Unavailable("{}", text);
}

absl::Status SyncFolderOf(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = descriptor >= 0 && ::fsync(descriptor) == 0;
  const absl::Status status = synced ? absl::OkStatus() : SystemError("synchronise", folder);
  if (descriptor >= 0) ::close(descriptor);
  return status;
}

// An existing file is not opened here: closing it again would release the locks that another
// connection of this process has on it.
absl::Status MakePrivate(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor >= 0) {
    ::close(descriptor);
    return SyncFolderOf(path);
  }
  if (errno != EEXIST) return SystemError("make", path);
  return ::chmod(path.c_str(), 0600) == 0 ? absl::OkStatus() : SystemError("protect", path);
}

int Length(size_t size) { return static_cast<int>(size); }

}  // namespace

Execution::~Execution() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

void Execution::Bind(uint64_t value) {
  error_ |= sqlite3_bind_int64(statement_, ++bound_, static_cast<sqlite3_int64>(value));
}

void Execution::Bind(std::span<const uint8_t> value) {
  // A null pointer would be NULL, not an empty blob.
  error_ |= value.empty() ? sqlite3_bind_zeroblob(statement_, ++bound_, 0)
                          : sqlite3_bind_blob64(statement_, ++bound_, value.data(), value.size(),
                                                SQLITE_TRANSIENT);
}

void Execution::Bind(std::string_view value) {
  error_ |= sqlite3_bind_text64(statement_, ++bound_, value.empty() ? "" : value.data(),
                                value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

absl::StatusOr<bool> Execution::Next() {
  if (error_ != SQLITE_OK) return base::Unavailable("a value is too large for SQLite");
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return ErrorOf(sqlite3_db_handle(statement_), code);
}

absl::Status Execution::Finish() {
  absl::StatusOr<bool> more = true;
  while (more.ok() && *more) more = Next();
  return more.status();
}

uint64_t Execution::Number(int column) const {
  return static_cast<uint64_t>(sqlite3_column_int64(statement_, column));
}

base::Bytes Execution::Blob(int column) const {
  const auto* data = static_cast<const uint8_t*>(sqlite3_column_blob(statement_, column));
  return base::Bytes(data, data + sqlite3_column_bytes(statement_, column));
}

std::string Execution::Text(int column) const {
  const base::Bytes bytes = Blob(column);
  return std::string(bytes.begin(), bytes.end());
}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

void Database::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

absl::StatusOr<Database> Database::Open(const std::filesystem::path& path, int most_value_bytes) {
  TACET_RETURN_IF_ERROR(MakePrivate(path));
  sqlite3* handle = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database(handle);
  if (code != SQLITE_OK) return ErrorOf(handle, code);
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, kBusyMilliseconds);
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, most_value_bytes);
  // In this order: with the lock the log needs no memory that is shared between processes.
  const absl::Status locked = database.Run(
      "PRAGMA locking_mode = EXCLUSIVE;"
      "PRAGMA journal_mode = WAL;"
      "BEGIN IMMEDIATE;"
      "COMMIT");
  if ((sqlite3_errcode(handle) & 0xff) == SQLITE_BUSY) {
    return base::FailedPrecondition("{} is in use by another process: wait until that has ended",
                                    path.string());
  }
  TACET_RETURN_IF_ERROR(locked);
  TACET_RETURN_IF_ERROR(
      database.Run("PRAGMA synchronous = FULL;"
                   "PRAGMA foreign_keys = ON;"
                   "PRAGMA secure_delete = ON;"
                   "PRAGMA temp_store = MEMORY;"
                   "PRAGMA trusted_schema = OFF"));
  return database;
}

absl::StatusOr<Statement> Database::Prepare(std::string_view sql) const {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(database_.get(), sql.data(), Length(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  Statement prepared(statement);
  if (code != SQLITE_OK) return ErrorOf(database_.get(), code);
  return prepared;
}

absl::Status Database::Run(std::string_view sql) const {
  const int code =
      sqlite3_exec(database_.get(), std::string(sql).c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : ErrorOf(database_.get(), code);
}

absl::StatusOr<uint64_t> Database::Number(std::string_view sql) const {
  TACET_ASSIGN_OR_RETURN(const Statement statement, Prepare(sql));
  Execution execution = statement.With();
  TACET_ASSIGN_OR_RETURN(const bool row, execution.Next());
  if (!row) return base::DataLoss("no answer to {}", sql);
  return execution.Number(0);
}

void Database::RollBack() const {
  // Some errors have ended the transaction already.
  if (sqlite3_get_autocommit(database_.get()) == 0) Run("ROLLBACK").IgnoreError();
}

int64_t Database::changes() const { return sqlite3_total_changes64(database_.get()); }

// Overwriting what is deleted is not enough: rows that moved to another page leave copies in the
// space between others.
absl::Status Database::Scrub() const {
  TACET_RETURN_IF_ERROR(Run("VACUUM"));
  TACET_ASSIGN_OR_RETURN(const uint64_t busy, Number("PRAGMA wal_checkpoint(TRUNCATE)"));
  return busy == 0 ? absl::OkStatus() : base::Unavailable("the log is in use");
}

}  // namespace tacet::storage::sqlite
