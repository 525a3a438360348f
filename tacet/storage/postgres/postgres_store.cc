#include "tacet/storage/postgres/postgres_store.h"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include <pqxx/pqxx>

#include "tacet/base/failure_cause.h"
#include "tacet/base/status.h"
#include "tacet/server/server_store_rules.h"
#include "tacet/storage/postgres/pqxx_versions.h"

namespace tacet::storage::postgres {
namespace {

using secagg::AttemptNumber;
using server::AttemptRecord;
using server::Item;
using server::ItemKind;

constexpr int kSchemaVersion = 4;
constexpr size_t kTokenBytes = 16;
// The key of the advisory lock: "tacet", then the meaning of the lock.
constexpr int64_t kServerLock = 0x7461636574'01;
constexpr std::string_view kLockNotAvailable = "55P03";
constexpr std::string_view kDiskFull = "53100";

constexpr const char* kSchema = R"(
  CREATE SCHEMA tacet;
  CREATE TABLE tacet.store (
    one boolean PRIMARY KEY CHECK (one),
    version integer NOT NULL,
    token bytea NOT NULL,
    federation bytea
  );
  CREATE TABLE tacet.attempt (
    sequence bigserial PRIMARY KEY,
    epoch bigint NOT NULL,
    round bigint NOT NULL,
    attempt bigint NOT NULL,
    manifest_hash bytea NOT NULL,
    model_digest bytea NOT NULL,
    phase smallint NOT NULL,
    begun bigint NOT NULL,
    deadline bigint NOT NULL,
    noted bigint NOT NULL,
    participants bigint NOT NULL,
    failure text NOT NULL,
    UNIQUE (epoch, round, attempt)
  );
  CREATE TABLE tacet.cohort (
    attempt bigint PRIMARY KEY REFERENCES tacet.attempt (sequence),
    members bytea NOT NULL
  );
  CREATE TABLE tacet.item (
    sequence bigserial PRIMARY KEY,
    epoch bigint NOT NULL,
    round bigint NOT NULL,
    attempt bigint NOT NULL,
    kind smallint NOT NULL,
    member bigint NOT NULL,
    bytes bytea NOT NULL,
    UNIQUE (epoch, round, attempt, kind, member)
  );
)";

// A connection that is lost while nothing is asked is noticed by PostgreSQL, too, so that the lock
// of a server whose network was cut is free after half a minute.
constexpr const char* kSettings = R"(
  SET client_min_messages = warning;
  SET tcp_keepalives_idle = 15;
  SET tcp_keepalives_interval = 5;
  SET tcp_keepalives_count = 3;
  SET lock_timeout = '1s';
)";

// Null where the value is longer than any.
#define TACET_BOUNDED(column) "CASE WHEN octet_length(" column ") <= 16777216 THEN " column " END"
#define TACET_ATTEMPT_COLUMNS                                                           \
  "epoch, round, attempt, manifest_hash, model_digest, phase, begun, deadline, noted, " \
  "participants, failure"
#define TACET_AT "epoch = $1 AND round = $2 AND attempt = $3"

struct Query {
  const char* name;
  const char* text;
};
constexpr Query kOwner = {"owner",
                          "SELECT federation FROM tacet.store WHERE federation IS NOT NULL"};
constexpr Query kSetOwner = {"set_owner", "UPDATE tacet.store SET federation = $1"};
constexpr Query kAllAttempts = {
    "all_attempts", "SELECT " TACET_ATTEMPT_COLUMNS " FROM tacet.attempt ORDER BY sequence"};
constexpr Query kLastAttempt = {"last_attempt",
                                "SELECT " TACET_ATTEMPT_COLUMNS
                                " FROM tacet.attempt ORDER BY sequence DESC LIMIT 1"};
