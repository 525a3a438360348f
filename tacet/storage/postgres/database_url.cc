#include "tacet/storage/postgres/database_url.h"

#include <map>
#include <memory>

#include <libpq-fe.h>

#include "tacet/base/status.h"

namespace tacet::storage::postgres {
namespace {

// Milliseconds for tcp_user_timeout, otherwise seconds.
const std::map<std::string, std::string> kDefaults = {
    {"application_name", "tacet"}, {"connect_timeout", "10"}, {"keepalives_idle", "20"},
    {"keepalives_interval", "5"},  {"keepalives_count", "4"}, {"tcp_user_timeout", "30000"},
    {"client_encoding", "UTF8"},
};

bool StartsWithScheme(std::string_view url) {
  return url.starts_with("postgresql://") || url.starts_with("postgres://");
}

// A password that was not written with %XX ends at its first '@' or '/', and its rest would be
// taken for a host, a port or a database and quoted in errors.
bool HoldsRestOfPassword(const std::string& keyword, std::string_view value) {
  if (keyword == "port") return value.find_first_not_of("0123456789,") != value.npos;
  const bool named = keyword == "host" || keyword == "hostaddr" || keyword == "dbname";
  return named && value.find('@') != value.npos;
}

}  // namespace

absl::StatusOr<DatabaseUrl> DatabaseUrl::Parse(std::string_view url) {
  char* ignored = nullptr;  // libpq's words quote the URL
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> options(
      StartsWithScheme(url) ? PQconninfoParse(std::string(url).c_str(), &ignored) : nullptr,
      &PQconninfoFree);
  PQfreemem(ignored);
  const auto no_url = [] {
    return base::InvalidArgument(
        "this is not the URL of a PostgreSQL database: expected "
        "postgresql://USER@HOST:PORT/DATABASE "
        "(with %XX for characters that have a meaning in URLs)");
  };
  if (options == nullptr) return no_url();
  DatabaseUrl parsed;
  std::map<std::string, std::string> values = kDefaults;
  for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option) {
    if (option->val == nullptr) continue;
    if (HoldsRestOfPassword(option->keyword, option->val)) return no_url();
    values[option->keyword] = option->val;
  }
  for (const auto& [keyword, value] : values) parsed.Add(keyword, value);
  for (const std::string_view keyword : {"password", "sslpassword"}) {
    const auto secret = values.find(std::string(keyword));
    if (secret != values.end() && !secret->second.empty()) {
      parsed.secrets_.push_back(secret->second);
    }
  }
  const auto or_default = [&](const std::string& keyword, const std::string& otherwise) {
    const auto found = values.find(keyword);
    return found == values.end() || found->second.empty() ? otherwise : found->second;
  };
  parsed.place_ = fmt::format("database {} at {}", or_default("dbname", "of the user's name"),
                              or_default("host", "this machine"));
  return parsed;
}

void DatabaseUrl::Add(std::string_view keyword, std::string_view value) {
  connection_.append(keyword).append("='");
  for (const char c : value) {
    if (c == '\'' || c == '\\') connection_.push_back('\\');
    connection_.push_back(c);
  }
  connection_.append("' ");
}

std::string DatabaseUrl::Tell(std::string_view message) const {
  for (const std::string& secret : secrets_) {
    if (message.find(secret) != message.npos) return "the reason is not told: it quotes a password";
  }
  std::string line;
  for (const char c : message) {
    const bool space = c == '\n' || c == '\t' || c == ' ';
    if (!space) line.push_back(c);
    if (space && !line.empty() && line.back() != ' ') line.push_back(' ');
  }
  if (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

}  // namespace tacet::storage::postgres
