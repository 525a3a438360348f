#include "tacet/report/plot.h"

#include <cmath>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tacet::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(PlotTest, DrawsEachCurveOnItsAxis) {
  Plot plot;
  plot.x_label = "noise";
  plot.x_from = 2;
  plot.x_to = 10;
  plot.left.to = 100;
  plot.right.emplace().to = 20;
  plot.curves.resize(3);
  plot.curves[0].label = "a < b";
  plot.curves[0].points = {{2, 0}, {10, 100}};
  plot.curves[0].dashed = true;
  plot.curves[1].points = {{2, 20}, {10, 10}};
  plot.curves[1].right = true;
  plot.curves[1].markers = true;
  plot.curves[2].label = "nothing";
  const std::string svg = PlotSvg(plot);
  // From the lower left to the upper right corner, and from the upper left to half the height.
  EXPECT_THAT(svg, HasSubstr("points=\"70.00,380.00 650.00,30.00\""));
  EXPECT_THAT(svg, HasSubstr("points=\"70.00,30.00 650.00,205.00\""));
  EXPECT_THAT(svg, HasSubstr("stroke-dasharray"));
  EXPECT_THAT(svg, HasSubstr("<circle cx=\"650.00\" cy=\"205.00\""));
  EXPECT_THAT(svg, HasSubstr("a &lt; b"));
  EXPECT_THAT(svg, Not(HasSubstr("nothing")));
}

TEST(PlotTest, AxesBeginAtZeroAndEndAtTheirLastValue) {
  Plot plot;
  plot.x_from = -1;
  plot.left.to = 0.3;  // three tenths of 0.1 each are more than 0.3
  const std::string svg = PlotSvg(plot);
  EXPECT_THAT(svg, HasSubstr("text-anchor=\"end\">0</text>"));
  EXPECT_THAT(svg, HasSubstr("text-anchor=\"end\">0.3</text>"));
  EXPECT_THAT(svg, HasSubstr("text-anchor=\"middle\">-0.5</text>"));
  EXPECT_THAT(svg, Not(HasSubstr(">-0</text>")));
}

TEST(PlotTest, AnAxisWithoutEndReachesBeyondTheLargestValue) {
  Plot plot;
  plot.x_from = plot.x_to = 5;
  plot.curves.resize(1);
  plot.curves[0].points = {{5, 40}};
  EXPECT_THAT(PlotSvg(plot), HasSubstr("70.00,46.67"));  // 380 - 350 / 1.05
}

TEST(PlotTest, ALogarithmicAxisSpansItsValuesAndLeavesOutOthers) {
  Plot plot;
  plot.x_to = 4;
  plot.left.logarithmic = true;
  plot.curves.resize(1);
  plot.curves[0].markers = true;
  plot.curves[0].points = {{0, 1}, {1, 10}, {2, 100}, {3, 0}, {4, HUGE_VAL}};
  const std::string svg = PlotSvg(plot);
  EXPECT_THAT(svg, HasSubstr("points=\"70.00,380.00 227.50,205.00 385.00,30.00\""));
  for (const char* tick : {">1<", ">2<", ">5<", ">10<", ">20<", ">50<", ">100<"}) {
    EXPECT_THAT(svg, HasSubstr(std::string("text-anchor=\"end\"") + tick));
  }
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));

  // Many decades have their powers of ten alone, one value a range around it, none a range at all.
  plot.curves[0].points = {{0, 1e-3}, {1, 1e9}};
  EXPECT_THAT(PlotSvg(plot), Not(HasSubstr("text-anchor=\"end\">2<")));
  plot.curves[0].points = {{0, 3}};
  EXPECT_THAT(PlotSvg(plot), HasSubstr("text-anchor=\"end\">2<"));
  plot.curves[0].points = {{0, 2}};
  EXPECT_THAT(PlotSvg(plot), HasSubstr("70.00,380.00"));
  plot.curves[0].points = {{0, 0}};
  EXPECT_THAT(PlotSvg(plot), Not(HasSubstr("nan")));
}

TEST(PlotTest, ATitleStandsAboveTheCurves) {
  Plot plot;
  plot.title = "epsilon <";
  plot.subtitle = "delta 1e-05";
  plot.left.to = 1;
  plot.curves.resize(1);
  plot.curves[0].points = {{0, 1}};
  const std::string svg = PlotSvg(plot);
  EXPECT_THAT(svg, HasSubstr("font-weight=\"bold\">epsilon &lt;</text>"));
  EXPECT_THAT(svg, HasSubstr(">delta 1e-05</text>"));
  EXPECT_THAT(svg, HasSubstr("points=\"70.00,62.00\""));
}

}  // namespace
}  // namespace tacet::report