constexpr Query kHasAttempt = {"has_attempt", "SELECT 1 FROM tacet.attempt WHERE " TACET_AT};
constexpr Query kAddAttempt = {"add_attempt",
                               "INSERT INTO tacet.attempt (" TACET_ATTEMPT_COLUMNS
                               ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"};
constexpr Query kSetAttempt = {
    "set_attempt",
    "UPDATE tacet.attempt SET phase = $4, begun = $5, deadline = $6, noted = $7, "
    "participants = $8, failure = $9 WHERE " TACET_AT};
constexpr Query kCohort = {"cohort", "SELECT " TACET_BOUNDED("members") " FROM tacet.cohort"};
constexpr Query kAddCohort = {
    "add_cohort", "INSERT INTO tacet.cohort SELECT max(sequence), $1 FROM tacet.attempt"};
constexpr Query kForgetCohort = {"forget_cohort", "DELETE FROM tacet.cohort"};
constexpr Query kItem = {"item", "SELECT " TACET_BOUNDED("bytes") " FROM tacet.item WHERE " TACET_AT
                                                                  " AND kind = $4 AND member = $5"};
constexpr Query kAddItem = {"add_item",
                            "INSERT INTO tacet.item (epoch, round, attempt, kind, member, bytes) "
                            "VALUES ($1, $2, $3, $4, $5, $6)"};
constexpr Query kItems = {
    "items", "SELECT kind, member, " TACET_BOUNDED("bytes") " FROM tacet.item WHERE " TACET_AT
                                                            " ORDER BY sequence"};
constexpr Query kItemsOf = {
    "items_of", "SELECT kind, member, " TACET_BOUNDED(
                    "bytes") " FROM tacet.item WHERE " TACET_AT
                             " AND kind = $4 AND member >= $5 ORDER BY member LIMIT $6"};
constexpr Query kForgetItems = {"forget_items",
                                "DELETE FROM tacet.item WHERE " TACET_AT " AND kind = $4"};
constexpr Query kForgetItem = {
    "forget_item", "DELETE FROM tacet.item WHERE " TACET_AT " AND kind = $4 AND member = $5"};
constexpr Query kForgetBefore = {"forget_before",
                                 "DELETE FROM tacet.item WHERE (round < $1 AND kind <> 12) OR "
                                 "(epoch < $2 AND kind = 14)"};

constexpr Query kSetToken = {"set_token", "UPDATE tacet.store SET token = $1"};

constexpr const Query* kQueries[] = {
    &kSetToken,   &kOwner,      &kSetOwner, &kAllAttempts, &kLastAttempt,  &kHasAttempt,
    &kAddAttempt, &kSetAttempt, &kCohort,   &kAddCohort,   &kForgetCohort, &kItem,
    &kAddItem,    &kItems,      &kItemsOf,  &kForgetItems, &kForgetItem,   &kForgetBefore};

// A u64 is kept as the signed number with the same bits.
int64_t Signed(uint64_t value) { return static_cast<int64_t>(value); }
int64_t Signed(ItemKind kind) { return static_cast<uint8_t>(kind); }
int64_t Signed(protocol::AttemptPhase phase) { return static_cast<uint8_t>(phase); }
uint64_t NumberIn(const pqxx::field& field) { return static_cast<uint64_t>(field.as<int64_t>()); }

template <typename... Values>
pqxx::result Execute(pqxx::work& work, const Query& query, const Values&... values) {
  return ExecutePrepared(work, query.name, values...);
}

// The only value of a query with one row.
pqxx::field OnlyValue(pqxx::transaction_base& transaction, const char* sql) {
  return transaction.exec(sql).at(0).at(0);
}

static_assert(server::kMostStoredBytes == 16777216);
// The value of a column that is TACET_BOUNDED.
absl::StatusOr<base::Bytes> BoundedBytesIn(const pqxx::field& field) {
  if (!field.is_null()) return BytesIn(field);
  return server::DamagedStore(
      fmt::format("a value of more than {} bytes", server::kMostStoredBytes));
}

absl::StatusOr<AttemptRecord> RecordOf(const pqxx::row& row) {
  AttemptRecord record;
  record.attempt.number.epoch = static_cast<uint32_t>(NumberIn(row[0]));
  record.attempt.number.round = static_cast<uint32_t>(NumberIn(row[1]));
  record.attempt.number.attempt = static_cast<uint32_t>(NumberIn(row[2]));
  TACET_ASSIGN_OR_RETURN(record.attempt.manifest_hash, server::DigestFrom(BytesIn(row[3])));
  TACET_ASSIGN_OR_RETURN(record.attempt.model_digest, server::DigestFrom(BytesIn(row[4])));
  TACET_ASSIGN_OR_RETURN(record.phase, server::AttemptPhaseFrom(row[5].as<int64_t>()));
  record.begun = NumberIn(row[6]);
  record.deadline = NumberIn(row[7]);
  record.noted = NumberIn(row[8]);
  record.participants = static_cast<uint32_t>(NumberIn(row[9]));
  record.failure = row[10].as<std::string>();
  return record;
}

absl::StatusOr<std::optional<AttemptRecord>> Last(pqxx::work& work) {
  const pqxx::result rows = Execute(work, kLastAttempt);
  if (rows.empty()) return std::nullopt;
  return RecordOf(rows[0]);
}

bool HasBegun(pqxx::work& work, const AttemptNumber& at) {
  return !Execute(work, kHasAttempt, at.epoch, at.round, at.attempt).empty();
}

absl::StatusOr<std::vector<Item>> ItemsIn(const pqxx::result& rows) {
  std::vector<Item> items;
  for (const pqxx::row& row : rows) {
    TACET_ASSIGN_OR_RETURN(const ItemKind kind, server::ItemKindFrom(row[0].as<int64_t>()));
    TACET_ASSIGN_OR_RETURN(base::Bytes bytes, BoundedBytesIn(row[2]));
    items.push_back({.kind = kind, .member = NumberIn(row[1]), .bytes = std::move(bytes)});
  }
  return items;
}

void Set(pqxx::work& work, const AttemptRecord& record) {
  const secagg::Attempt& attempt = record.attempt;
  Execute(work, kSetAttempt, attempt.number.epoch, attempt.number.round, attempt.number.attempt,
          Signed(record.phase), Signed(record.begun), Signed(record.deadline), Signed(record.noted),
          record.participants, record.failure);
}

absl::Status Put(pqxx::work& work, const AttemptNumber& at, const Item& item) {
  const int64_t kind = Signed(item.kind);
  const int64_t member = Signed(item.member);
  const pqxx::result rows = Execute(work, kItem, at.epoch, at.round, at.attempt, kind, member);
  if (!rows.empty()) {
    TACET_ASSIGN_OR_RETURN(const base::Bytes kept, BoundedBytesIn(rows[0][0]));
    return server::CheckSameItem(item, kept);
  }
  Execute(work, kAddItem, at.epoch, at.round, at.attempt, kind, member, Binary(item.bytes));
  return absl::OkStatus();
}

base::FailureCause CauseOf(const std::exception& thrown) {
  if (dynamic_cast<const pqxx::broken_connection*>(&thrown) != nullptr ||
      dynamic_cast<const pqxx::in_doubt_error*>(&thrown) != nullptr) {
    return base::FailureCause::kNotConnected;
  }
  const auto* const sql = dynamic_cast<const pqxx::sql_error*>(&thrown);
  const bool no_room = sql != nullptr && sql->sqlstate() == kDiskFull;
  return no_room ? base::FailureCause::kNoRoom : base::FailureCause::kUnknown;
}

// The thrown error, without what must not be told.
absl::Status Failure(const DatabaseUrl& url, const std::exception& thrown) {
  if (dynamic_cast<const pqxx::in_doubt_error*>(&thrown) != nullptr) {
    return base::WithCause(base::Unavailable("{}: the connection was lost at the end of a "
                                             "transaction; whether it happened is not known",
                                             url.place()),
                           CauseOf(thrown));
  }
  const bool is_others = dynamic_cast<const pqxx::insufficient_privilege*>(&thrown) != nullptr;
  return base::WithCause(
      base::Unavailable("{}: {}{}", url.place(), url.Tell(thrown.what()),
                        is_others ? ". Where its tables belong to another role, `REASSIGN OWNED BY "
                                    "OTHER TO ROLE` in it lets this server use them"
                                  : ""),
      CauseOf(thrown));
}

}  // namespace

