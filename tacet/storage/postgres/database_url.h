// Address of a PostgreSQL database, and the part of it that may be shown.
#ifndef TACET_STORAGE_POSTGRES_DATABASE_URL_H_
#define TACET_STORAGE_POSTGRES_DATABASE_URL_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tacet::storage::postgres {

// postgresql://USER:PASSWORD@HOST:PORT/DATABASE?OPTION=VALUE as libpq reads it, every part
// optional.
class DatabaseUrl {
 public:
  // InvalidArgument unless libpq can read it; the error quotes nothing of it.
  static absl::StatusOr<DatabaseUrl> Parse(std::string_view url);

  // For libpq: as the URL says; besides, connecting and waiting for answers of a network that is
  // cut end after some seconds unless it says otherwise. Holds the password.
  const std::string& connection() const { return connection_; }
  // "database D at H", for messages.
  const std::string& place() const { return place_; }
  // One line of what libpq or the server said; without it when it quotes a password.
  std::string Tell(std::string_view message) const;

 private:
  DatabaseUrl() = default;
  void Add(std::string_view keyword, std::string_view value);

  std::string connection_;
  std::string place_;
  std::vector<std::string> secrets_;
};

}  // namespace tacet::storage::postgres

#endif  // TACET_STORAGE_POSTGRES_DATABASE_URL_H_
