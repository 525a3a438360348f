#include "apps/tacet/data/query_check.h"

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "fmt/format.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/temporary_folder_for_test.h"

namespace tacet::app::data {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::string_view kQuestions = R"(
[[question]]
name = "age"
kind = "mean"
column = "age"
low = 0
high = 120
[[question]]
name = "sexes"
kind = "histogram"
column = "sex"
categories = ["f", "m"]
[[question]]
name = "old in Bonn"
kind = "count"
where = ["age >= 70"]
sites = ["bonn"]
)";

class QueryCheckTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, std::string_view text) {
    std::ofstream(folder_.path() / name, std::ios::binary) << text;
  }
  DataCheck Check(const std::string& more = "", const std::string& privacy = "") {
    const auto query = config::ParseQuery(
        fmt::format("floor = 2\n{}[privacy]\ntarget_epsilon = 1\n{}{}", more, privacy, kQuestions),
        "query.toml");
    EXPECT_TRUE(query.ok()) << query.status();
    spec_.query = *query;
    spec_.data = folder_.path();
    return CheckQueryTables(spec_);
  }
  std::vector<std::string> Problems(const DataCheck& check) const {
    std::vector<std::string> texts;
    for (const table::ProblemGroup& group : check.problems.Groups()) {
      const table::TableProblem problem = group.Told();
      texts.push_back(ProblemText(problem).substr(folder_.path().string().size() + 1));
    }
    return texts;
  }

  base::TemporaryFolder folder_;
  QueryCheckSpec spec_;
};

TEST_F(QueryCheckTest, ListsAllProblemsOfAllFilesAtOnce) {
  Write("a.csv", "age,sex\n50,f\n63 %,m\n2024-05-01,f\n60\n70,\"m\"s\n1e308,f\n");
  Write("b.csv", "Age;sex\n50;f\n");
  Write("c.csv", "PAR1\x15\x04\x15");
  Write("d.csv", "age;sex\n50,5;f\n");
  const DataCheck check = Check();
  EXPECT_THAT(
      Problems(check),
      ElementsAre(
          AllOf(HasSubstr(
                    "a.csv:3: column 0 (\"age\"): 2 values are no finite numbers: \"63 %\" (1), "
                    "\"2024-05-01\" (1); write the number alone"),
                HasSubstr("; that is a date: ")),
          HasSubstr("a.csv:5: 1 columns, expected 2"),
          HasSubstr("a.csv:6: column 1 (\"sex\"): text after a quoted field"),
          HasSubstr("a.csv:7: column 0 (\"age\"): \"1e308\" is beyond 3.4e38"),
          HasSubstr("b.csv:1: there is no column \"age\", which the query reads; column "
                    "\"Age\" may be meant"),
          HasSubstr("c.csv: the file is a Parquet file"),
          HasSubstr("d.csv:2: column 0 (\"age\"): \"50,5\" is not a finite number; if")));
  EXPECT_EQ(check.problems.count(), 8u);
  EXPECT_EQ(check.rows, 7u);  // of a.csv and d.csv; the first alone can be read whole
  EXPECT_EQ(check.questions[0].rows, 1u);
  EXPECT_THAT(DataCheckText(check),
              HasSubstr("problems    8 in 4 of 4 files\nrows        7, of 2 sites"));
  const base::JsonValue json = DataCheckJson(check);
  EXPECT_EQ(*json.Find("problems")->items()[0].Find("line")->AsUint(), 3u);
  EXPECT_EQ(*json.Find("problems")->items()[0].Find("column_name")->AsString(), "age");
}

