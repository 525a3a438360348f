// Guarantees along one varied quantity, as CSV and as a picture.
#ifndef TACET_APPS_TACET_PRIVACY_PRIVACY_SWEEP_H_
#define TACET_APPS_TACET_PRIVACY_PRIVACY_SWEEP_H_

#include <optional>
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
  // The worst observer that has a guarantee here; none where nobody has one.
  std::optional<accounting::Observer> worst = std::nullopt;
};

absl::StatusOr<std::vector<SweepPoint>> RunSweep(const accounting::FederationPrivacySpec& spec,
                                                 const SweepRange& range);

// Header and one line a value and row:
// quantity,value,observer,accountant,standing,releases,epsilon, epsilon_lower; absent numbers are
// empty.
std::string SweepCsv(const SweepRange& range, const std::vector<SweepPoint>& points);

// Bounds on a logarithmic axis over the quantity, 720 x 440 units. The observer is the worst that
// has a guarantee at the first value (with `colluders` the colluders, and the published
// convention). The picture names observer, setting and delta.
std::string SweepSvg(const accounting::FederationPrivacySpec& spec, const SweepRange& range,
                     const std::vector<SweepPoint>& points);

}  // namespace tacet::app::privacy

#endif  // TACET_APPS_TACET_PRIVACY_PRIVACY_SWEEP_H_
