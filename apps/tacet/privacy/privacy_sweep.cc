#include "apps/tacet/privacy/privacy_sweep.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <optional>
#include <utility>

#include "fmt/format.h"

#include "tacet/accounting/calibration.h"
#include "tacet/base/status.h"
#include "tacet/report/plot.h"

namespace tacet::app::privacy {

using accounting::Accountant;
using accounting::FederationPrivacySpec;
using accounting::Observer;
using accounting::PrivacyRow;
using accounting::Standing;

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

// One line of the picture.
struct Line {
  std::string label;
  std::string colour;
  std::function<std::optional<double>(const PrivacyRow&)> value;  // none: not this row
};

// The observer of the picture.
Observer ObserverOf(const SweepRange& range, const std::vector<SweepPoint>& points) {
  if (range.quantity == "colluders") return Observer::kColluders;
  for (const SweepPoint& point : points) {
    if (point.worst.has_value()) return *point.worst;
  }
  return Observer::kExternal;
}

std::vector<Line> LinesFor(const SweepRange& range, Observer observer) {
  std::vector<Line> lines;
  for (const auto& [accountant, colour] : {std::pair(Accountant::kMoments, "#b5651d"),
                                           {Accountant::kRdp, "#2b6cb0"},
                                           {Accountant::kPld, "#2f855a"},
                                           {Accountant::kFixedSizeTight, "#6b46c1"}}) {
    lines.push_back({std::string(accounting::AccountantName(accountant)), colour,
                     [observer, accountant = accountant](const PrivacyRow& row) {
                       return row.observer == observer && row.accountant == accountant
                                  ? row.epsilon
                                  : std::nullopt;
                     }});
  }
  lines.push_back({"lower bound", "#999999", [observer](const PrivacyRow& row) {
                     return row.observer == observer ? row.epsilon_lower : std::nullopt;
                   }});
  if (range.quantity == "colluders") {
    lines.push_back({"published convention", "#97266d", [](const PrivacyRow& row) {
                       return row.observer == Observer::kPublishedParticipant ? row.epsilon
                                                                              : std::nullopt;
                     }});
  }
  return lines;
}

// The setting without the quantity that is swept.
std::string SettingText(const FederationPrivacySpec& spec, const SweepRange& range) {
  const accounting::SamplingParams sampling = accounting::Resolved(spec).sampling;
  std::string text =
      fmt::format("{} per {}", accounting::NeighbouringName(spec.privacy.neighbouring),
                  accounting::UnitName(spec.privacy.unit));
  const auto add = [&](std::string_view quantity, std::string value) {
    if (quantity != range.quantity) text += ", " + std::move(value);
  };
  if (spec.privacy.unit == accounting::Unit::kClient) {
    add("clients", fmt::format("{} clients", sampling.clients));
    add("cohort",
        fmt::format("cohort {} ({})", sampling.cohort, accounting::SamplingName(*sampling.method)));
  } else {
    add("clients", fmt::format("{} sites", sampling.clients));
    add("rate", fmt::format("rate {:.4g}", sampling.record_rate));
  }
  add("rounds", fmt::format("{} rounds", spec.rounds));
  add("clip", fmt::format("clip norm {:.4g}", spec.mechanism.clip_norm));
  add("noise-multiplier",
      range.quantity == "cohort"
          ? fmt::format("noise multiplier / cohort {:.4g}",
                        spec.mechanism.noise_stddev / spec.mechanism.clip_norm /
                            static_cast<double>(sampling.cohort))
          : fmt::format("noise multiplier {:.4g}",
                        spec.mechanism.noise_stddev / spec.mechanism.clip_norm));
  if (spec.privacy.colluders > 0) {
    add("colluders", fmt::format("{} colluders", spec.privacy.colluders));
  }
  return text + fmt::format(", delta {:g}", spec.privacy.delta);
}

std::string AxisLabel(const SweepRange& range) {
  if (range.quantity == "noise-multiplier") {
    return "noise multiplier: deviation of the noise in the sum over the clip norm";
  }
  if (range.quantity == "cohort") {
    return "cohort, the noise of the average fixed";
  }
  return range.quantity == "rounds" ? "rounds" : "colluders";
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
    if (guarantees.headline() != nullptr) point.worst = guarantees.headline()->observer;
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

std::string SweepSvg(const FederationPrivacySpec& spec, const SweepRange& range,
                     const std::vector<SweepPoint>& points) {
  const Observer observer = ObserverOf(range, points);
  report::Plot plot{
      .title = fmt::format("Epsilon against the observer {}", accounting::ObserverName(observer)),
      .subtitle = SettingText(spec, range),
      .x_label = AxisLabel(range),
      .x_from = range.from,
      .x_to = range.to,
      .left = {.label = "epsilon", .logarithmic = true},
      .right = std::nullopt,
      .curves = {}};
  for (const Line& line : LinesFor(range, observer)) {
    report::PlotCurve curve{.label = line.label, .colour = line.colour, .points = {}};
    for (const SweepPoint& point : points) {
      for (const PrivacyRow& row : point.rows) {
        if (const std::optional<double> value = line.value(row)) {
          curve.points.emplace_back(point.value, *value);
          curve.dashed |= row.standing == Standing::kConvention;
          break;
        }
      }
    }
    if (curve.dashed && !curve.label.ends_with("convention")) curve.label += " (convention)";
    plot.curves.push_back(std::move(curve));
  }
  return report::PlotSvg(plot);
}

}  // namespace tacet::app::privacy
