// Picture of curves over one quantity.
#ifndef TACET_REPORT_PLOT_H_
#define TACET_REPORT_PLOT_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tacet::report {

struct PlotCurve {
  std::string label;
  std::string colour;  // of SVG
  std::vector<std::pair<double, double>> points;
  bool right = false;    // belongs to the axis on the right
  bool dashed = false;   // e.g. what others published
  bool markers = false;  // a dot at each point
};

// A vertical axis from `from` to `to`; where `to` is absent, to 1.05 of the largest value. A
// logarithmic axis spans the positive finite values of its curves, to the next 1, 2 or 5 times a
// power of ten; other values have no point.
struct PlotAxis {
  std::string label;
  double from = 0;
  std::optional<double> to = std::nullopt;
  bool logarithmic = false;
};

struct Plot {
  std::string title = {};     // above the curves; empty: none
  std::string subtitle = {};  // below the title: what the curves hold for
  std::string x_label;
  double x_from = 0;
  double x_to = 1;  // a range of width 0 counts as 1 wide
  PlotAxis left;
  std::optional<PlotAxis> right;
  std::vector<PlotCurve> curves;  // those without points are left out
  bool legend_at_bottom = false;  // on the right, there or at the top
};

// 720 x 440 units; ends with a line feed. Labels may hold any text.
std::string PlotSvg(const Plot& plot);

}  // namespace tacet::report

#endif  // TACET_REPORT_PLOT_H_
