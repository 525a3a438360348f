#include "apps/tacet/privacy_sweep.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <optional>

#include "fmt/format.h"

#include "tacet/accounting/calibration.h"
#include "tacet/base/status.h"

namespace tacet::app {

using accounting::Accountant;
using accounting::FederationPrivacySpec;
using accounting::PrivacyRow;
using accounting::Standing;
using accounting::View;

namespace {

constexpr size_t kMostPoints = 10'000;

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

std::vector<Line> LinesFor(const SweepRange& range) {
  const View view = range.quantity == "colluding" ? View::kColluders : View::kOutsider;
  const auto upper = [view](Accountant accountant) {
    return [view, accountant](const PrivacyRow& row) {
      return row.view == view && row.accountant == accountant ? row.epsilon : std::nullopt;
    };
  };
  std::vector<Line> lines = {{"moments", "#b5651d", upper(Accountant::kMoments)},
                             {"rdp", "#2b6cb0", upper(Accountant::kRdp)},
                             {"pld", "#2f855a", upper(Accountant::kPld)},
                             {"lower bound", "#999999", [view](const PrivacyRow& row) {
                                return row.view == view && row.accountant == Accountant::kPld
                                           ? row.epsilon_lower
                                           : std::nullopt;
                              }}};
  if (range.quantity == "colluding") {
    lines.push_back({"published convention", "#97266d", [](const PrivacyRow& row) {
                       return row.view == View::kPublishedParticipant ? row.epsilon : std::nullopt;
                     }});
  }
  return lines;
}

std::string AxisLabel(const SweepRange& range) {
  if (range.quantity == "noise") {
    return "standard deviation of the noise in the sum";
  }
  if (range.quantity == "cohort") {
    return "cohort, the noise of the average fixed";
  }
  return range.quantity == "rounds" ? "rounds" : "colluding clients";
}

// About five round values between 0 and `top`.
double TickStep(double top) {
  const double raw = top / 5;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw) {
      return factor * power;
    }
  }
  return 10 * power;
}

}  // namespace

absl::StatusOr<SweepRange> ParseSweep(std::string_view text) {
  const size_t equals = text.find('=');
  const size_t first = text.find(':');
  const size_t second = first == text.npos ? text.npos : text.find(':', first + 1);
  if (equals == text.npos || second == text.npos || first < equals) {
    return base::InvalidArgument("the sweep \"{}\" is not of the form noise=FROM:TO:STEP", text);
  }
  SweepRange range{.quantity = std::string(text.substr(0, equals))};
  constexpr std::array<std::string_view, 4> kQuantities = {"noise", "rounds", "cohort",
                                                           "colluding"};
  if (std::find(kQuantities.begin(), kQuantities.end(), range.quantity) == kQuantities.end()) {
    return base::InvalidArgument("cannot sweep \"{}\": expected noise, rounds, cohort or colluding",
                                 range.quantity);
  }
  TACET_ASSIGN_OR_RETURN(range.from, Number(text.substr(equals + 1, first - equals - 1)));
  TACET_ASSIGN_OR_RETURN(range.to, Number(text.substr(first + 1, second - first - 1)));
  TACET_ASSIGN_OR_RETURN(range.step, Number(text.substr(second + 1)));
  if (!(range.step > 0 && range.to >= range.from && range.from >= 0)) {
    return base::InvalidArgument(
        "the sweep \"{}\" does not go up from a value that is not negative", text);
  }
  if ((range.to - range.from) / range.step > static_cast<double>(kMostPoints)) {
    return base::InvalidArgument("the sweep \"{}\" has more than {} points", text, kMostPoints);
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
    if (range.quantity == "noise") {
      here.noise_stddev = point.value;
    } else if (range.quantity == "rounds") {
      here.rounds = whole;
    } else if (range.quantity == "cohort") {
      here = accounting::WithCohort(spec, whole, accounting::HeldFixed::kNoiseOfTheAverage);
    } else {
      here.colluders = whole;
    }
    TACET_ASSIGN_OR_RETURN(point.rows, accounting::PrivacyRows(here));
    points.push_back(std::move(point));
  }
  return points;
}

