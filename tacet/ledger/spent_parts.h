// Spending of a population in its officer's terms: how much of a year's budget is left and until
// when, and the part of each training and query.
#ifndef TACET_LEDGER_SPENT_PARTS_H_
#define TACET_LEDGER_SPENT_PARTS_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/accounting/privacy_filter.h"
#include "tacet/crypto/hash.h"
#include "tacet/ledger/ledger_budgets.h"
#include "tacet/ledger/ledger_format.h"

namespace tacet::ledger {

// Names of one federation, which a ledger does not hold.
struct FederationNames {
  std::string name;
  // Its trainings' names, by the epoch with which each began: "training of logistic", "query".
  std::map<uint32_t, std::string> trainings = {};
};
using Names = std::map<crypto::Digest, FederationNames>;  // by Manifest::federation()

// The charges of one training or query.
struct SpentPart {
  crypto::Digest federation{};
  uint32_t training = 0;  // the epoch with which it began, as far as `names` says
  std::string what = {};  // "hospitals, training of logistic"
  uint64_t charges = 0;
  double epsilon = 0;            // of these charges alone: parts do not add up to the whole
  uint64_t first = 0, last = 0;  // Unix seconds
};

// In the order of their first charges. A federation without a name has 16 digits of its digest and
// is one part. Epsilon is by the bound that refuses charges under `terms`, and without a budget a
// forecast.
absl::StatusOr<std::vector<SpentPart>> PartsOf(std::span<const LedgerEntry> entries,
                                               const Names& names,
                                               const accounting::SpendingTerms& terms);

// A year that ends at a time.
struct YearSpent {
  double budget = 0;
  double spent = 0;    // by the bound that refuses charges
  uint64_t until = 0;  // Unix seconds at which its first charge leaves the year; 0: none is in it

  double left() const { return budget > spent ? budget - spent : 0; }
};

// By the rule with which LedgerBudgets refuses.
absl::StatusOr<YearSpent> SpentInYear(std::span<const LedgerEntry> entries,
                                      const YearlyBudget& year, accounting::Composition composition,
                                      uint64_t now);

}  // namespace tacet::ledger

#endif  // TACET_LEDGER_SPENT_PARTS_H_