TEST_F(QueryCheckTest, CountsTheRowsOfEachQuestionAndWarnsOfSmallCounts) {
  Write("bonn.csv", "age,sex\n50,f\n71,m\n,f\n80,w\n");
  Write("celle.csv", "age,sex\n90,f\n");
  const DataCheck check = Check();
  EXPECT_TRUE(check.problems.empty());
  EXPECT_THAT(DataCheckText(check),
              HasSubstr("problems    none in 2 files\n"
                        "rows        5, of 2 sites\n"
                        "questions   age (mean): 4 rows, 1 left out\n"
                        "            sexes (histogram): 4 rows, 1 left out\n"
                        "            old in Bonn (count): 2 rows, 1 left out\n"
                        "conditions  age >= 70: 2 of 4 rows, 1 cannot be "
                        "read\n"));
  const base::JsonValue json = DataCheckJson(check);
  EXPECT_EQ(*json.Find("questions")->items()[2].Find("rows")->AsUint(), 2u);
  EXPECT_EQ(*json.Find("questions")->items()[2].Find("left_out")->AsUint(), 1u);
  EXPECT_EQ(*json.Find("conditions")->items()[0].Find("rows")->AsUint(), 2u);
  EXPECT_EQ(*json.Find("conditions")->items()[0].Find("all")->AsUint(), 4u);
  EXPECT_THAT(check.warnings,
              ElementsAre("question \"sexes\": 1 field of column \"sex\" is in none of its cells, "
                          "such as \"w\"; their rows are left out: correct them if that is not "
                          "meant"));
  Write("bonn.csv", "age,sex\n50,f\n71,m\n");
  EXPECT_THAT(Check().warnings,
              ElementsAre("question \"old in Bonn\": 1 row counts here, and the floor is 2: its "
                          "answer is suppressed unless other sites have more"));
}

// 787 women (775 to 799) for a true 1,223, without a word.
TEST_F(QueryCheckTest, AConditionThatHoldsForNoRowIsToldWithTheColumnsValues) {
  std::string rows = "age,sex\n";
  for (int i = 0; i < 1571; ++i) rows += i < 862 ? "50,Female\n" : "50,Male\n";
  Write("bonn.csv", rows);
  spec_.query = *config::ParseQuery(
      "[data]\nvalues = ['sex one-of=F,M']\n[privacy]\ntarget_epsilon = 1\n[[question]]\n"
      "name = 'women'\nkind = 'count'\nwhere = ['sex = F']\n",
      "query.toml");
  spec_.data = folder_.path();
  const DataCheck check = CheckQueryTables(spec_);
  EXPECT_THAT(check.warnings,
              Contains("0 of 1571 rows have sex = F; the column holds Female (862), "
                       "Male (709)"));
  EXPECT_THAT(
      Problems(check),
      ElementsAre("bonn.csv:2: column 1 (\"sex\"): 1571 values are none of the agreed F, M: "
                  "\"Female\" (862), \"Male\" (709)"));
  EXPECT_EQ(check.questions[0].left_out, 1571u);
}

// A site that a question leaves out need not have rows for it.
// A typing error would move the mean without a word; a birth after the agreed day is nobody's age.
TEST_F(QueryCheckTest, ValuesThatMayBeErrorsAreTold) {
  Write("a.csv", "age,sex,born\n50,f,1975-01-01\n712,m,2052-01-01\n61,m,\n-1,f,1950-01-01\n");
  EXPECT_THAT(Check().warnings,
              Contains("column \"age\": 2 of 4 values are outside of 0..120, such as \"712\"; each "
                       "counts as the nearest bound: correct them, or agree on a range in "
                       "`data.values`, as in \"height range=30..250\""));
  const DataCheck ranged = Check("[data]\nvalues = [\"age range=0..120\"]\n");
  EXPECT_THAT(ranged.warnings, Not(Contains(HasSubstr("outside of"))));
  EXPECT_THAT(
      Problems(ranged),
      ElementsAre("a.csv:3: column 0 (\"age\"): 2 values are outside the agreed range "
                  "0..120: \"712\" (1), \"-1\" (1); correct it, or leave the field empty if "
                  "the value is missing"));
  EXPECT_EQ(ranged.questions[0].rows, 2u);
  EXPECT_EQ(ranged.questions[0].left_out, 2u);
  spec_.query = *config::ParseQuery(
      "[data]\nvalues = ['born date']\nderived = ['old = years from born to 2025-01-01']\n"
      "[privacy]\ntarget_epsilon = 1\n[[question]]\nkind = 'count'\nwhere = ['old >= 65']\n",
      "query.toml");
  const DataCheck dates = CheckQueryTables(spec_);
  EXPECT_THAT(
      dates.warnings,
      ElementsAre("column \"old\": in 1 of 3 rows, \"born\" is after the agreed day, such as "
                  "\"2052-01-01\"; the column is missing there: correct the dates"));
  ASSERT_EQ(dates.conditions.size(), 1u);
  EXPECT_EQ(dates.conditions[0].rows, 1u);
  EXPECT_EQ(dates.conditions[0].unreadable, 2u);
}

