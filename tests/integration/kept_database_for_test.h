// A server's database in PostgreSQL, with backups.
#ifndef TACET_TESTS_INTEGRATION_KEPT_DATABASE_FOR_TEST_H_
#define TACET_TESTS_INTEGRATION_KEPT_DATABASE_FOR_TEST_H_

#include <string>

#include "fmt/core.h"

#include "tacet/storage/postgres/postgres_for_test.h"

namespace tacet::app {

// A database and its backups, while nobody uses it.
class KeptDatabase {
 public:
  const std::string& url() const { return url_; }
  void Keep(const std::string& backup) { Copy(name_, name_ + backup); }
  void PutBack(const std::string& backup) { Copy(name_ + backup, name_); }
  void Empty() {
    Drop(name_);
    postgres_.Execute(postgres_.UrlOf("postgres"), fmt::format("CREATE DATABASE \"{}\"", name_));
  }
  // As its administrator.
  void Execute(const std::string& sql) const { postgres_.Execute(url_, sql); }
  const std::string& name() const { return name_; }
  void Crash() { postgres_.Kill(); }
  void Recover() { postgres_.Start(); }

 private:
  // The server process of a killed client may not know yet that it has nobody to talk to.
  void Copy(const std::string& from, const std::string& to) const {
    const std::string admin = postgres_.UrlOf("postgres");
    postgres_.Execute(admin, fmt::format("SELECT pg_terminate_backend(pid, 60000) FROM "
                                         "pg_stat_activity WHERE datname = '{}'",
                                         from));
    Drop(to);
    postgres_.Execute(admin, fmt::format("CREATE DATABASE \"{}\" TEMPLATE \"{}\"", to, from));
  }
  void Drop(const std::string& name) const {
    postgres_.Execute(postgres_.UrlOf("postgres"),
                      fmt::format("DROP DATABASE IF EXISTS \"{}\" WITH (FORCE)", name));
  }

  storage::postgres::PostgresForTest& postgres_ = storage::postgres::PostgresForTest::Get();
  const std::string url_ = postgres_.NewDatabase();
  const std::string name_ = url_.substr(url_.find("@/") + 2, url_.find('?') - url_.find("@/") - 2);
};

}  // namespace tacet::app

#endif  // TACET_TESTS_INTEGRATION_KEPT_DATABASE_FOR_TEST_H_
