// Guarantees along one varied quantity, as CSV.
#ifndef TACET_APPS_TACET_PRIVACY_PRIVACY_SWEEP_H_
#define TACET_APPS_TACET_PRIVACY_PRIVACY_SWEEP_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/accounting/privacy_rows.h"

namespace tacet::app::privacy {

// "noise-multiplier=1:10:0.5": from, to and step. Quantities: noise-multiplier, rounds, cohort (the
// noise of the average, sigma / K, stays) and colluders.
struct SweepRange {
  std::string quantity;
  double from = 0;
  double to = 0;
  double step = 0;
};

// InvalidArgument says what is wrong: the form, the quantity, the order, more than 10,000 points.
absl::StatusOr<SweepRange> ParseSweep(std::string_view text);

struct SweepPoint {
  double value = 0;
  std::vector<accounting::PrivacyRow> rows;
};

absl::StatusOr<std::vector<SweepPoint>> RunSweep(const accounting::FederationPrivacySpec& spec,
                                                 const SweepRange& range);

// Header and one line a value and row:
// quantity,value,observer,accountant,standing,releases,epsilon, epsilon_lower; absent numbers are
// empty.
std::string SweepCsv(const SweepRange& range, const std::vector<SweepPoint>& points);

}  // namespace tacet::app::privacy

#endif  // TACET_APPS_TACET_PRIVACY_PRIVACY_SWEEP_H_
