// A ledger in the words of a site's officer: what is left of the policy's budget and until when,
// and what each training and query has spent.
#ifndef TACET_APPS_TACET_LEDGER_LEDGER_WORDS_H_
#define TACET_APPS_TACET_LEDGER_LEDGER_WORDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/base/json.h"
#include "tacet/ledger/ledger_recovery.h"
#include "tacet/ledger/spent_parts.h"

namespace tacet::app::ledger {

// The statements of the homes that are charged to a ledger.
struct HomesOfLedger {
  tacet::ledger::Names names;
  // For the policy under which the ledger was charged last, or for a later one that has charged
  // nothing yet; none where no home has one.
  std::optional<tacet::ledger::YearlyBudget> year;
  std::vector<std::string> notes;  // on homes whose policy is another one
};

// Names of federations and trainings follow from the chains of manifests that the homes joined. A
// policy counts whose digest the ledger has recorded, since it was signed when the ledger adopted
// it, and a later one with a signature, which a note names.
// Errors of SiteFolder::Open and Joined.
absl::StatusOr<HomesOfLedger> ReadHomes(const std::vector<std::string>& homes,
                                        const tacet::ledger::RecoveredLedger& found);

struct LedgerInWords {
  std::optional<tacet::ledger::YearSpent> year = std::nullopt;
  std::vector<tacet::ledger::SpentPart> parts = {};  // of the year, or of all time
  std::string text = {};                             // lines with a heading of 12 columns
};

// Amounts are rounded upwards, what is left downwards.
absl::StatusOr<LedgerInWords> InWords(const tacet::ledger::RecoveredLedger& found,
                                      const HomesOfLedger& homes, uint64_t now);

// Members `year` (null without a policy) and `parts` of the JSON of `tacet ledger show`.
void SetWords(const LedgerInWords& words, base::JsonValue& shown);

}  // namespace tacet::app::ledger

#endif  // TACET_APPS_TACET_LEDGER_LEDGER_WORDS_H_
