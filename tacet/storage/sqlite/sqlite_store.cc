#include "tacet/storage/sqlite/sqlite_store.h"

#include <string_view>
#include <utility>

#include "tacet/base/format_ids.h"
#include "tacet/base/status.h"
#include "tacet/server/server_store_rules.h"

namespace tacet::storage::sqlite {
namespace {

using secagg::AttemptNumber;
using server::AttemptRecord;
using server::Item;
using server::ItemKind;

// The four characters of base::format::kSqliteStore as a big-endian number.
constexpr uint64_t ApplicationId() {
  uint64_t id = 0;
  for (const char c : base::format::kSqliteStore.magic) id = id << 8 | static_cast<uint8_t>(c);
  return id;
}
constexpr uint64_t kApplication = ApplicationId();
constexpr uint64_t kSchemaVersion = 4;

constexpr std::string_view kSchema = R"(
  CREATE TABLE federation (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    identity BLOB NOT NULL
  ) STRICT;
  CREATE TABLE attempt (
    sequence INTEGER PRIMARY KEY,
    epoch INTEGER NOT NULL,
    round INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    manifest_hash BLOB NOT NULL,
    model_digest BLOB NOT NULL,
    phase INTEGER NOT NULL,
    begun INTEGER NOT NULL,
    deadline INTEGER NOT NULL,
    noted INTEGER NOT NULL,
    participants INTEGER NOT NULL,
    failure TEXT NOT NULL,
    UNIQUE (epoch, round, attempt)
  ) STRICT;
  CREATE TABLE cohort (
    attempt INTEGER PRIMARY KEY REFERENCES attempt (sequence),
    members BLOB NOT NULL
  ) STRICT;
  CREATE TABLE item (
    sequence INTEGER PRIMARY KEY,
    epoch INTEGER NOT NULL,
    round INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    member INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    UNIQUE (epoch, round, attempt, kind, member)
  ) STRICT;
)";

#define TACET_ATTEMPT_COLUMNS                                                           \
  "epoch, round, attempt, manifest_hash, model_digest, phase, begun, deadline, noted, " \
  "participants, failure"

absl::StatusOr<AttemptRecord> RecordOf(const Execution& row) {
  AttemptRecord record;
  record.attempt.number.epoch = static_cast<uint32_t>(row.Number(0));
  record.attempt.number.round = static_cast<uint32_t>(row.Number(1));
  record.attempt.number.attempt = static_cast<uint32_t>(row.Number(2));
  TACET_ASSIGN_OR_RETURN(record.attempt.manifest_hash, server::DigestFrom(row.Blob(3)));
  TACET_ASSIGN_OR_RETURN(record.attempt.model_digest, server::DigestFrom(row.Blob(4)));
  TACET_ASSIGN_OR_RETURN(record.phase,
                         server::AttemptPhaseFrom(static_cast<int64_t>(row.Number(5))));
  record.begun = row.Number(6);
  record.deadline = row.Number(7);
  record.noted = row.Number(8);
  record.participants = static_cast<uint32_t>(row.Number(9));
  record.failure = row.Text(10);
  return record;
}

absl::StatusOr<std::vector<Item>> ItemsIn(Execution rows) {
  std::vector<Item> items;
  while (true) {
    TACET_ASSIGN_OR_RETURN(const bool row, rows.Next());
    if (!row) return items;
    TACET_ASSIGN_OR_RETURN(const ItemKind kind,
                           server::ItemKindFrom(static_cast<int64_t>(rows.Number(0))));
    items.push_back({.kind = kind, .member = rows.Number(1), .bytes = rows.Blob(2)});
  }
}

uint64_t CodeOf(ItemKind kind) { return static_cast<uint8_t>(kind); }
uint64_t CodeOf(protocol::AttemptPhase phase) { return static_cast<uint8_t>(phase); }

absl::Status Set(const Statement& set_attempt, const AttemptRecord& record) {
  return set_attempt.Run(CodeOf(record.phase), record.begun, record.deadline, record.noted,
                         record.participants, record.failure, record.attempt.number.epoch,
                         record.attempt.number.round, record.attempt.number.attempt);
}

// Makes the tables in an empty file.
absl::Status CheckSchema(Database& database, const std::filesystem::path& path) {
  TACET_ASSIGN_OR_RETURN(const uint64_t application, database.Number("PRAGMA application_id"));
  TACET_ASSIGN_OR_RETURN(const uint64_t version, database.Number("PRAGMA user_version"));
  TACET_ASSIGN_OR_RETURN(const uint64_t objects,
                         database.Number("SELECT count(*) FROM sqlite_schema"));
  if (application == 0 && version == 0 && objects == 0) {
    return database.Transact([&] {
      return database.Run(fmt::format("{} PRAGMA application_id = {}; PRAGMA user_version = {}",
                                      kSchema, kApplication, kSchemaVersion));
    });
  }
  if (application != kApplication) {
    return base::FailedPrecondition("{} is a database of another program", path.string());
  }
  if (version != kSchemaVersion) {
    return base::FailedPrecondition(
        "{} has schema version {}, this program reads and writes {}. {}", path.string(), version,
        kSchemaVersion, server::kOtherStoreRemedy);
  }
  return absl::OkStatus();
}

}  // namespace

