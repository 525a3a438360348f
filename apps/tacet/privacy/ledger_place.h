// Default place of a site's ledgers.
#ifndef TACET_APPS_TACET_PRIVACY_LEDGER_PLACE_H_
#define TACET_APPS_TACET_PRIVACY_LEDGER_PLACE_H_

#include <filesystem>
#include <string>

#include "absl/status/statusor.h"

namespace tacet::app::privacy {

// `given`, or where that is empty the user's data directory: $XDG_DATA_HOME/tacet/ledger, or
// ~/.local/share/tacet/ledger. InvalidArgument when the environment names neither.
absl::StatusOr<std::filesystem::path> LedgerFolderPath(const std::string& given);

}  // namespace tacet::app::privacy

#endif  // TACET_APPS_TACET_PRIVACY_LEDGER_PLACE_H_