// A connection that holds the lock of the database's only server.
class Session {
 public:
  // For the first connection of a store, which makes the schema and leaves its token.
  static absl::StatusOr<std::unique_ptr<Session>> Begin(const DatabaseUrl& url,
                                                        std::span<const uint8_t> token);
  // For the others: FailedPrecondition when another server has used the database in between.
  static absl::StatusOr<std::unique_ptr<Session>> Resume(const DatabaseUrl& url,
                                                         std::span<const uint8_t> token);

  pqxx::connection& connection() { return connection_.get(); }

 private:
  explicit Session(const DatabaseUrl& url) : connection_(url.connection().c_str()) {}
  static absl::StatusOr<std::unique_ptr<Session>> Connect(const DatabaseUrl& url);

  absl::Status TakeLock(const DatabaseUrl& url);
  absl::Status CheckDurable(const DatabaseUrl& url);
  absl::Status CheckSchema(const DatabaseUrl& url, pqxx::work& work);
  // The database judges a query when it is prepared, so the schema must be there.
  void PrepareQueries();

  QuietConnection connection_;
};

void Session::PrepareQueries() {
  for (const Query* query : kQueries) connection().prepare(query->name, query->text);
}

absl::StatusOr<std::unique_ptr<Session>> Session::Connect(const DatabaseUrl& url) {
  try {
    std::unique_ptr<Session> session(new Session(url));
    TACET_RETURN_IF_ERROR(session->TakeLock(url));
    TACET_RETURN_IF_ERROR(session->CheckDurable(url));
    return session;
  } catch (const std::exception& thrown) {
    return Failure(url, thrown);
  }
}

