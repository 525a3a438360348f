#include "tacet/member/violation_advice.h"

#include <fstream>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tacet::member {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// The page has a row for each violation, whose last cell says whether the site stops.
TEST(ViolationAdviceTest, ThePageSaysOfEachViolationWhetherTheSiteStops) {
  std::ifstream page(TACET_SOURCE_DIR "/docs/formats/node-log.md");
  bool in_table = false;
  std::set<std::string> names;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("#")) in_table = line == "## Protocol violations";
    if (!in_table || !line.starts_with("| `") || line.starts_with("| `what`")) continue;
    const std::string name = line.substr(3, line.find('`', 3) - 3);
    names.insert(name);
    const std::string cell = line.substr(line.rfind('|', line.size() - 2));
    const std::string advice(ViolationAdvice(name));
    EXPECT_THAT(advice, StartsWith(cell == "| stop |" ? "Stop this site" : "The site may continue"))
        << name;
    EXPECT_THAT(cell, AnyOf("| stop |", "| continue |")) << name;
    EXPECT_THAT(advice, HasSubstr("Notify the coordinating member"));
  }
  EXPECT_GE(names.size(), 21u);
}

TEST(ViolationAdviceTest, AnUnknownViolationStopsTheSite) {
  EXPECT_THAT(std::string(ViolationAdvice("something-new")), HasSubstr("Stop this site"));
  EXPECT_THAT(std::string(ViolationAdvice("replaced-upload")), HasSubstr("with new keys"));
}

}  // namespace
}  // namespace tacet::member
