#include "tacet/storage/file/ledger_place.h"

#include <cstdlib>
#include <optional>

#include "tacet/base/status.h"

namespace tacet::storage::file {
namespace {

// The folder that a variable names; relative ones count as none, as their specification demands.
std::optional<std::filesystem::path> FolderIn(const char* variable) {
  const char* const value = std::getenv(variable);
  if (value == nullptr) return std::nullopt;
  std::filesystem::path path = value;
  if (!path.is_absolute()) return std::nullopt;
  return path;
}

}  // namespace

absl::StatusOr<std::filesystem::path> LedgerFolderPath(const std::string& given) {
  if (!given.empty()) return std::filesystem::path(given);
  if (const auto data = FolderIn("XDG_DATA_HOME")) return *data / "tacet" / "ledger";
  if (const auto home = FolderIn("HOME")) return *home / ".local" / "share" / "tacet" / "ledger";
  return base::InvalidArgument(
      "where are this site's ledgers? Neither --ledger (key ledger.folder) nor XDG_DATA_HOME nor "
      "HOME says so");
}

}  // namespace tacet::storage::file
