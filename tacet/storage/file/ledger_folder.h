// Folder of a site with a ledger for each of its data sets, whichever federations spend them, and
// the key under which the ledgers name the data.
#ifndef TACET_STORAGE_FILE_LEDGER_FOLDER_H_
#define TACET_STORAGE_FILE_LEDGER_FOLDER_H_

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/accounting/privacy_event.h"
#include "tacet/accounting/privacy_filter.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/secret.h"
#include "tacet/ledger/ledger_store.h"

namespace tacet::storage::file {

// Data of a site: the name that people know them by, and a digest of their content, which stays in
// memory.
struct SiteData {
  std::string name;  // of CheckLedgerHeader
  crypto::Digest digest{};
};

// Terms of a ledger that is made. A ledger that is there already keeps its own; those that are
// asked for here must be the same.
struct LedgerTerms {
  accounting::Unit unit = accounting::Unit::kClient;
  accounting::Neighbouring neighbouring = accounting::Neighbouring::kReplaceOne;
  double delta = 1e-5;
  std::optional<double> budget_epsilon = std::nullopt;                // none: no budget
  std::optional<accounting::Composition> composition = std::nullopt;  // none: any events
};

// Files: `data.key` (data_key.h) and NAME.ledger (ledger_file.h), NAME being the beginning of the
// keyed digest of the data for which it was made.
class LedgerFolder {
 public:
  // Makes the folder and its key when they are missing. FailedPrecondition when the key is missing
  // beside ledgers.
  static absl::StatusOr<LedgerFolder> Open(const std::filesystem::path& path);
  // The same, but makes nothing: NotFound without a key.
  static absl::StatusOr<LedgerFolder> OpenExisting(const std::filesystem::path& path);

  // The ledger that counts for `data`, or a new one made at `now`, Unix seconds. `anchors`:
  // LedgerPlace. FailedPrecondition when there is a ledger of this name for other data, which were
  // then changed; when terms that are asked for are not those of the ledger. DataLoss when a ledger
  // of the folder is damaged, or an anchor knows of charges that are not there. Unavailable when
  // another process keeps the folder or the ledger locked.
  absl::StatusOr<ledger::OpenedLedger> OpenOrCreate(
      const SiteData& data, const LedgerTerms& terms,
      const std::vector<std::filesystem::path>& anchors, uint64_t now) const;

  // Largest serial number of a policy under which any ledger of the folder is charged; 0: none.
  absl::StatusOr<uint64_t> LatestPolicy() const;

  // Binds the ledger in `path`, one of this folder's, to changed data. AlreadyExists when a ledger
  // of the folder counts for them.
  absl::Status Rebind(const std::filesystem::path& path, const crypto::Digest& data,
                      std::string_view reason) const;

  // In the order of their names.
  static absl::StatusOr<std::vector<std::filesystem::path>> LedgersIn(
      const std::filesystem::path& path);

 private:
  LedgerFolder(std::filesystem::path path, crypto::SecretBytes key)
      : path_(std::move(path)), key_(std::move(key)) {}

  // Where the ledger of the data is, or is to be made.
  absl::StatusOr<std::filesystem::path> PlaceOf(const crypto::Digest& keyed,
                                                std::string_view name) const;
  crypto::Digest Keyed(const crypto::Digest& data) const;

  std::filesystem::path path_;
  crypto::SecretBytes key_;
};

}  // namespace tacet::storage::file

#endif  // TACET_STORAGE_FILE_LEDGER_FOLDER_H_