TEST_F(QueryCheckTest, SmallCountsOfOtherSitesQuestionsAreNoWarning) {
  Write("celle.csv", "age,sex\n90,f\n90,f\n");
  EXPECT_THAT(Check().warnings, IsEmpty());
}

TEST_F(QueryCheckTest, UnitsAreThoseOfTheQuery) {
  Write("bonn.csv", "age,sex,id\n50,f,P1\n71,m,P2\n72,m,P2\n60,f,\n");
  Write("celle.csv", "age,sex,id\n50,f,P1\n80,f,P3\n");
  const std::string persons = "[data]\nperson_column = \"id\"\n";
  DataCheck check = Check(persons, "unit = \"person\"\n");
  EXPECT_THAT(Problems(check),
              ElementsAre("bonn.csv:5: column 2 (\"id\"): the person is missing, so the row is "
                          "nobody's and counts nowhere; fill it in"));
  EXPECT_THAT(check.warnings, Contains("1 person has more rows than `privacy.rows_per_unit` = 1: "
                                       "each of these rows counts in part"));
  EXPECT_THAT(check.warnings, Contains(HasSubstr("1 person is at more sites than "
                                                 "`privacy.appearances` = 1")));
  check = Check(persons, "unit = \"person\"\nrows_per_unit = 2\nappearances = 2\nmax_units = 1\n");
  EXPECT_THAT(check.warnings, Not(Contains(HasSubstr("person"))));
  EXPECT_THAT(DataCheckText(check),
              HasSubstr("celle: the table has more units (persons) than the query's max_units"));
}

TEST_F(QueryCheckTest, LookAlikesAreNamed) {
  Write("bonn.csv", "age,sex,id\n50,f,P-7\n71,m,p7\n72,m,P-7\n60,f,007\n60,f,7.0\n");
  Write("celle.csv", "age,sex,id\n50,f,7\n");
  const std::string persons = "[data]\nperson_column = \"id\"\n";
  const DataCheck check = Check(persons, "unit = \"person\"\nrows_per_unit = 2\n");
  EXPECT_TRUE(check.problems.empty());
  EXPECT_THAT(check.warnings,
              Contains(HasSubstr("2 persons look like another one, such as \"P-7\" and \"p7\"")));
  EXPECT_THAT(check.warnings, Contains(HasSubstr("1 person is at more sites than "
                                                 "`privacy.appearances` = 1")));
}

TEST_F(QueryCheckTest, ALiveSiteHasOneTableUnderItsOwnName) {
  Write("mine.csv", "age,sex\n71,f\n72,m\n");
  spec_.is_live = true;
  EXPECT_EQ(Check().questions[2].rows, 0u);
  spec_.site = "bonn";
  EXPECT_EQ(Check().questions[2].rows, 2u);
  Write("other.csv", "age,sex\n71,f\n");
  EXPECT_THAT(DataCheckText(Check()), HasSubstr("the data are the tables of 2 sites, a site has"));
  spec_.client = 2;
  EXPECT_THAT(DataCheckText(Check()), HasSubstr("--client is 2, the data are the tables of 2"));
  spec_.client = 1;
  EXPECT_TRUE(Check().problems.empty());
  EXPECT_EQ(Check().questions[2].rows, 1u);
}

TEST_F(QueryCheckTest, NamesWhatIsNotThere) {
  EXPECT_THAT(DataCheckText(Check()),
              HasSubstr("there is no file that ends in .csv, .tsv or .data"));
  Write("bonn.csv", "age,sex\n71,f\n72,m\n");
  Write("celle.xlsx", "PK");
  EXPECT_THAT(Check().warnings, Contains(HasSubstr("as celle.xlsx")));
  Write("celle.csv", "age,sex\n71,f\n72,m\n");
  EXPECT_THAT(Check("[data]\nmissing = []\n").warnings, ::testing::SizeIs(1));
  std::filesystem::rename(folder_.path() / "bonn.csv", folder_.path() / "aachen.csv");
  EXPECT_THAT(Check().warnings, Contains(HasSubstr("a simulation with these data alone does not "
                                                   "start: ")));
}

}  // namespace
}  // namespace tacet::app::data
