#include "apps/tacet/privacy/privacy_sweep.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <utility>

#include "fmt/format.h"

#include "tacet/accounting/calibration.h"
#include "tacet/base/status.h"

namespace tacet::app::privacy {

using accounting::FederationPrivacySpec;
using accounting::PrivacyRow;

namespace {

constexpr size_t kMaxPoints = 10'000;

absl::StatusOr<double> Number(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  if (copy.empty() || end != copy.c_str() + copy.size() || !std::isfinite(value)) {
    return base::InvalidArgument("\"{}\" in a sweep is not a number", text);
  }
  return value;
}

size_t PointCount(const SweepRange& range) {
  return static_cast<size_t>(std::floor((range.to - range.from) / range.step + 1e-9)) + 1;
}

}  // namespace

absl::StatusOr<SweepRange> ParseSweep(std::string_view text) {
  const size_t equals = text.find('=');
  const size_t first = text.find(':');
  const size_t second = first == text.npos ? text.npos : text.find(':', first + 1);
  if (equals == text.npos || second == text.npos || first < equals) {
    return base::InvalidArgument(
        "the sweep \"{}\" is not of the form noise-multiplier=FROM:TO:STEP", text);
  }
  SweepRange range{.quantity = std::string(text.substr(0, equals))};
  constexpr std::array<std::string_view, 4> kQuantities = {"noise-multiplier", "rounds", "cohort",
                                                           "colluders"};
  if (std::find(kQuantities.begin(), kQuantities.end(), range.quantity) == kQuantities.end()) {
    return base::InvalidArgument(
        "cannot sweep \"{}\": expected noise-multiplier, rounds, cohort or colluders",
        range.quantity);
  }
  TACET_ASSIGN_OR_RETURN(range.from, Number(text.substr(equals + 1, first - equals - 1)));
  TACET_ASSIGN_OR_RETURN(range.to, Number(text.substr(first + 1, second - first - 1)));
  TACET_ASSIGN_OR_RETURN(range.step, Number(text.substr(second + 1)));
  if (!(range.step > 0 && range.to >= range.from && range.from >= 0)) {
    return base::InvalidArgument(
        "the sweep \"{}\" does not go up from a value that is not negative", text);
  }
  if ((range.to - range.from) / range.step > static_cast<double>(kMaxPoints)) {
    return base::InvalidArgument("the sweep \"{}\" has more than {} points", text, kMaxPoints);
  }
  return range;
}

absl::StatusOr<std::vector<SweepPoint>> RunSweep(const FederationPrivacySpec& spec,
                                                 const SweepRange& range) {
  std::vector<SweepPoint> points;
  for (size_t i = 0; i < PointCount(range); ++i) {
    SweepPoint point{.value = range.from + static_cast<double>(i) * range.step, .rows = {}};
    FederationPrivacySpec here = spec;
    const auto whole = static_cast<uint64_t>(std::llround(point.value));
    if (range.quantity == "noise-multiplier") {
      here.mechanism.noise_stddev = point.value * spec.mechanism.clip_norm;
    } else if (range.quantity == "rounds") {
      here.rounds = whole;
    } else if (range.quantity == "cohort") {
      here = accounting::WithCohort(spec, whole, accounting::HeldFixed::kNoiseOfTheAverage);
    } else {
      here.privacy.colluders = whole;
    }
    TACET_ASSIGN_OR_RETURN(accounting::Guarantees guarantees, accounting::GuaranteesOf(here));
    point.rows = std::move(guarantees.rows);
    points.push_back(std::move(point));
  }
  return points;
}

std::string SweepCsv(const SweepRange& range, const std::vector<SweepPoint>& points) {
  std::string out = "quantity,value,observer,accountant,standing,releases,epsilon,epsilon_lower\n";
  const auto number = [](const std::optional<double>& value) {
    return value ? fmt::format("{}", *value) : std::string();
  };
  for (const SweepPoint& point : points) {
    for (const PrivacyRow& row : point.rows) {
      out += fmt::format("{},{},{},{},{},{},{},{}\n", range.quantity, point.value,
                         accounting::ObserverName(row.observer),
                         accounting::AccountantName(row.accountant),
                         accounting::StandingName(row.standing), row.releases, number(row.epsilon),
                         number(row.epsilon_lower));
    }
  }
  return out;
}

}  // namespace tacet::app::privacy