absl::Status Session::TakeLock(const DatabaseUrl& url) {
  pqxx::nontransaction settings(connection());
  settings.exec(kSettings);
  try {
    settings.exec(fmt::format("SELECT pg_advisory_lock({})", kServerLock));
  } catch (const pqxx::sql_error& thrown) {
    if (thrown.sqlstate() != kLockNotAvailable) throw;
    return base::FailedPrecondition(
        "the {} is in use by another server: only one may use it at a time", url.place());
  }
  settings.exec("SET lock_timeout = 0");
  return absl::OkStatus();
}

absl::Status Session::CheckDurable(const DatabaseUrl& url) {
  pqxx::nontransaction settings(connection());
  if (OnlyValue(settings, "SHOW fsync").as<std::string>() != "on") {
    return base::FailedPrecondition(
        "the {} runs with fsync off, so that a crash would lose what the server has acknowledged: "
        "set fsync = on",
        url.place());
  }
  if (OnlyValue(settings, "SHOW synchronous_commit").as<std::string>() == "off") {
    settings.exec("SET synchronous_commit = on");
  }
  return absl::OkStatus();
}

absl::Status Session::CheckSchema(const DatabaseUrl& url, pqxx::work& work) {
  if (OnlyValue(work, "SELECT to_regnamespace('tacet') IS NULL").as<bool>()) {
    work.exec(kSchema);
    work.exec(fmt::format("INSERT INTO tacet.store VALUES (true, {}, '', NULL)", kSchemaVersion));
    return absl::OkStatus();
  }
  if (OnlyValue(work, "SELECT to_regclass('tacet.store') IS NULL").as<bool>()) {
    return base::FailedPrecondition("the schema tacet of the {} belongs to another program",
                                    url.place());
  }
  const int version = OnlyValue(work, "SELECT version FROM tacet.store").as<int>();
  if (version == kSchemaVersion) return absl::OkStatus();
  return base::FailedPrecondition(
      "the {} has schema version {}, this program reads and writes {}. {}", url.place(), version,
      kSchemaVersion, server::kOtherStoreRemedy);
}

