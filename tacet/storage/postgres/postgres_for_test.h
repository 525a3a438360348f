// A real PostgreSQL server that a test binary starts for itself.
#ifndef TACET_STORAGE_POSTGRES_POSTGRES_FOR_TEST_H_
#define TACET_STORAGE_POSTGRES_POSTGRES_FOR_TEST_H_

#include <filesystem>
#include <string>
#include <vector>

#include <sys/types.h>

#include "tacet/base/temporary_folder_for_test.h"

namespace tacet::storage::postgres {

// Listens on a Unix socket in a temporary folder, with a password; runs as another user when the
// test is root's, whom PostgreSQL refuses. Ends with the object, and with the process however that
// ends. Aborts when it cannot be started.
class PostgresForTest {
 public:
  // The binary's only one, started at the first call.
  static PostgresForTest& Get();

  PostgresForTest();
  ~PostgresForTest();
  PostgresForTest(const PostgresForTest&) = delete;
  PostgresForTest& operator=(const PostgresForTest&) = delete;

  static constexpr const char* kPassword = "p'ss w0rd/@:%";
  static constexpr const char* kPasswordInUrl = "p'ss%20w0rd%2F%40%3A%25";

  // A URL of a new, empty database.
  std::string NewDatabase();
  std::string UrlOf(const std::string& database) const;
  // Runs SQL in a database as its administrator.
  void Execute(const std::string& url, const std::string& sql) const;

  // Ends it at once, as a crash does.
  void Kill();
  // Starts it, with `settings` such as "fsync=off" besides its own.
  void Start(const std::vector<std::string>& settings = {});

 private:
  pid_t Spawn(const std::vector<std::string>& command) const;
  void Run(const std::vector<std::string>& command) const;

  // In memory where there is such a folder: what a killed process leaves is the same there.
  const base::TemporaryFolder folder_{base::TemporaryFolder::kInMemory};
  const std::filesystem::path programs_;
  pid_t server_ = -1;
  int databases_ = 0;
};

}  // namespace tacet::storage::postgres

#endif  // TACET_STORAGE_POSTGRES_POSTGRES_FOR_TEST_H_