std::string_view SqliteStore::TextOf(Query query) {
  switch (query) {
    case kOwner:
      return "SELECT identity FROM federation";
    case kSetOwner:
      return "INSERT INTO federation VALUES (1, ?)";
    case kAllAttempts:
      return "SELECT " TACET_ATTEMPT_COLUMNS " FROM attempt ORDER BY sequence";
    case kLastAttempt:
      return "SELECT " TACET_ATTEMPT_COLUMNS " FROM attempt ORDER BY sequence DESC LIMIT 1";
    case kHasAttempt:
      return "SELECT 1 FROM attempt WHERE epoch = ? AND round = ? AND attempt = ?";
    case kAddAttempt:
      return "INSERT INTO attempt (" TACET_ATTEMPT_COLUMNS
             ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    case kSetAttempt:
      return "UPDATE attempt SET phase = ?, begun = ?, deadline = ?, noted = ?, participants = ?, "
             "failure = ? WHERE epoch = ? AND round = ? AND attempt = ?";
    case kCohort:
      return "SELECT members FROM cohort";
    case kAddCohort:
      return "INSERT INTO cohort SELECT max(sequence), ? FROM attempt";
    case kForgetCohort:
      return "DELETE FROM cohort";
    case kItem:
      return "SELECT bytes FROM item "
             "WHERE epoch = ? AND round = ? AND attempt = ? AND kind = ? AND member = ?";
    case kAddItem:
      return "INSERT INTO item (epoch, round, attempt, kind, member, bytes) "
             "VALUES (?, ?, ?, ?, ?, ?)";
    case kItems:
      return "SELECT kind, member, bytes FROM item "
             "WHERE epoch = ? AND round = ? AND attempt = ? ORDER BY sequence";
    case kItemsOf:
      return "SELECT kind, member, bytes FROM item WHERE epoch = ? AND round = ? AND attempt = ? "
             "AND kind = ? AND member >= ? ORDER BY member LIMIT ?";
    case kForgetItems:
      return "DELETE FROM item WHERE epoch = ? AND round = ? AND attempt = ? AND kind = ?";
    case kForgetItem:
      return "DELETE FROM item "
             "WHERE epoch = ? AND round = ? AND attempt = ? AND kind = ? AND member = ?";
    case kForgetBefore:
      return "DELETE FROM item WHERE (round < ? AND kind <> 12) OR (epoch < ? AND kind = 14)";
    case kQueries:
      break;
  }
  return "";
}