absl::StatusOr<std::unique_ptr<Session>> Session::Begin(const DatabaseUrl& url,
                                                        std::span<const uint8_t> token) {
  TACET_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Connect(url));
  try {
    pqxx::work work(session->connection());
    TACET_RETURN_IF_ERROR(session->CheckSchema(url, work));
    session->PrepareQueries();
    Execute(work, kSetToken, Binary(token));
    work.commit();
    return session;
  } catch (const std::exception& thrown) {
    return Failure(url, thrown);
  }
}

absl::StatusOr<std::unique_ptr<Session>> Session::Resume(const DatabaseUrl& url,
                                                         std::span<const uint8_t> token) {
  absl::StatusOr<std::unique_ptr<Session>> session = Connect(url);
  if (session.status().code() == absl::StatusCode::kFailedPrecondition) {
    return base::Unavailable("{}", base::Message(session.status()));  // perhaps our own, dying
  }
  TACET_RETURN_IF_ERROR(session.status());
  try {
    pqxx::work work((*session)->connection());
    const base::Bytes last = BytesIn(OnlyValue(work, "SELECT token FROM tacet.store"));
    if (std::ranges::equal(last, token)) {
      (*session)->PrepareQueries();
      return session;
    }
    return base::FailedPrecondition(
        "another server has used the {} since the connection was lost: this one has to be started "
        "again",
        url.place());
  } catch (const std::exception& thrown) {
    return Failure(url, thrown);
  }
}

PostgresStore::PostgresStore(DatabaseUrl url, base::Bytes token)
    : url_(std::move(url)), token_(std::move(token)) {}

PostgresStore::~PostgresStore() = default;

absl::StatusOr<std::unique_ptr<PostgresStore>> PostgresStore::Open(std::string_view url,
                                                                   crypto::Entropy& entropy) {
  TACET_ASSIGN_OR_RETURN(DatabaseUrl parsed, DatabaseUrl::Parse(url));
  base::Bytes token(kTokenBytes);
  entropy.Fill(token);
  std::unique_ptr<PostgresStore> store(new PostgresStore(std::move(parsed), std::move(token)));
  const base::MutexLock lock(store->mutex_);
  TACET_ASSIGN_OR_RETURN(store->session_, Session::Begin(store->url_, store->token_));
  return store;
}

template <typename Act>
auto PostgresStore::Transact(Act act) const {
  using Result = decltype(act(std::declval<pqxx::work&>()));
  const base::MutexLock lock(mutex_);
  try {
    if (session_ == nullptr) {
      absl::StatusOr<std::unique_ptr<Session>> session = Session::Resume(url_, token_);
      if (!session.ok()) return Result(session.status());
      session_ = *std::move(session);
    }
    pqxx::work work(session_->connection());
    Result result = act(work);
    if (result.ok()) work.commit();
    return result;
  } catch (const std::exception& thrown) {
    session_.reset();
    return Result(Failure(url_, thrown));
  }
}

absl::Status PostgresStore::Claim(const crypto::Digest& federation) {
  return Transact([&](pqxx::work& work) -> absl::Status {
    const pqxx::result owner = Execute(work, kOwner);
    if (owner.empty()) {
      Execute(work, kSetOwner, Binary(federation));
      return absl::OkStatus();
    }
    TACET_ASSIGN_OR_RETURN(const crypto::Digest known, server::DigestFrom(BytesIn(owner[0][0])));
    return server::CheckOwner(known, federation);
  });
}

absl::StatusOr<std::vector<AttemptRecord>> PostgresStore::Attempts() const {
  return Transact([&](pqxx::work& work) -> absl::StatusOr<std::vector<AttemptRecord>> {
    std::vector<AttemptRecord> records;
    for (const pqxx::row& row : Execute(work, kAllAttempts)) {
      TACET_ASSIGN_OR_RETURN(records.emplace_back(), RecordOf(row));
    }
    return records;
  });
}

