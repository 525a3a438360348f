// Folder of a site with the privacy ledger of its population, whichever federations and tables
// spend it, and with those of the other populations that its officer's policy declares.
#ifndef TACET_STORAGE_FILE_LEDGER_FOLDER_H_
#define TACET_STORAGE_FILE_LEDGER_FOLDER_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/accounting/privacy_event.h"
#include "tacet/accounting/privacy_filter.h"
#include "tacet/ledger/ledger_store.h"

namespace tacet::storage::file {

// Terms of a ledger that is made. A ledger that is there already keeps its own; those that are
// asked for here must be the same.
struct LedgerTerms {
  accounting::Unit unit = accounting::Unit::kClient;
  accounting::Neighbouring neighbouring = accounting::Neighbouring::kReplaceOne;
  double delta = 1e-5;
  std::optional<double> budget_epsilon = std::nullopt;                // none: no budget
  std::optional<accounting::Composition> composition = std::nullopt;  // none: any events
};

// Files: POPULATION.ledger (ledger_file.h). Nothing of the data decides which ledger is charged.
class LedgerFolder {
 public:
  // Makes the folder when it is missing.
  static absl::StatusOr<LedgerFolder> Open(const std::filesystem::path& path);

  // The ledger of `population` (ledger_format.h, CheckPopulation), or a new one made at `now`, Unix
  // seconds. `anchors`: LedgerPlace. FailedPrecondition when terms that are asked for are not those
  // of the ledger, or an anchor is one of another population. DataLoss when a ledger of the folder
  // is damaged or lies under another population's name, or an anchor knows of charges that are not
  // there. Unavailable when another process keeps the folder or the ledger locked.
  absl::StatusOr<ledger::OpenedLedger> OpenOrCreate(
      std::string_view population, const LedgerTerms& terms,
      const std::vector<std::filesystem::path>& anchors, uint64_t now) const;

  // Largest serial number of a policy under which any ledger of the folder is charged; 0: none.
  absl::StatusOr<uint64_t> LatestPolicy() const;

  // Where the ledger of a population is, or will be.
  std::filesystem::path PathOf(std::string_view population) const;

  // In the order of their names.
  static absl::StatusOr<std::vector<std::filesystem::path>> LedgersIn(
      const std::filesystem::path& path);

 private:
  explicit LedgerFolder(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
};

}  // namespace tacet::storage::file

#endif  // TACET_STORAGE_FILE_LEDGER_FOLDER_H_
