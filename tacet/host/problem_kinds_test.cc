#include "tacet/host/problem_kinds.h"

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "fmt/core.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tacet::host {
namespace {

using ::testing::HasSubstr;

std::string TextOf(const std::string& path) {
  std::ifstream file(std::filesystem::path(TACET_SOURCE_DIR) / path);
  EXPECT_TRUE(file) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(ProblemKindsTest, ThePageListsThem) {
  const std::string page = TextOf("docs/formats/problems.md");
  std::string rows;
  for (const ProblemKind& kind : ProblemKinds()) {
    rows += fmt::format("| `{}` | {} | {} | {} | {} |\n", kind.name, kind.stops ? "yes" : "no",
                        kind.names_members ? "yes" : "no", kind.says, kind.remedy);
  }
  EXPECT_THAT(page, HasSubstr("|---|---|---|---|---|\n" + rows + "\n"));
}

TEST(ProblemKindsTest, EachHasItsAlert) {
  const std::string rules = TextOf("packaging/prometheus/tacet-server.rules.yml");
  const std::regex code(R"re(expr: tacet_problem\{code="([a-z-]+)"\} == 1\n)re");
  std::multiset<std::string> alerted;
  for (std::sregex_iterator match(rules.begin(), rules.end(), code), end; match != end; ++match) {
    alerted.insert((*match)[1]);
  }
  std::multiset<std::string> kinds;
  for (const ProblemKind& kind : ProblemKinds()) kinds.insert(std::string(kind.name));
  EXPECT_EQ(alerted, kinds);
}

// Prometheus can read the file: each rule is a comparison of one metric, and says who is told.
TEST(ProblemKindsTest, TheAlertsAreRules) {
  const std::string rules = TextOf("packaging/prometheus/tacet-server.rules.yml");
  const std::string selector = R"re([a-z_]+(?:\{[a-z]+=~?"[^"]+"(?:,[a-z]+=~?"[^"]+")*\})?)re";
  const std::string value = fmt::format("(?:{0}|increase\\({0}\\[[0-9]+[mh]\\]\\))", selector);
  const std::regex rule(
      fmt::format("      - alert: [A-Za-z]+\n        expr: {} (?:==|>=|>) [0-9]+(?: \\* [0-9]+)?\n"
                  "(?:        for: [0-9]+[mh]\n)?"
                  "        labels:\n          severity: (?:page|warning)\n"
                  "        annotations:\n          summary: \"[^\"\n]+\"\n",
                  value));
  const size_t first = rules.find("      - alert: ");
  ASSERT_NE(first, rules.npos);
  EXPECT_EQ(std::regex_replace(rules.substr(first), rule, ""), "");
  for (const std::string metric : {"tacet_attempt_age_seconds", "tacet_attempt_extensions",
                                   "increase(tacet_refused_handshakes_total"}) {
    EXPECT_THAT(rules, HasSubstr("expr: " + metric));
  }
}

// Every metric that the rules ask for exists.
TEST(ProblemKindsTest, TheAlertsAskForMetricsOfThePage) {
  const std::string rules = TextOf("packaging/prometheus/tacet-server.rules.yml");
  const std::string metrics = TextOf("docs/formats/metrics.md");
  const std::regex name("tacet_[a-z_]+");
  for (std::sregex_iterator match(rules.begin(), rules.end(), name), end; match != end; ++match) {
    EXPECT_THAT(metrics, HasSubstr("`" + match->str() + "`"));
  }
}

TEST(ProblemKindsTest, SayAFaultAndARemedy) {
  std::set<std::string_view> names;
  for (const ProblemKind& kind : ProblemKinds()) {
    EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
    EXPECT_FALSE(kind.says.empty() || kind.says.ends_with('.')) << kind.name;
    EXPECT_TRUE(kind.remedy.ends_with('.')) << kind.name;
  }
}

}  // namespace
}  // namespace tacet::host
