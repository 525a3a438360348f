#include "tacet/storage/file/ledger_folder.h"

#include <algorithm>
#include <memory>
#include <system_error>
#include <utility>

#include <fcntl.h>

#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/ledger/data_digest.h"
#include "tacet/ledger/privacy_ledger.h"
#include "tacet/storage/file/data_key.h"
#include "tacet/storage/file/file_lock.h"
#include "tacet/storage/file/ledger_file.h"

namespace tacet::storage::file {
namespace {

namespace fs = std::filesystem;

using ledger::LedgerHeader;
using ledger::OpenedLedger;
using ledger::RecoveredLedger;

constexpr std::string_view kEnding = ".ledger";
constexpr std::string_view kAnchorEnding = ".anchor";
constexpr std::string_view kLock = "lock";
constexpr size_t kNameDigits = 32;
constexpr double kMaxWaitSeconds = 60;

// Held while keys and ledgers are made, so that two processes never make two for one data set.
absl::StatusOr<File> LockFolder(const fs::path& folder) {
  File lock(folder / kLock, O_RDWR | O_CREAT, kOwnerOnly);
  if (!lock.ok()) return SystemError("open", folder / kLock);
  if (LockFile(lock, kMaxWaitSeconds)) return lock;
  return base::Unavailable("the ledger folder {} is in use by another process", folder.string());
}

// Ledgers of the folder. One whose anchor alone is left is read, too: that says what is missing.
absl::StatusOr<std::vector<fs::path>> ListLedgers(const fs::path& folder) {
  std::vector<fs::path> ledgers;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    fs::path path = entry->path();
    if (path.extension() == kAnchorEnding) path.replace_extension();
    if (path.extension() == kEnding) ledgers.push_back(std::move(path));
  }
  if (error) return base::Unavailable("cannot read {}: {}", folder.string(), error.message());
  std::ranges::sort(ledgers);
  ledgers.erase(std::unique(ledgers.begin(), ledgers.end()), ledgers.end());
  return ledgers;
}

struct FoundLedger {
  fs::path path;
  RecoveredLedger ledger;
};

absl::StatusOr<std::vector<FoundLedger>> ReadLedgers(const fs::path& folder) {
  TACET_ASSIGN_OR_RETURN(const std::vector<fs::path> paths, ListLedgers(folder));
  std::vector<FoundLedger> ledgers;
  for (const fs::path& path : paths) {
    absl::StatusOr<RecoveredLedger> found = LedgerFile::Read(path);
    if (found.status().code() == absl::StatusCode::kNotFound) continue;  // was never charged
    TACET_RETURN_IF_ERROR(found.status());
    ledgers.push_back({.path = path, .ledger = *std::move(found)});
  }
  return ledgers;
}

absl::Status CheckAskedFor(const LedgerHeader& header, const LedgerTerms& terms,
                           const fs::path& path) {
  const accounting::SpendingTerms& own = header.spending;
  if (terms.budget_epsilon.has_value() && *terms.budget_epsilon != own.budget_epsilon) {
    return base::FailedPrecondition(
        "the ledger {} of \"{}\" was made with the budget {} and is asked for with {}: a budget is "
        "fixed when a ledger is made",
        path.string(), header.data_set, own.budget_epsilon, *terms.budget_epsilon);
  }
  if (terms.composition.has_value() && *terms.composition != own.composition) {
    return base::FailedPrecondition(
        "the ledger {} of \"{}\" was made for {} and is asked for with {}: the composition is "
        "fixed "
        "when a ledger is made",
        path.string(), header.data_set, accounting::CompositionName(own.composition),
        accounting::CompositionName(*terms.composition));
  }
  return absl::OkStatus();
}

LedgerHeader HeaderOf(const LedgerTerms& terms, std::string_view name, const crypto::Digest& keyed,
                      uint64_t now) {
  LedgerHeader header;
  header.data_set = name;
  header.data_digest = keyed;
  header.unit = terms.unit;
  header.neighbouring = terms.neighbouring;
  header.spending = {
      .budget_epsilon = terms.budget_epsilon.value_or(0),
      .delta = terms.delta,
      .composition = terms.composition.value_or(accounting::Composition::kAnyEvents)};
  header.created = now;
  return header;
}

}  // namespace

