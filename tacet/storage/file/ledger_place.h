// Default place of a site's ledgers.
#ifndef TACET_STORAGE_FILE_LEDGER_PLACE_H_
#define TACET_STORAGE_FILE_LEDGER_PLACE_H_

#include <filesystem>
#include <string>

#include "absl/status/statusor.h"

namespace tacet::storage::file {

// `given`, or where that is empty the user's data directory: $XDG_DATA_HOME/tacet/ledger, or
// ~/.local/share/tacet/ledger. InvalidArgument when the environment names neither.
absl::StatusOr<std::filesystem::path> LedgerFolderPath(const std::string& given);

}  // namespace tacet::storage::file

#endif  // TACET_STORAGE_FILE_LEDGER_PLACE_H_