absl::Status PostgresStore::Begin(const AttemptRecord& record, std::span<const uint64_t> cohort) {
  return Transact([&](pqxx::work& work) -> absl::Status {
    TACET_ASSIGN_OR_RETURN(const auto last, Last(work));
    const bool begun_before = HasBegun(work, record.attempt.number);
    TACET_RETURN_IF_ERROR(server::CheckBegin(record, last, begun_before));
    const secagg::Attempt& attempt = record.attempt;
    Execute(work, kAddAttempt, attempt.number.epoch, attempt.number.round, attempt.number.attempt,
            Binary(attempt.manifest_hash), Binary(attempt.model_digest), Signed(record.phase),
            Signed(record.begun), Signed(record.deadline), Signed(record.noted),
            record.participants, record.failure);
    Execute(work, kAddCohort, Binary(server::CohortBytes(cohort)));
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<uint64_t>> PostgresStore::Cohort() const {
  return Transact([&](pqxx::work& work) -> absl::StatusOr<std::vector<uint64_t>> {
    const pqxx::result rows = Execute(work, kCohort);
    if (rows.empty()) return std::vector<uint64_t>();
    TACET_ASSIGN_OR_RETURN(const base::Bytes members, BoundedBytesIn(rows[0][0]));
    return server::CohortFrom(members);
  });
}

absl::Status PostgresStore::Update(const AttemptRecord& record, std::span<const Item> items) {
  return Transact([&](pqxx::work& work) -> absl::Status {
    TACET_ASSIGN_OR_RETURN(const auto last, Last(work));
    TACET_RETURN_IF_ERROR(server::CheckUpdate(record, last));
    for (const Item& item : items) {
      TACET_RETURN_IF_ERROR(Put(work, record.attempt.number, item));
    }
    Set(work, record);
    return absl::OkStatus();
  });
}

absl::Status PostgresStore::Finish(const AttemptRecord& record,
                                   std::span<const ItemKind> forgotten) {
  return Transact([&](pqxx::work& work) -> absl::Status {
    TACET_ASSIGN_OR_RETURN(const auto last, Last(work));
    TACET_RETURN_IF_ERROR(server::CheckFinish(record, last));
    Execute(work, kForgetCohort);
    const AttemptNumber at = record.attempt.number;
    for (const ItemKind kind : forgotten) {
      Execute(work, kForgetItems, at.epoch, at.round, at.attempt, Signed(kind));
    }
    Set(work, record);
    return absl::OkStatus();
  });
}

absl::Status PostgresStore::PutItem(const AttemptNumber& at, const Item& item) {
  return Transact([&](pqxx::work& work) { return Put(work, at, item); });
}

absl::StatusOr<std::vector<Item>> PostgresStore::Items(const AttemptNumber& at) const {
  return Transact([&](pqxx::work& work) {
    return ItemsIn(Execute(work, kItems, at.epoch, at.round, at.attempt));
  });
}

absl::StatusOr<std::vector<Item>> PostgresStore::ItemsOf(const AttemptNumber& at, ItemKind kind,
                                                         uint64_t from, size_t most) const {
  return Transact([&](pqxx::work& work) {
    return ItemsIn(Execute(work, kItemsOf, at.epoch, at.round, at.attempt, Signed(kind),
                           Signed(from), Signed(most)));
  });
}

absl::Status PostgresStore::ForgetItem(const AttemptNumber& at, ItemKind kind, uint64_t member) {
  return Transact([&](pqxx::work& work) -> absl::Status {
    Execute(work, kForgetItem, at.epoch, at.round, at.attempt, Signed(kind), Signed(member));
    return absl::OkStatus();
  });
}

absl::Status PostgresStore::ForgetBefore(uint32_t round, uint32_t epoch) {
  return Transact([&](pqxx::work& work) -> absl::Status {
    Execute(work, kForgetBefore, round, epoch);
    return absl::OkStatus();
  });
}

}  // namespace tacet::storage::postgres
