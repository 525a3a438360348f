#include "apps/tacet/plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tacet::app {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(PlotTest, DrawsEachCurveOnItsAxis) {
  const std::string svg = PlotSvg(
      {.x_label = "noise",
       .x_from = 2,
       .x_to = 10,
       .left = {.label = "accuracy", .from = 0, .to = 100},
       .right = PlotAxis{.label = "epsilon", .from = 0, .to = 20},
       .curves = {
           {.label = "a < b", .colour = "#111111", .points = {{2, 0}, {10, 100}}, .dashed = true},
           {.label = "cost",
            .colour = "#222222",
            .points = {{2, 20}, {10, 10}},
            .right = true,
            .markers = true},
           {.label = "nothing", .colour = "red", .points = {}}}});
  // From the lower left to the upper right corner, and from the upper left to half the height.
  EXPECT_THAT(svg, HasSubstr("points=\"70.00,380.00 650.00,30.00\""));
  EXPECT_THAT(svg, HasSubstr("points=\"70.00,30.00 650.00,205.00\""));
  EXPECT_THAT(svg, HasSubstr("stroke-dasharray"));
  EXPECT_THAT(svg, HasSubstr("<circle cx=\"650.00\" cy=\"205.00\""));
  EXPECT_THAT(svg, HasSubstr("a &lt; b"));
  EXPECT_THAT(svg, Not(HasSubstr("nothing")));
}

TEST(PlotTest, AnAxisWithoutEndReachesBeyondTheLargestValue) {
  const std::string svg =
      PlotSvg({.x_label = "x",
               .x_from = 5,
               .x_to = 5,
               .left = {.label = "y", .from = 0, .to = std::nullopt},
               .right = std::nullopt,
               .curves = {{.label = "c", .colour = "red", .points = {{5, 40}}}}});
  EXPECT_THAT(svg, HasSubstr("70.00,46.67"));  // 380 - 350 / 1.05
}

}  // namespace
}  // namespace tacet::app