std::string SweepCsv(const SweepRange& range, const std::vector<SweepPoint>& points) {
  std::string out = "quantity,value,view,accountant,standing,releases,epsilon,epsilon_lower\n";
  const auto number = [](const std::optional<double>& value) {
    return value ? fmt::format("{}", *value) : std::string();
  };
  for (const SweepPoint& point : points) {
    for (const PrivacyRow& row : point.rows) {
      out += fmt::format("{},{},{},{},{},{},{},{}\n", range.quantity, point.value,
                         accounting::ViewName(row.view), accounting::AccountantName(row.accountant),
                         accounting::StandingName(row.standing), row.releases, number(row.epsilon),
                         number(row.epsilon_lower));
    }
  }
  return out;
}

std::string SweepSvg(const SweepRange& range, const std::vector<SweepPoint>& points) {
  constexpr double kLeft = 70;
  constexpr double kRight = 700;
  constexpr double kTop = 30;
  constexpr double kBottom = 380;
  const std::vector<Line> lines = LinesFor(range);
  struct Curve {
    std::vector<std::pair<double, double>> at;
  };
  std::vector<Curve> curves(lines.size());
  double top = 0;
  for (const SweepPoint& point : points) {
    for (size_t i = 0; i < lines.size(); ++i) {
      for (const PrivacyRow& row : point.rows) {
        if (const std::optional<double> value = lines[i].value(row)) {
          curves[i].at.emplace_back(point.value, *value);
          top = std::max(top, *value);
          break;
        }
      }
    }
  }
  top = top > 0 ? top * 1.05 : 1;
  const double width = range.to > range.from ? range.to - range.from : 1;
  const auto x = [&](double value) {
    return kLeft + (value - range.from) / width * (kRight - kLeft);
  };
  const auto y = [&](double value) { return kBottom - value / top * (kBottom - kTop); };

  std::string out =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 440\" width=\"720\" "
      "height=\"440\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"720\" height=\"440\" fill=\"white\"/>\n";
  const double y_step = TickStep(top);
  for (double tick = 0; tick <= top; tick += y_step) {
    out += fmt::format(
        "<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#ddd\"/>"
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{:g}</text>\n",
        kLeft, kRight, y(tick), y(tick), kLeft - 8, y(tick) + 4, tick);
  }
  const double x_step = TickStep(width);
  for (double tick = std::ceil(range.from / x_step) * x_step; tick <= range.to + 1e-9;
       tick += x_step) {
    out += fmt::format(
        "<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#888\"/>"
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{:g}</text>\n",
        x(tick), x(tick), kBottom, kBottom + 5, x(tick), kBottom + 20, tick);
  }
  out += fmt::format(
      "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2}\" y2=\"{2}\" stroke=\"#444\"/>"
      "<text x=\"{3}\" y=\"{4}\" text-anchor=\"middle\">{5}</text>"
      "<text x=\"20\" y=\"{6}\" text-anchor=\"middle\" transform=\"rotate(-90 20 {6})\">epsilon"
      "</text>\n",
      kLeft, kRight, kBottom, (kLeft + kRight) / 2, kBottom + 42, AxisLabel(range),
      (kTop + kBottom) / 2);
  double legend = kTop + 10;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (curves[i].at.empty()) {
      continue;
    }
    std::string path;
    for (const auto& [value, epsilon] : curves[i].at) {
      path += fmt::format("{}{:.2f},{:.2f}", path.empty() ? "" : " ", x(value), y(epsilon));
    }
    out += fmt::format(
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n"
        "<line x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\" stroke=\"{}\" stroke-width=\"2\"/>"
        "<text x=\"{}\" y=\"{}\">{}</text>\n",
        path, lines[i].colour, kRight - 170, kRight - 145, legend, legend, lines[i].colour,
        kRight - 138, legend + 4, lines[i].label);
    legend += 18;
  }
  out += "</svg>\n";
  return out;
}

}  // namespace tacet::app