absl::StatusOr<std::unique_ptr<SqliteStore>> SqliteStore::Open(const std::filesystem::path& path,
                                                               const SqliteStoreOptions& options) {
  TACET_ASSIGN_OR_RETURN(Database database, Database::Open(path, server::kMostStoredBytes));
  TACET_RETURN_IF_ERROR(CheckSchema(database, path));
  if (options.most_bytes > 0) {
    TACET_ASSIGN_OR_RETURN(const uint64_t page, database.Number("PRAGMA page_size"));
    TACET_RETURN_IF_ERROR(
        database.Run(fmt::format("PRAGMA max_page_count = {}", options.most_bytes / page + 1)));
  }
  std::unique_ptr<SqliteStore> store(new SqliteStore(std::move(database)));
  const base::MutexLock lock(store->mutex_);
  // The process before may have been killed between forgetting something and cleaning.
  TACET_RETURN_IF_ERROR(store->Clean());
  for (int query = 0; query < kQueries; ++query) {
    TACET_ASSIGN_OR_RETURN(store->statements_[static_cast<size_t>(query)],
                           store->database_.Prepare(TextOf(static_cast<Query>(query))));
  }
  return store;
}

absl::Status SqliteStore::Clean() {
  if (unclean_) TACET_RETURN_IF_ERROR(database_.Scrub());
  unclean_ = false;
  return absl::OkStatus();
}

template <typename Act>
absl::Status SqliteStore::Change(Act act) {
  const base::MutexLock lock(mutex_);
  TACET_RETURN_IF_ERROR(Clean());
  return database_.Transact(act);
}

template <typename Act>
absl::Status SqliteStore::Forget(Act act) {
  const base::MutexLock lock(mutex_);
  const int64_t before = database_.changes();
  TACET_RETURN_IF_ERROR(database_.Transact(act));
  unclean_ = unclean_ || database_.changes() != before;
  return Clean();
}

absl::Status SqliteStore::Claim(const crypto::Digest& federation) {
  return Change([&]() -> absl::Status {
    mutex_.AssertHeld();
    Execution owner = Of(kOwner).With();
    TACET_ASSIGN_OR_RETURN(const bool owned, owner.Next());
    if (!owned) return Of(kSetOwner).Run(federation);
    TACET_ASSIGN_OR_RETURN(const crypto::Digest known, server::DigestFrom(owner.Blob(0)));
    return server::CheckOwner(known, federation);
  });
}

absl::StatusOr<std::vector<AttemptRecord>> SqliteStore::Attempts() const {
  const base::MutexLock lock(mutex_);
  std::vector<AttemptRecord> records;
  Execution rows = Of(kAllAttempts).With();
  while (true) {
    TACET_ASSIGN_OR_RETURN(const bool row, rows.Next());
    if (!row) return records;
    TACET_ASSIGN_OR_RETURN(records.emplace_back(), RecordOf(rows));
  }
}

absl::StatusOr<std::optional<AttemptRecord>> SqliteStore::Last() const {
  Execution rows = Of(kLastAttempt).With();
  TACET_ASSIGN_OR_RETURN(const bool row, rows.Next());
  if (!row) return std::nullopt;
  return RecordOf(rows);
}

absl::Status SqliteStore::Begin(const AttemptRecord& record, std::span<const uint64_t> cohort) {
  return Change([&]() -> absl::Status {
    mutex_.AssertHeld();
    TACET_ASSIGN_OR_RETURN(const auto last, Last());
    const AttemptNumber& number = record.attempt.number;
    TACET_ASSIGN_OR_RETURN(const bool begun_before,
                           Of(kHasAttempt).With(number.epoch, number.round, number.attempt).Next());
    TACET_RETURN_IF_ERROR(server::CheckBegin(record, last, begun_before));
    const secagg::Attempt& attempt = record.attempt;
    TACET_RETURN_IF_ERROR(
        Of(kAddAttempt)
            .Run(attempt.number.epoch, attempt.number.round, attempt.number.attempt,
                 attempt.manifest_hash, attempt.model_digest, CodeOf(record.phase), record.begun,
                 record.deadline, record.noted, record.participants, record.failure));
    return Of(kAddCohort).Run(server::CohortBytes(cohort));
  });
}

