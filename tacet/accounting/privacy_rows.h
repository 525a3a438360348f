// Table of guarantees: each observer with each accountant that gives a valid bound for it.
#ifndef TACET_ACCOUNTING_PRIVACY_ROWS_H_
#define TACET_ACCOUNTING_PRIVACY_ROWS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/accounting/observers.h"
#include "tacet/accounting/privacy_event.h"

namespace tacet::accounting {

// The largest epsilon that finite arithmetic is held to. Noise that ends and rounding cost
// e^epsilon in delta (dp/precision.h), so no sampler carries every epsilon; a bound of e^32 = 8e13
// on what an attacker learns protects nobody. Rows beyond it say in their note that they hold for
// exact arithmetic only.
inline constexpr double kLargestCarriedEpsilon = 32;

// kMoments is the paper's. For fixed-size sampling its moments are those of one pair of data sets
// that is not proved to be the worst: its rows are then a convention, for comparison.
enum class Accountant { kMoments, kRdp, kPld, kFixedSizeTight };
inline constexpr Accountant kAccountants[] = {Accountant::kMoments, Accountant::kRdp,
                                              Accountant::kPld, Accountant::kFixedSizeTight};
std::string_view AccountantName(Accountant accountant);

struct PrivacyRow {
  Accountant accountant = Accountant::kMoments;
  Observer observer = Observer::kExternal;
  Unit unit = Unit::kClient;
  Neighbouring neighbouring = Neighbouring::kReplaceOne;
  Sampling sampling = Sampling::kFixedSize;
  Standing standing = Standing::kGuarantee;
  bool hypothetical = false;           // ObservedRounds::hypothetical
  std::optional<double> epsilon = {};  // absent exactly when standing is kNone
  std::optional<double> epsilon_lower =
      {};            // the true epsilon of this view is at least this, if known
  double order = 0;  // of the minimum, for accountants that have orders; else 0
  double delta = 0;
  double noise_stddev = 0;   // what this view does not know of the noise; a mixture's mean
  double sampling_rate = 0;  // likewise
  uint64_t releases = 0;
  std::string note = {};  // what the figure assumes, or why there is none
};

// All rows of a federation, view by view in the order of ObserveFederation, accountants in the
// order of the enumeration (the published convention by moments only; fixed-size-tight where it has
// an answer). Where an accountant has no finite bound its row has standing kNone and a reason.
absl::StatusOr<std::vector<PrivacyRow>> PrivacyRows(const FederationPrivacySpec& spec);

// One view by one accountant; no row where the accountant does not apply.
absl::StatusOr<std::optional<PrivacyRow>> PrivacyRowOf(const ObservedRounds& observer,
                                                       const FederationPrivacySpec& spec,
                                                       Accountant accountant);

// The smallest guaranteed epsilon of a view: the minimum over valid bounds is valid, and no
// accountant is always the smallest. Null when the view has no guarantee.
const PrivacyRow* Headline(const std::vector<PrivacyRow>& rows, Observer observer);

// The figure that counts: the headline of the worst guaranteed view. Its epsilon is absent when
// some view that should have a guarantee has no finite bound; null when no view is guaranteed.
const PrivacyRow* WorstHeadline(const std::vector<PrivacyRow>& rows);

// The same without computing every row.
absl::StatusOr<PrivacyRow> WorstRow(const FederationPrivacySpec& spec);

// The view of that row.
absl::StatusOr<ObservedRounds> WorstObserver(const FederationPrivacySpec& spec);

// Epsilon by which the mechanism plan multiplies its implementation terms: the largest headline up
// to kLargestCarriedEpsilon over all views; the smallest when all are beyond it. FailedPrecondition
// when no view has a guarantee.
absl::StatusOr<double> LargestCarriedEpsilon(const FederationPrivacySpec& spec);

}  // namespace tacet::accounting

#endif  // TACET_ACCOUNTING_PRIVACY_ROWS_H_
