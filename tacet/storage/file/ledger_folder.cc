#include "tacet/storage/file/ledger_folder.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>

#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/crypto/random.h"
#include "tacet/ledger/ledger_anchor.h"
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
constexpr size_t kIdentityBytes = 32;
constexpr double kMaxWaitSeconds = 60;

// Held while ledgers are looked up and made, so that two processes never make two for one
// population.
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
    if (const std::string& population = found->header.population; path.stem() != population) {
      return base::DataLoss(
          "{} is the ledger of the population \"{}\", which is charged in {}: put the ledgers back "
          "under their own names",
          path.string(), population, (folder / (population + std::string(kEnding))).string());
    }
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
        path.string(), header.population, own.budget_epsilon, *terms.budget_epsilon);
  }
  if (terms.composition.has_value() && *terms.composition != own.composition) {
    return base::FailedPrecondition(
        "the ledger {} of \"{}\" was made for {} and is asked for with {}: the composition is "
        "fixed when a ledger is made",
        path.string(), header.population, accounting::CompositionName(own.composition),
        accounting::CompositionName(*terms.composition));
  }
  return absl::OkStatus();
}

// An anchor that knows no charge tells nothing of its ledger but whose it is.
absl::Status CheckAnchors(const std::vector<fs::path>& anchors, std::string_view population) {
  for (const fs::path& path : anchors) {
    const absl::StatusOr<base::Bytes> bytes = ReadFile(path);
    if (bytes.status().code() == absl::StatusCode::kNotFound) continue;
    TACET_RETURN_IF_ERROR(bytes.status());
    const absl::StatusOr<ledger::LedgerAnchor> anchor = ledger::ReadLedgerAnchor(*bytes);
    if (!anchor.ok() || anchor->population == population) continue;  // damage: CheckNothingMissed
    return base::FailedPrecondition(
        "{} is an anchor of the population \"{}\", not of \"{}\": put back the right one. A home "
        "charges one population; for another one, take part from a folder of its own",
        path.string(), anchor->population, population);
  }
  return absl::OkStatus();
}

LedgerHeader HeaderOf(const LedgerTerms& terms, std::string_view population, uint64_t now) {
  LedgerHeader header;
  header.population = population;
  const crypto::SecretBytes identity = crypto::SystemEntropy().Draw(kIdentityBytes);
  std::ranges::copy(identity.Expose(), header.identity.begin());
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
  return LedgerFolder(path);
}

fs::path LedgerFolder::PathOf(std::string_view population) const {
  return path_ / (std::string(population) + std::string(kEnding));
}

absl::StatusOr<OpenedLedger> LedgerFolder::OpenOrCreate(std::string_view population,
                                                        const LedgerTerms& terms,
                                                        const std::vector<fs::path>& anchors,
                                                        uint64_t now) const {
  TACET_ASSIGN_OR_RETURN(const File lock, LockFolder(path_));
  TACET_RETURN_IF_ERROR(ReadLedgers(path_).status());
  TACET_RETURN_IF_ERROR(CheckAnchors(anchors, population));
  const LedgerPlace place(PathOf(population), anchors);
  absl::StatusOr<OpenedLedger> opened = LedgerFile::Open(place);
  if (opened.status().code() == absl::StatusCode::kNotFound) {
    return LedgerFile::OpenOrCreate(place, HeaderOf(terms, population, now));
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

absl::StatusOr<std::vector<fs::path>> LedgerFolder::LedgersIn(const fs::path& path) {
  return ListLedgers(path);
}

}  // namespace tacet::storage::file
