#include "tacet/accounting/guarantee_limits.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/accounting/guarantee_in_words.h"
#include "tacet/accounting/paper_for_test.h"

namespace tacet::accounting {
namespace {

using ::testing::Contains;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// The items of a Markdown list under a heading, without emphasis, code marks and line breaks.
std::vector<std::string> ItemsUnder(const std::filesystem::path& file, const std::string& heading) {
  std::ifstream in(file);
  EXPECT_TRUE(in.good()) << file;
  std::vector<std::string> items;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("## ")) inside = line == heading;
    if (!inside) continue;
    std::erase(line, '`');
    for (size_t at = line.find("**"); at != line.npos; at = line.find("**")) line.erase(at, 2);
    if (line.starts_with("- ")) {
      items.push_back(line.substr(2));
    } else if (line.starts_with("  ") && !items.empty()) {
      items.back() += line.substr(1);
    }
  }
  return items;
}

// One list, word for word and in one order.
TEST(GuaranteeLimitsTest, SecurityMdHasTheSameLimits) {
  const std::filesystem::path root = std::filesystem::path(__FILE__).parent_path() / ".." / "..";
  std::vector<std::string> texts;
  for (const GuaranteeLimit& limit : GuaranteeLimits()) texts.emplace_back(limit.text);
  EXPECT_THAT(ItemsUnder(root / "SECURITY.md", "## Limits"), ElementsAreArray(texts));
}

FederationPrivacySpec WithCommittee(uint64_t seats, uint64_t corrupt) {
  FederationPrivacySpec spec = PaperFederation();
  spec.committee_seats = seats;
  spec.corrupt_seats = corrupt;
  return spec;
}

TEST(GuaranteeLimitsTest, AFederationHasItsOwn) {
  const auto with_one_seat = StartsWith("Where f = 0");
  const auto with_key = HasSubstr("any holder of the epoch key decrypts single updates");
  const auto with_seats = StartsWith("The server together with f + 1 committee members");
  EXPECT_THAT(LimitsOf(WithCommittee(7, 2)), Contains(with_seats));
  EXPECT_THAT(LimitsOf(WithCommittee(7, 2)), Not(Contains(with_one_seat)));
  EXPECT_THAT(LimitsOf(WithCommittee(3, 0)), Contains(with_one_seat));
  EXPECT_THAT(LimitsOf(WithCommittee(3, 0)), Not(Contains(with_seats)));
  // Since there is a committee no single holder of a key decrypts an update.
  EXPECT_THAT(LimitsOf(WithCommittee(7, 2)), Not(Contains(with_key)));
  EXPECT_THAT(LimitsOf(WithCommittee(0, 0)), Contains(with_key));
  const auto zeros = StartsWith("Discrete Laplace noise in a single update");
  FederationPrivacySpec one_hot = WithCommittee(7, 2);
  EXPECT_THAT(LimitsOf(one_hot), Not(Contains(zeros)));
  one_hot.mechanism.noise_law = dp::NoiseLaw::kDiscreteLaplace;
  EXPECT_THAT(LimitsOf(one_hot), Contains(zeros));
  const auto cohorts = StartsWith("The committee sees who took part");
  FederationPrivacySpec hidden = WithCommittee(7, 2);
  EXPECT_THAT(LimitsOf(hidden), Contains(cohorts));
  hidden.sampling.method = Sampling::kPoisson;
  hidden.sampling.dummy_uploads = true;
  EXPECT_THAT(LimitsOf(hidden), Not(Contains(cohorts)));
}

// No two of them are the same, and the statement of a federation has its own.
TEST(GuaranteeLimitsTest, StatementsHaveThem) {
  std::vector<std::string> texts;
  for (const GuaranteeLimit& limit : GuaranteeLimits()) texts.emplace_back(limit.text);
  std::ranges::sort(texts);
  EXPECT_EQ(std::ranges::adjacent_find(texts), texts.end());
  const FederationPrivacySpec spec = WithCommittee(7, 2);
  const auto guarantees = GuaranteesOf(spec);
  ASSERT_TRUE(guarantees.ok()) << guarantees.status();
  const auto statement = StatePrivacy(spec, *guarantees);
  ASSERT_TRUE(statement.ok()) << statement.status();
  EXPECT_EQ(statement->limits, LimitsOf(spec));
  for (const std::string& limit : LimitsOf(spec)) {
    EXPECT_THAT(StatementText(*statement), HasSubstr("- " + limit + "\n"));
  }
}

}  // namespace
}  // namespace tacet::accounting