absl::StatusOr<std::vector<uint64_t>> SqliteStore::Cohort() const {
  const base::MutexLock lock(mutex_);
  Execution rows = Of(kCohort).With();
  TACET_ASSIGN_OR_RETURN(const bool row, rows.Next());
  if (!row) return std::vector<uint64_t>();
  return server::CohortFrom(rows.Blob(0));
}

absl::Status SqliteStore::Update(const AttemptRecord& record, std::span<const Item> items) {
  return Change([&]() -> absl::Status {
    mutex_.AssertHeld();
    TACET_ASSIGN_OR_RETURN(const auto last, Last());
    TACET_RETURN_IF_ERROR(server::CheckUpdate(record, last));
    for (const Item& item : items) {
      TACET_RETURN_IF_ERROR(Put(record.attempt.number, item));
    }
    return Set(Of(kSetAttempt), record);
  });
}

absl::Status SqliteStore::Finish(const AttemptRecord& record, std::span<const ItemKind> forgotten) {
  return Forget([&]() -> absl::Status {
    mutex_.AssertHeld();
    TACET_ASSIGN_OR_RETURN(const auto last, Last());
    TACET_RETURN_IF_ERROR(server::CheckFinish(record, last));
    TACET_RETURN_IF_ERROR(Of(kForgetCohort).Run());
    const AttemptNumber at = record.attempt.number;
    for (const ItemKind kind : forgotten) {
      TACET_RETURN_IF_ERROR(Of(kForgetItems).Run(at.epoch, at.round, at.attempt, CodeOf(kind)));
    }
    return Set(Of(kSetAttempt), record);
  });
}

absl::Status SqliteStore::Put(const AttemptNumber& at, const Item& item) const {
  {
    Execution rows = Of(kItem).With(at.epoch, at.round, at.attempt, CodeOf(item.kind), item.member);
    TACET_ASSIGN_OR_RETURN(const bool row, rows.Next());
    if (row) return server::CheckSameItem(item, rows.Blob(0));
  }
  return Of(kAddItem).Run(at.epoch, at.round, at.attempt, CodeOf(item.kind), item.member,
                          item.bytes);
}

absl::Status SqliteStore::PutItem(const AttemptNumber& at, const Item& item) {
  return Change([&] {
    mutex_.AssertHeld();
    return Put(at, item);
  });
}

absl::StatusOr<std::vector<Item>> SqliteStore::Items(const AttemptNumber& at) const {
  const base::MutexLock lock(mutex_);
  return ItemsIn(Of(kItems).With(at.epoch, at.round, at.attempt));
}

absl::StatusOr<std::vector<Item>> SqliteStore::ItemsOf(const AttemptNumber& at, ItemKind kind,
                                                       uint64_t from, size_t most) const {
  const base::MutexLock lock(mutex_);
  return ItemsIn(
      Of(kItemsOf).With(at.epoch, at.round, at.attempt, CodeOf(kind), from, uint64_t{most}));
}

absl::Status SqliteStore::ForgetItem(const AttemptNumber& at, ItemKind kind, uint64_t member) {
  return Forget([&] {
    mutex_.AssertHeld();
    return Of(kForgetItem).Run(at.epoch, at.round, at.attempt, CodeOf(kind), member);
  });
}

absl::Status SqliteStore::ForgetBefore(uint32_t round, uint32_t epoch) {
  return Forget([&] {
    mutex_.AssertHeld();
    return Of(kForgetBefore).Run(round, epoch);
  });
}

}  // namespace tacet::storage::sqlite
