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

// Risks are computed, so their cells are not those of the column that the formula names.
TEST_F(QueryCheckTest, FieldsOfAColumnNeedNotBeAmongTheCellsOfRisks) {
  Write("bonn.csv", "age,sex,ill\n50,f,1\n71,m,0\n,f,1\n");
  const DataCheck check = Check("", R"([[question]]
name = "risks"
kind = "evaluation"
formula = "age"
columns = ["age 20..90"]
coefficients = [-3, 0.05]
terms = ["age"]
bins = 10
label = "ill"
positive = 1
)");
  EXPECT_TRUE(check.problems.empty());
  EXPECT_THAT(check.warnings, Not(Contains(HasSubstr("in none of its cells"))));
  EXPECT_THAT(DataCheckText(check), HasSubstr("risks (evaluation): 2 rows, 1 left out"));
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

// A run leaves out the rows of models whose numbers cannot be read, and cuts others to the bounds.
TEST_F(QueryCheckTest, NumbersOfModelsAreChecked) {
  Write("a.csv",
        "age,sex,bmi,days,ill\n50,f,24.5,100,1\n63 kg,m,27,200,0\n71,m,unknown,300,1\n"
        "60,f,250,4O0,0\n,m,,500,1\n");
  const auto check = [this](const std::string& question) {
    spec_.query = *config::ParseQuery("[privacy]\ntarget_epsilon = 1\n[[question]]\n" + question +
                                          "columns = [\"age 20..90\", \"bmi 10..60\"]\n",
                                      "query.toml");
    spec_.data = folder_.path();
    return CheckQueryTables(spec_);
  };
  const auto of_age = HasSubstr("column 0 (\"age\"): \"63 kg\" is not a finite number");
  const auto of_bmi = HasSubstr("column 2 (\"bmi\"): \"unknown\" is not a finite number");
  const DataCheck linear = check("kind = \"glm\"\nformula = \"bmi ~ age\"\n");
  EXPECT_THAT(Problems(linear), ElementsAre(of_age, of_bmi));
  EXPECT_EQ(linear.questions[0].left_out, 3u);
  EXPECT_THAT(linear.warnings, Contains(HasSubstr("column \"bmi\": 1 of 3 values is outside of "
                                                  "10..60, such as \"250\"; each counts as the ")));
  EXPECT_THAT(Problems(check("kind = \"cox\"\nformula = \"age + log(bmi)\"\ntime = \"days\"\n"
                             "event = \"ill\"\nevent_value = 1\nhigh = 1000\n")),
              ElementsAre(of_age, of_bmi,
                          HasSubstr("column 3 (\"days\"): \"4O0\" is not a finite number")));
  // The formula of risks has columns as well.
  EXPECT_THAT(Problems(check("kind = \"evaluation\"\nformula = \"age + bmi\"\nbins = 10\n"
                             "coefficients = [-3, 0.05, 0.1]\nterms = [\"age\", \"bmi\"]\n"
                             "label = \"ill\"\npositive = 1\n")),
              ElementsAre(of_age, of_bmi));
}

// 499 of 600 rows counted, and nobody was told.
TEST_F(QueryCheckTest, TimesBelow0AreTold) {
  Write("a.csv", "days,dead\n5,1\n-3,0\n0,1\n-1,1\n,0\n");
  const auto check = [&](const std::string& values) {
    spec_.query = *config::ParseQuery(
        values +
            "[privacy]\ntarget_epsilon = 1\n[[question]]\nkind = 'survival'\ntime = 'days'\n"
            "edges = [0, 30, 90]\nevent = 'dead'\nevent_value = 1\n",
        "query.toml");
    spec_.data = folder_.path();
    return CheckQueryTables(spec_);
  };
  EXPECT_THAT(
      check("").warnings,
      ElementsAre("column \"days\": 2 of 4 times are below 0, such as \"-3\"; their rows "
                  "are left out of the curve: correct them, or leave the fields empty where "
                  "nobody knows the time"));
  // With a range they are problems already.
  EXPECT_THAT(check("[data]\nvalues = ['days range=0..5000']\n").warnings, IsEmpty());
}

// Ages "> 89" were "empty fields (81)", and a number of 39 digits filled the line.
TEST_F(QueryCheckTest, FieldsThatCannotBeReadAreNotCalledEmpty) {
  std::string rows = "age,sex\n";
  for (int i = 0; i < 6; ++i) rows += i < 4 ? "> 89,f\n" : ",f\n";
  Write("bonn.csv", rows + "3e38,f\n");
  spec_.query = *config::ParseQuery(
      "[privacy]\ntarget_epsilon = 1\n[[question]]\nkind = 'count'\nwhere = ['age < 18']\n"
      "[[question]]\nname = 'age'\nkind = 'mean'\ncolumn = 'age'\nlow = 0\nhigh = 120\n",
      "query.toml");
  spec_.data = folder_.path();
  const DataCheck check = CheckQueryTables(spec_);
  EXPECT_THAT(check.warnings,
              Contains("0 of 7 rows have age < 18; the column holds fields that are missing or "
                       "cannot be read (6), 3e+38 (1)"));
  EXPECT_THAT(check.warnings, Contains(HasSubstr("outside of 0..120, such as \"3e+38\"")));
}

// UCI adult: the line of remarks was 85 problems, and all labels of one file were left out.
TEST_F(QueryCheckTest, ARemarkInFrontOfTheTableIsOneProblem) {
  std::string rows;
  for (int i = 0; i < 80; ++i) rows += fmt::format("{}, {}, <=50K.\n", 20 + i, i % 2);
  spec_.query = *config::ParseQuery(
      "[data]\nvalues = ['income one-of=<=50K,>50K']\n[privacy]\ntarget_epsilon = 1\n"
      "[[question]]\nkind = 'count'\nwhere = ['income = >50K', 'age >= 30']\n",
      "query.toml");
  spec_.data = folder_.path();
  Write("adult.csv", "|1x3 Cross validator\n" + rows);
  EXPECT_THAT(Problems(CheckQueryTables(spec_)),
              ElementsAre("adult.csv:1: this is no line of column names: it has 1 field, and the "
                          "next line has 3; delete it if it is a remark; if the file has no names, "
                          "list them in `data.columns` of the query"));
  Write("adult.csv", "age,sex,income\n" + rows);
  EXPECT_THAT(
      Problems(CheckQueryTables(spec_)),
      ElementsAre("adult.csv:2: column 2 (\"income\"): 80 values are none of the agreed "
                  "<=50K, >50K: \"<=50K.\" (80); write \"<=50K\" if that is meant, or allow "
                  "both by \"<=50K|<=50K.\": agreed by all, or in the site's own "
                  "`data.csv_spellings`"));
  spec_.query = *config::ParseQuery(
      "[privacy]\ntarget_epsilon = 1\n[[question]]\nname = 'incomes'\nkind = 'histogram'\n"
      "column = 'income'\ncategories = ['<=50K', '>50K']\n",
      "query.toml");
  EXPECT_THAT(CheckQueryTables(spec_).warnings,
              Contains(HasSubstr("\"<=50K.\"; their rows are left out: write \"<=50K\" if that is "
                                 "meant, or allow both by \"<=50K|<=50K.\"")));
}

TEST_F(QueryCheckTest, CopiesOfRowsAreTold) {
  std::string rows = "age,sex,id\n";
  for (int i = 0; i < 40; ++i) rows += fmt::format("{},{},P{}\n", 30 + i % 7, i % 2 ? "f" : "m", i);
  Write("bonn.csv", rows + "32,m,P2\n33,f,P3\n");
  const DataCheck check = Check();
  ASSERT_EQ(check.copies.size(), 1u);
  EXPECT_EQ(check.copies[0].rows.repeated, 2u);
  const std::string told =
      "bonn.csv: 2 of 42 rows repeat an earlier row, such as line 42 (line 4 again), line 43 (line "
      "5 again)";
  EXPECT_THAT(check.warnings, Contains(HasSubstr(told + ". Chance does not explain them")));
  EXPECT_THAT(DataCheckText(check), HasSubstr(told + "\n"));
  const base::JsonValue all = DataCheckJson(check);
  const base::JsonValue& json = all.Find("copies")->items()[0];
  EXPECT_EQ(*json.Find("repeated")->AsUint(), 2u);
  EXPECT_EQ(*json.Find("examples")->items()[1].Find("earlier")->AsUint(), 5u);
  // A person counts once, however many copies there are: the note stays, the warning goes.
  const DataCheck of_persons =
      Check("[data]\nperson_column = \"id\"\n", "unit = \"person\"\nrows_per_unit = 2\n");
  EXPECT_THAT(of_persons.warnings, Not(Contains(HasSubstr("repeat an earlier row"))));
  EXPECT_THAT(DataCheckText(of_persons), HasSubstr(told));
}

// Ages and sexes are often equal.
TEST_F(QueryCheckTest, EqualRowsOfFewValuesAreNoWarning) {
  std::string rows = "age,sex\n";
  for (int i = 0; i < 300; ++i) rows += fmt::format("{},{}\n", 45 + i * i % 31, i % 2 ? "f" : "m");
  Write("bonn.csv", rows);
  const DataCheck check = Check();
  ASSERT_EQ(check.copies.size(), 1u);
  EXPECT_GT(check.copies[0].rows.repeated, 200u);
  EXPECT_THAT(DataCheckText(check),
              HasSubstr(" repeat an earlier row, which columns of few values may explain\n"));
  EXPECT_THAT(check.warnings, IsEmpty());
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
