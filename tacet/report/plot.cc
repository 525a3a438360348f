#include "tacet/report/plot.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "fmt/format.h"

namespace tacet::report {
namespace {

constexpr double kLeft = 70;
constexpr double kTop = 30;
constexpr double kTopBelowTitle = 62;
constexpr double kBottom = 380;

// Of about five round values over a range of this width.
double TickStep(double width) {
  const double raw = width / 5;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw) return factor * power;
  }
  return 10 * power;
}

// The round values between the two, both included.
std::vector<double> Ticks(double from, double to) {
  const double step = TickStep(to - from);
  const auto last = static_cast<int64_t>(std::floor(to / step + 1e-9));
  std::vector<double> ticks;
  for (auto i = static_cast<int64_t>(std::ceil(from / step - 1e-9)); i <= last; ++i) {
    ticks.push_back(static_cast<double>(i) * step);
  }
  return ticks;
}

std::string Escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

// The value 1, 2 or 5 times a power of ten at or below (above) a positive one.
double RoundLogarithmic(double value, bool up) {
  const double power = std::pow(10, std::floor(std::log10(value) + 1e-9));
  double below = power;
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    const double candidate = factor * power;
    if (candidate >= value * (1 - 1e-9))
      return up || candidate <= value * (1 + 1e-9) ? candidate : below;
    below = candidate;
  }
  return below;
}

// Powers of ten between the two; 2 and 5 times them as well where there are few.
std::vector<double> LogarithmicTicks(double from, double to) {
  const bool few = to / from < 2000;
  std::vector<double> ticks;
  const double last = std::floor(std::log10(to) + 1e-9);
  for (double power = std::floor(std::log10(from) + 1e-9); power <= last; ++power) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double tick = factor * std::pow(10, power);
      if (tick < from * (1 - 1e-9) || tick > to * (1 + 1e-9) || (!few && factor > 1)) continue;
      ticks.push_back(tick);
    }
  }
  return ticks;
}

struct Scale {
  double from = 0;
  double to = 1;
  bool logarithmic = false;

  bool Shows(double value) const { return !logarithmic || (value > 0 && std::isfinite(value)); }
  // 0 at the lower end, 1 at the upper.
  double Share(double value) const {
    return logarithmic ? std::log(value / from) / std::log(to / from)
                       : (value - from) / (to - from);
  }
  std::vector<double> TicksOf() const {
    return logarithmic ? LogarithmicTicks(from, to) : Ticks(from, to);
  }
};

Scale LogarithmicScale(const std::vector<PlotCurve>& curves, bool right) {
  double least = HUGE_VAL, most = 0;
  for (const PlotCurve& curve : curves) {
    if (curve.right != right) continue;
    for (const auto& [x, y] : curve.points) {
      if (!(y > 0) || !std::isfinite(y)) continue;
      least = std::min(least, y);
      most = std::max(most, y);
    }
  }
  if (most == 0) return {.from = 1, .to = 10, .logarithmic = true};
  const double from = RoundLogarithmic(least, false), to = RoundLogarithmic(most, true);
  return {.from = from, .to = to > from * (1 + 1e-9) ? to : 10 * from, .logarithmic = true};
}

Scale ScaleOf(const PlotAxis& axis, const std::vector<PlotCurve>& curves, bool right) {
  if (axis.logarithmic) return LogarithmicScale(curves, right);
  double top = axis.from;
  for (const PlotCurve& curve : curves) {
    if (curve.right != right) continue;
    for (const auto& [x, y] : curve.points) top = std::max(top, y);
  }
  const double to =
      axis.to.value_or(top > axis.from ? axis.from + (top - axis.from) * 1.05 : axis.from + 1);
  return {.from = axis.from, .to = to > axis.from ? to : axis.from + 1};
}

}  // namespace

