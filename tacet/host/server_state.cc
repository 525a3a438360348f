#include "tacet/host/server_state.h"

#include <filesystem>

#include "tacet/base/status.h"
#include "tacet/storage/postgres/postgres_store.h"
#include "tacet/storage/sqlite/sqlite_store.h"

namespace tacet::host {

absl::StatusOr<ServerState> OpenServerState(std::string_view where, crypto::Entropy& entropy) {
  constexpr std::string_view kSqlite = "sqlite:", kPostgres = "postgresql:";
  if (where.starts_with(kSqlite) && where.size() > kSqlite.size()) {
    TACET_ASSIGN_OR_RETURN(auto store, storage::sqlite::SqliteStore::Open(
                                           std::filesystem::path(where.substr(kSqlite.size()))));
    return ServerState{.kind = "sqlite", .store = std::move(store)};
  }
  if (where.starts_with(kPostgres)) {
    TACET_ASSIGN_OR_RETURN(auto store, storage::postgres::PostgresStore::Open(where, entropy));
    return ServerState{.kind = "postgresql", .store = std::move(store)};
  }
  return base::InvalidArgument(
      "--state is sqlite:PATH or postgresql://..., for example "
      "sqlite:/var/lib/tacet/server.sqlite");
}

}  // namespace tacet::host
