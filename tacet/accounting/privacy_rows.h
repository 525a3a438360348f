// Guarantees of a federation: a row for each observer with each accountant that gives a bound for
// it, and the headline.
#ifndef TACET_ACCOUNTING_PRIVACY_ROWS_H_
#define TACET_ACCOUNTING_PRIVACY_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/accounting/epsilon_bounds.h"
#include "tacet/accounting/observers.h"
#include "tacet/accounting/privacy_event.h"
#include "tacet/accounting/terms_changes.h"
#include "tacet/dp/mechanism_plan.h"
#include "tacet/dp/noise_law.h"

namespace tacet::accounting {

// The largest epsilon that finite arithmetic is held to. Noise that ends and rounding cost
// e^epsilon in delta (dp/precision.h), so no sampler carries every epsilon; a bound of e^32 = 8e13
// on what an attacker learns protects nobody. Rows beyond it say in their note that they hold for
// exact arithmetic only.
inline constexpr double kLargestCarriedEpsilon = 32;

struct PrivacyRow {
  Accountant accountant = Accountant::kMoments;
  Observer observer = Observer::kExternal;
  Unit unit = Unit::kClient;
  Neighbouring neighbouring = Neighbouring::kReplaceOne;
  Sampling sampling = Sampling::kFixedSize;
  Standing standing = Standing::kGuarantee;
  bool hypothetical = false;           // ObservedRounds::hypothetical
  std::optional<double> epsilon = {};  // absent exactly when standing is kNone
  // The true epsilon of this observer is at least this, if known.
  std::optional<double> epsilon_lower = {};
  double order = 0;  // of the minimum, for accountants that have orders; else 0
  double delta = 0;
  dp::NoiseLaw noise_law = dp::NoiseLaw::kGaussian;
  double noise_stddev = 0;   // what this observer does not know of the noise; a mixture's mean
  double sampling_rate = 0;  // likewise
  uint64_t releases = 0;
  // Additions of finite arithmetic, where a mechanism's plan is known; absent in rows without a
  // guarantee.
  std::optional<dp::ImplementationTerms> implementation = {};
  std::string note = {};  // what the figure assumes, or why there is none
};

// Rows of one observer by the given accountants, in their order; none for an accountant that does
// not apply, or that BoundEpsilon leaves out because of `enough`. An observer without a guarantee
// has one row, which says why; a convention is the moments accountant's. Where an accountant has no
// finite bound its row has standing kNone and a reason. Where terms changed, these bounds are of
// the worst round in place of all; a last row has the rounds of each of the terms by the judges of
// a privacy filter with the federation's budget, the way in which ledgers add up such charges.
absl::StatusOr<std::vector<PrivacyRow>> RowsOfObserver(
    const ObservedRounds& observed, const FederationPrivacySpec& federation,
    std::span<const Accountant> accountants = kAccountants, double enough = -1);

enum class Extent {
  kAllRows,   // observers in the order of ObserveFederation, accountants in that of kAccountants
  kHeadline,  // only rows from which the headline is chosen: far cheaper
};

struct Guarantees {
  std::vector<PrivacyRow> rows = {};
  std::optional<size_t> worst = {};    // place of the headline in `rows`
  ObservedRounds worst_observed = {};  // that it is about

  // The figure that counts, for console, summary, report, audit and ledger: the smallest valid
  // bound of the worst guaranteed observer. Its epsilon is absent when some observer that should
  // have a guarantee has no finite bound. Null where nothing is guaranteed.
  const PrivacyRow* headline() const;
  // Epsilon of the headline; infinity without one.
  double epsilon() const;
  // With all rows: the smallest guaranteed epsilon of an observer over its most releases. Null when
  // the observer has no guarantee.
  const PrivacyRow* HeadlineOf(Observer observer) const;
};

// For every attempt that `federation` counts. With a plan, the rows have the implementation terms
// under it; the plan knows all that they depend on: dimension, sampler, noise shares, bounds, and
// every attempt that may be charged. Nothing is guaranteed without noise or without clipping.
// Errors of CheckFederation.
absl::StatusOr<Guarantees> GuaranteesOf(const FederationPrivacySpec& federation,
                                        Extent extent = Extent::kAllRows,
                                        const dp::MechanismPlan* plan = nullptr);
// The same of a training whose terms changed, with the plan of each of the terms: their
// implementation terms are added. Errors of ObserveTraining.
absl::StatusOr<Guarantees> GuaranteesOfTraining(TermsInTurn terms, Extent extent,
                                                std::span<const dp::MechanismPlan* const> plans);

// Adds a row by Accountant::kBudget for each observer whose guaranteed bounds are all above
// `budget_epsilon` > 0, and chooses the headline again. Every member stops where one more attempt
// would exceed the budget, each attempt charged as WorstRound: so the budget bounds the epsilon of
// every observer that has a guarantee. Hypothetical observers, and `worst_observed`, stay as they
// are.
void StopAtBudget(double budget_epsilon, Guarantees& guarantees);

// One event that reveals at least as much as a round does to any observer that has a guarantee,
// however many rounds there are: which observer is the worst depends on their number. Nothing when
// there is no such observer. Errors of CheckFederation.
absl::StatusOr<std::optional<SamplingEvent>> WorstRound(const FederationPrivacySpec& federation);

// Epsilon by which the mechanism plan multiplies its implementation terms: the largest headline up
// to kLargestCarriedEpsilon over all observers; the smallest when all are beyond it.
// FailedPrecondition when no observer has a guarantee.
absl::StatusOr<double> LargestCarriedEpsilon(const FederationPrivacySpec& federation);

}  // namespace tacet::accounting

#endif  // TACET_ACCOUNTING_PRIVACY_ROWS_H_