std::string PlotSvg(const Plot& plot) {
  const double top = plot.title.empty() && plot.subtitle.empty() ? kTop : kTopBelowTitle;
  const double right_edge = plot.right.has_value() ? 650 : 700;
  const Scale left = ScaleOf(plot.left, plot.curves, false);
  const Scale right = plot.right ? ScaleOf(*plot.right, plot.curves, true) : Scale{};
  const double width = plot.x_to > plot.x_from ? plot.x_to - plot.x_from : 1;
  const auto x = [&](double value) {
    return kLeft + (value - plot.x_from) / width * (right_edge - kLeft);
  };
  const auto y = [&](double value, const Scale& scale) {
    return kBottom - scale.Share(value) * (kBottom - top);
  };

  std::string out =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 440\" width=\"720\" "
      "height=\"440\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"720\" height=\"440\" fill=\"white\"/>\n";
  if (!plot.title.empty()) {
    out += fmt::format("<text x=\"{}\" y=\"24\" font-size=\"15\" font-weight=\"bold\">{}</text>\n",
                       kLeft, Escaped(plot.title));
  }
  if (!plot.subtitle.empty()) {
    out += fmt::format("<text x=\"{}\" y=\"44\" font-size=\"11\" fill=\"#444\">{}</text>\n", kLeft,
                       Escaped(plot.subtitle));
  }
  for (const double tick : left.TicksOf()) {
    out += fmt::format(
        "<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#ddd\"/>"
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{:g}</text>\n",
        kLeft, right_edge, y(tick, left), y(tick, left), kLeft - 8, y(tick, left) + 4, tick);
  }
  if (plot.right.has_value()) {
    for (const double tick : right.TicksOf()) {
      out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{:g}</text>\n", right_edge + 8,
                         y(tick, right) + 4, tick);
    }
  }
  for (const double tick : Ticks(plot.x_from, plot.x_from + width)) {
    out += fmt::format(
        "<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#888\"/>"
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{:g}</text>\n",
        x(tick), x(tick), kBottom, kBottom + 5, x(tick), kBottom + 20, tick);
  }
  out += fmt::format(
      "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2}\" y2=\"{2}\" stroke=\"#444\"/>"
      "<text x=\"{3}\" y=\"{4}\" text-anchor=\"middle\">{5}</text>"
      "<text x=\"20\" y=\"{6}\" text-anchor=\"middle\" transform=\"rotate(-90 20 {6})\">{7}"
      "</text>\n",
      kLeft, right_edge, kBottom, (kLeft + right_edge) / 2, kBottom + 42, Escaped(plot.x_label),
      (top + kBottom) / 2, Escaped(plot.left.label));
  if (plot.right.has_value()) {
    out += fmt::format(
        "<text x=\"704\" y=\"{0}\" text-anchor=\"middle\" transform=\"rotate(90 704 {0})\">{1}"
        "</text>\n",
        (top + kBottom) / 2, Escaped(plot.right->label));
  }
  const auto shown = std::ranges::count_if(
      plot.curves, [](const PlotCurve& curve) { return !curve.points.empty(); });
  double legend = plot.legend_at_bottom ? kBottom - 18 * static_cast<double>(shown) : top + 10;
  for (const PlotCurve& curve : plot.curves) {
    if (curve.points.empty()) continue;
    const Scale& scale = curve.right ? right : left;
    const std::string dashes = curve.dashed ? " stroke-dasharray=\"5 4\"" : "";
    std::string path;
    for (const auto& [at, value] : curve.points) {
      if (!scale.Shows(value)) continue;
      path += fmt::format("{}{:.2f},{:.2f}", path.empty() ? "" : " ", x(at), y(value, scale));
    }
    out +=
        fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"{}/>\n",
                    path, curve.colour, dashes);
    if (curve.markers) {
      for (const auto& [at, value] : curve.points) {
        if (!scale.Shows(value)) continue;
        out += fmt::format("<circle cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"3.5\" fill=\"{}\"/>\n", x(at),
                           y(value, scale), curve.colour);
      }
    }
    out += fmt::format(
        "<line x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\" stroke=\"{}\" stroke-width=\"2\"{}/>"
        "<text x=\"{}\" y=\"{}\">{}</text>\n",
        right_edge - 170, right_edge - 145, legend, legend, curve.colour, dashes, right_edge - 138,
        legend + 4, Escaped(curve.label));
    legend += 18;
  }
  out += "</svg>\n";
  return out;
}

}  // namespace tacet::report