absl::StatusOr<LedgerFolder> LedgerFolder::Open(const fs::path& path) {
  TACET_RETURN_IF_ERROR(MakeFolders(path, 0700));
  TACET_ASSIGN_OR_RETURN(const File lock, LockFolder(path));
  TACET_ASSIGN_OR_RETURN(const std::vector<fs::path> ledgers, ListLedgers(path));
  const fs::path known = ledgers.empty() ? path / kEnding : ledgers.front();
  TACET_ASSIGN_OR_RETURN(crypto::SecretBytes key, EnsureDataKey(path / kDataKeyFile, known));
  return LedgerFolder(path, std::move(key));
}

absl::StatusOr<LedgerFolder> LedgerFolder::OpenExisting(const fs::path& path) {
  TACET_ASSIGN_OR_RETURN(crypto::SecretBytes key, ReadDataKey(path / kDataKeyFile));
  return LedgerFolder(path, std::move(key));
}

crypto::Digest LedgerFolder::Keyed(const crypto::Digest& data) const {
  return ledger::KeyedDataDigest(key_, ledger::kLedgerDigest, data);
}

absl::StatusOr<fs::path> LedgerFolder::PlaceOf(const crypto::Digest& keyed,
                                               std::string_view name) const {
  TACET_ASSIGN_OR_RETURN(const std::vector<FoundLedger> ledgers, ReadLedgers(path_));
  for (const FoundLedger& found : ledgers) {
    if (found.ledger.CountsFor(keyed)) return found.path;
  }
  for (const FoundLedger& found : ledgers) {
    if (found.ledger.header.data_set != name) continue;
    return base::FailedPrecondition(
        "the data set \"{0}\" has other contents than its ledger {1} counts for. If it was "
        "changed, "
        "`tacet ledger rebind {1} --data DATA --reason TEXT` carries over what was spent; if it is "
        "another data set, give it a name of its own with --data-set",
        name, found.path.string());
  }
  return path_ / (base::ToHex(keyed).substr(0, kNameDigits) + std::string(kEnding));
}

absl::StatusOr<OpenedLedger> LedgerFolder::OpenOrCreate(const SiteData& data,
                                                        const LedgerTerms& terms,
                                                        const std::vector<fs::path>& anchors,
                                                        uint64_t now) const {
  TACET_ASSIGN_OR_RETURN(const File lock, LockFolder(path_));
  const crypto::Digest keyed = Keyed(data.digest);
  TACET_ASSIGN_OR_RETURN(fs::path path, PlaceOf(keyed, data.name));
  const LedgerPlace place(std::move(path), anchors);
  absl::StatusOr<OpenedLedger> opened = LedgerFile::Open(place);
  if (opened.status().code() == absl::StatusCode::kNotFound) {
    return LedgerFile::OpenOrCreate(place, HeaderOf(terms, data.name, keyed, now));
  }
  TACET_RETURN_IF_ERROR(opened.status());
  TACET_RETURN_IF_ERROR(CheckAskedFor(opened->found.header, terms, place.path));
  return opened;
}

absl::StatusOr<uint64_t> LedgerFolder::LatestPolicy() const {
  TACET_ASSIGN_OR_RETURN(const File lock, LockFolder(path_));
  TACET_ASSIGN_OR_RETURN(const std::vector<FoundLedger> ledgers, ReadLedgers(path_));
  uint64_t latest = 0;
  for (const FoundLedger& found : ledgers) {
    for (const ledger::LedgerPolicy& policy : found.ledger.policies) {
      latest = std::max(latest, policy.serial);
    }
  }
  return latest;
}

absl::Status LedgerFolder::Rebind(const fs::path& path, const crypto::Digest& data,
                                  std::string_view reason) const {
  TACET_ASSIGN_OR_RETURN(const File lock, LockFolder(path_));
  const crypto::Digest keyed = Keyed(data);
  TACET_ASSIGN_OR_RETURN(const std::vector<FoundLedger> ledgers, ReadLedgers(path_));
  for (const FoundLedger& found : ledgers) {
    if (!found.ledger.CountsFor(keyed)) continue;
    return base::AlreadyExists("the ledger {} counts for these data already", found.path.string());
  }
  TACET_ASSIGN_OR_RETURN(OpenedLedger opened, LedgerFile::Open(path));
  TACET_ASSIGN_OR_RETURN(const std::unique_ptr<ledger::PrivacyLedger> ledger,
                         ledger::PrivacyLedger::Create(std::move(opened)));
  return ledger->Bind(keyed, reason);
}

absl::StatusOr<std::vector<fs::path>> LedgerFolder::LedgersIn(const fs::path& path) {
  return ListLedgers(path);
}

}  // namespace tacet::storage::file
