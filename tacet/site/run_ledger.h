// Charges of one training in its run directory, copied from the ledger of its population: what
// `tacet report` and `tacet audit` read, and may be given to others.
#ifndef TACET_SITE_RUN_LEDGER_H_
#define TACET_SITE_RUN_LEDGER_H_

#include <filesystem>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/accounting/epsilon_bounds.h"
#include "tacet/agreement/charged_terms.h"
#include "tacet/agreement/manifest.h"
#include "tacet/agreement/signed_manifest.h"
#include "tacet/crypto/hash.h"
#include "tacet/ledger/ledger_store.h"
#include "tacet/ledger/privacy_ledger.h"
#include "tacet/storage/file/posix_file.h"

namespace tacet::site {

// Every attempt of the training that the site's ledger charged or refused, in the agreement's own
// unit, neighbours and delta, each at the cost of its epoch. Refused ones count here: the
// training's guarantee is about all its attempts. Charges of other trainings and federations are
// not in it.
class RunLedger {
 public:
  // The copy in `path`, made for `population` when it is missing or damaged. All must outlive it.
  static absl::StatusOr<std::unique_ptr<RunLedger>> Open(
      const std::filesystem::path& path, const agreement::Manifest& manifest,
      std::span<const agreement::EpochLink> earlier, std::string_view population,
      storage::file::DiskCalls& disk = storage::file::DiskCalls::System());

  // Adds what `ledger` has charged since. Unavailable when the disk fails: the next call continues.
  // DataLoss when the copy has attempts that the ledger lacks: it is an older one.
  absl::Status Update(const ledger::PrivacyLedger& ledger);

  const std::vector<ledger::LedgerEntry>& entries() const { return entries_; }
  // The cost of all attempts together.
  absl::StatusOr<accounting::EpsilonBounds> Epsilon() const;
  // The agreements that they were made under; the last one is the present one where its attempts
  // are the last.
  absl::StatusOr<std::vector<agreement::ChargedTerms>> Terms() const;

 private:
  RunLedger(const agreement::Manifest& manifest, std::span<const agreement::EpochLink> earlier,
            ledger::OpenedLedger opened);

  void Remember(ledger::LedgerEntry entry);
  absl::Status Append(ledger::LedgerEntry entry);
  // A charge or a refusal.
  template <typename Record>
  bool IsOfTraining(const Record& record) const {
    return ledger::IsOfTraining(record, manifest_.federation(), manifest_.spec().training);
  }

  const agreement::ManifestSpec& AgreedUnder(const crypto::Digest& manifest_hash) const;

  const agreement::Manifest& manifest_;
  std::span<const agreement::EpochLink> earlier_;
  std::unique_ptr<ledger::LedgerStore> store_;
  std::vector<ledger::LedgerEntry> entries_;
  std::set<ledger::ChargeLabel> labels_;
};

// Whether `ledger` has every attempt of another training's run, whose copy is in `path`. OK when
// there is no copy, or a damaged one. DataLoss when an attempt is missing.
absl::Status CheckHasChargesOf(const std::filesystem::path& path,
                               const ledger::PrivacyLedger& ledger);

}  // namespace tacet::site

#endif  // TACET_SITE_RUN_LEDGER_H_
