#include "tacet/run/site_tables.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status_for_test.h"
#include "tacet/base/temporary_folder_for_test.h"
#include "tacet/run/answers_output.h"
#include "tacet/run/query_columns.h"
#include "tacet/run/query_run.h"
#include "tacet/statistics/site_table_for_test.h"
#include "tacet/statistics/site_units.h"

namespace tacet::run {
namespace {

using tacet::statistics::RowsOf;
using tacet::statistics::SiteTable;
using tacet::statistics::TableOfRows;
using tacet::statistics::TablesDigest;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kQuery = R"(
[privacy]
target_epsilon = 1
[[question]]
name = "age"
kind = "mean"
column = "age"
low = 0
high = 120
where = ["sex = f"]
)";

// `data`: lines of the table [data], with its title.
std::string TextOfQuery(std::string_view data = "[data]\n", std::string_view query = kQuery) {
  return fmt::format("{}values = ['sex one-of=f|f.1,m']\n{}", data, query);
}

std::string FaultsOf(const QueryColumns& columns, const SiteTable& table) {
  table::ProblemSummary problems;
  CheckTable(columns, table, problems);
  return fmt::format("{}", fmt::join(ProblemLines(problems), "\n"));
}

class SiteTablesTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, std::string_view text) {
    std::ofstream(folder_.path() / name) << text;
  }
  absl::StatusOr<std::vector<SiteTable>> Load(const std::string& data = "[data]\n") {
    const auto loaded = base::ValueOf(config::ParseQuery(TextOfQuery(data), "query.toml"));
    return Load(loaded, QueryFormat(loaded.file));
  }
  absl::StatusOr<std::vector<SiteTable>> Load(const config::LoadedQuery& loaded,
                                              const TableFormats& formats = {}) {
    problems_ = table::ProblemSummary();
    return LoadSiteTables(folder_.path(), loaded.file, *loaded.query, formats, problems_);
  }
  // With settings of sites.
  absl::StatusOr<std::vector<SiteTable>> Rehearse(const config::LoadedQuery& loaded,
                                                  std::string_view settings) {
    const std::filesystem::path file = folder_.path() / "sites.toml";
    std::ofstream(file) << settings;
    TACET_ASSIGN_OR_RETURN(const TableFormats formats, RehearsalFormats(loaded.file, file));
    return Load(loaded, formats);
  }
  // What the site is told about the rows of the last tables, which stopped nothing.
  std::string Told() const { return fmt::format("{}", fmt::join(ProblemLines(problems_), "\n")); }
  // The same after loading, without the folder.
  std::string Noted(const std::string& data = "[data]\n") {
    EXPECT_TRUE(Load(data).ok()) << Load(data).status();
    return WithoutFolder(Told());
  }
  // The message, without the folder.
  std::string Refusal(const std::string& data = "[data]\n") {
    const auto tables = Load(data);
    EXPECT_EQ(tables.status().code(), absl::StatusCode::kInvalidArgument);
    return WithoutFolder(base::Message(tables.status()));
  }
  std::string WithoutFolder(const std::string& text) const {
    EXPECT_TRUE(text.starts_with(folder_.path().string() + "/")) << text;
    return text.substr(std::min(text.size(), folder_.path().string().size() + 1));
  }

  base::TemporaryFolder folder_;
  table::ProblemSummary problems_;
};

TEST_F(SiteTablesTest, EachFileIsASiteWithTheColumnsThatAreAsked) {
  Write("bonn.csv", "age,name,sex\n61,Eva,f\n,Udo,m\n");
  Write("aachen.csv", "\xEF\xBB\xBFsex;name;age\r\nf;\"Eva; M.\";40\r\n");
  ASSERT_OK_AND_ASSIGN(const auto tables, Load());
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables[0].name, "aachen");
  EXPECT_THAT(tables[0].columns, ElementsAre("sex", "age"));
  EXPECT_THAT(RowsOf(tables[0]), ElementsAre(ElementsAre("f", "40")));
  EXPECT_THAT(RowsOf(tables[1]), ElementsAre(ElementsAre("61", "f"), ElementsAre("", "m")));
}

TEST_F(SiteTablesTest, AColumnMayNameTheSite) {
  Write("all.csv", "hospital;age;sex\nBonn;61,5;f\nAachen;40;m\nBonn;;f\n");
  ASSERT_OK_AND_ASSIGN(const auto tables,
                       Load("[data]\nsite_column = \"hospital\"\ndecimal = \"comma\"\n"));
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables[1].name, "Bonn");
  // A decimal comma is read.
  EXPECT_THAT(RowsOf(tables[1]), ElementsAre(ElementsAre("61.5", "f"), ElementsAre("", "f")));
}

TEST_F(SiteTablesTest, FilesWithASiteColumnHaveOneOrderOfColumns) {
  Write("a.csv", "hospital,age,sex\nBonn,61,f\n");
  Write("b.csv", "hospital,sex,age\nCelle,f,40\n");
  EXPECT_EQ(Refusal("[data]\nsite_column = \"hospital\"\n"),
            "b.csv:1: the columns are in another order than in the file before; order them as age, "
            "sex");
}

// Read as 1.234 years, 1234 would count as the lower bound.
TEST_F(SiteTablesTest, APointAmongDecimalCommasIsNotGuessed) {
  Write("bonn.csv", "age;sex\n61,5;f\n1.234;f\n");
  EXPECT_EQ(
      Noted("[data]\ndecimal = \"comma\"\n"),
      "bonn.csv:3: column 0 (\"age\"): \"1.234\" is not a finite number; it has a point where "
      "numbers have a decimal comma: write them with a comma; where there are separators of "
      "thousands, set `data.thousands` in the query, or `data.csv_thousands` of the site");
  Write("bonn.csv", "age;sex\n61,5;f.1\n60;f\n");
  EXPECT_TRUE(Load("[data]\ndecimal = \"comma\"\n").ok());
}

// Each of them counted as missing once, without a word.
TEST_F(SiteTablesTest, AFieldThatIsNoNumberIsTold) {
  const auto told = [&](std::string_view field, const std::string& data = "[data]\n") {
    Write("bonn.csv", fmt::format("sex;age\nf;61\nf;{}\n", field));
    const std::string message = Noted(data);
    const std::string place = fmt::format("bonn.csv:3: column 1 (\"age\"): \"{}\" is ", field);
    EXPECT_TRUE(message.starts_with(place)) << message;
    return message.substr(std::min(message.size(), place.size()));
  };
  EXPECT_EQ(told("63 %"),
            "not a finite number; write the number alone, or agree on its unit in `data.values` of "
            "the query, as in \"dose unit=mg\"");
  EXPECT_EQ(told("> 89"),
            "not a finite number; agree how to read it in `data.values` of the query, as in \"age "
            "at-least=90\"");
  EXPECT_THAT(told("2025-01-31"), HasSubstr("as in \"admitted date\", and derive a number"));
  EXPECT_THAT(told("\xEF\xBB\xBF"
                   "63"),
              HasSubstr("remove the invisible byte order mark (U+FEFF) in it"));
  EXPECT_EQ(told("12,5"),
            "not a finite number; if the file writes numbers with a decimal comma, set "
            "`data.decimal = \"comma\"` in the query, or as a site of a federation "
            "`data.csv_decimal = \"comma\"` in its own settings");
  EXPECT_THAT(told("1.234,5", "[data]\ndecimal = \"comma\"\n"),
              HasSubstr("where there are separators of thousands, set"));
  for (const char* date : {"2024-05-01", "01.05.2024", "5/1/24"}) {
    EXPECT_THAT(told(date), HasSubstr("that is a date: list the column")) << date;
  }
  for (const char* number : {"1e308", "-1e308", "3.5e38"}) {
    EXPECT_EQ(
        told(number),
        "beyond 3.4e38, the largest number of a table; correct it, or leave the field empty if "
        "the value is missing");
  }
  for (const char* text : {"1e309", "inf", "nan", "+-5", "0x1F", "f"}) {
    EXPECT_THAT(told(text), HasSubstr("not a finite number")) << text;
  }
  // A word that only other queries know.
  EXPECT_EQ(told("NA", "[data]\nmissing = [\"?\"]\n"),
            "not a finite number; if that means \"missing\", add \"NA\" to `data.missing` of the "
            "query, or leave the field empty");
  EXPECT_THAT(told("N/A"), HasSubstr("add \"N/A\" to `data.missing` of the query"));
}

TEST_F(SiteTablesTest, MissingFieldsAndWhatIsNotReadAsANumberArePassed) {
  Write("bonn.csv", "age,sex,note\n,f,63 %\n?,m,\nNA,f,\"x, y\"\n3.4e38,,\n1e-300,NA,\n");
  ASSERT_TRUE(Load().ok()) << Load().status();
  EXPECT_EQ(Load()->front().rows, 5u);
  // An empty field is missing whatever the query's list.
  Write("bonn.csv", "age,sex\n,f\n-9,f\n");
  EXPECT_TRUE(Load("[data]\nmissing = [\"-9\"]\n").ok());
}

TEST_F(SiteTablesTest, ConditionsAndCellsReadNumbers) {
  Write("bonn.csv", "age,days,sex,dose,group\n50,10 d,f,low,A\n");
  const auto problems = [&](std::string_view question) {
    const auto loaded = base::ValueOf(config::ParseQuery(
        fmt::format("[privacy]\ntarget_epsilon = 1\n[[question]]\n{}", question), "query.toml"));
    std::vector<std::string> columns;
    table::ProblemSummary found;
    ReadSiteTables({folder_.path() / "bonn.csv"}, loaded.file, *loaded.query, {}, found);
    for (const table::ProblemGroup& group : found.Groups()) {
      columns.push_back(group.first.column_name);
      EXPECT_EQ(group.first.line, 2u);
    }
    return columns;
  };
  EXPECT_THAT(problems("kind = 'count'\nwhere = ['days >= 5', 'sex = 1', 'age < 60']"),
              ElementsAre("days", "sex"));
  EXPECT_THAT(problems("kind = 'histogram'\ncolumn = 'dose'\nedges = [0, 1]"), ElementsAre("dose"));
  EXPECT_THAT(problems("kind = 'histogram'\ncolumn = 'dose'\ncategories = ['low']"), IsEmpty());
  EXPECT_THAT(problems("kind = 'crosstab'\nrows = {column = 'group', categories = ['A']}\n"
                       "columns = {column = 'days', edges = [0, 5]}"),
              ElementsAre("days"));
  EXPECT_THAT(problems("kind = 'normalise'\ncolumns = ['age 0..9', 'days 0..9', 'dose 0..9']"),
              ElementsAre("days", "dose"));
  EXPECT_THAT(problems("kind = 'regression'\ncolumns = ['age 0..9', 'days 0..9']\nlabel = 'sex'\n"
                       "positive = '1'"),
              ElementsAre("days", "sex"));
  EXPECT_THAT(problems("kind = 'survival'\ntime = 'days'\nedges = [0, 5]\nevent = 'sex'\n"
                       "event_value = 1\ngroup = 'group'\ngroups = ['A']"),
              ElementsAre("days", "sex"));
}

// "Female" where the query asks for F was a silent "no", as was TRUE where it asks for 1.
TEST_F(SiteTablesTest, AValueThatNobodyAgreedOnIsTold) {
  Write("bonn.csv", "age,sex\n61,f\n61,Female\n");
  EXPECT_EQ(Noted(), "bonn.csv:3: column 1 (\"sex\"): \"Female\" is none of the agreed f|f.1, m");
  Write("bonn.csv", "age,died\n61,1\n61,1.0\n61,TRUE\n");
  const auto load = [&](std::string_view data) {
    const auto loaded = config::ParseQuery(
        fmt::format("{}\n[privacy]\ntarget_epsilon = 1\n[[question]]\nkind = 'count'\n"
                    "where = ['died = 1']\n",
                    data),
        "query.toml");
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_TRUE(Load(*loaded).ok());
    return Told();
  };
  EXPECT_THAT(load(""),
              HasSubstr("bonn.csv:4: column 1 (\"died\"): \"TRUE\" is not a finite number; "
                        "if the column holds texts, list its values"));
  EXPECT_EQ(load("[data]\nvalues = ['died one-of=1|TRUE,0|FALSE']"), "");
  EXPECT_THAT(load("[data]\nvalues = ['died one-of=1|T,0|F']"),
              HasSubstr("\"TRUE\" is none of the agreed 1|T, 0|F"));
}

// The same in memory, of texts and of numbers.
TEST_F(SiteTablesTest, AValueInMemoryThatNobodyAgreedOnIsTold) {
  const auto loaded = config::ParseQuery(
      "[data]\nvalues = ['died one-of=1|yes,0|no']\n[privacy]\ntarget_epsilon = 1\n[[question]]\n"
      "kind = 'count'\nwhere = ['died = yes']\n",
      "query.toml");
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const QueryColumns columns(loaded->file, *loaded->query);
  const auto check = [&](const tacet::statistics::TextRows& rows) {
    const SiteTable texts = TableOfRows("bonn", {"died"}, rows);
    const SiteTable typed = tacet::statistics::TypedTableOfRows("bonn", {"died"}, rows);
    const std::string message = FaultsOf(columns, texts);
    EXPECT_EQ(FaultsOf(columns, typed), message);
    return message;
  };
  EXPECT_EQ(check({{"1"}, {"0"}, {""}}), "");
  EXPECT_EQ(check({{"1"}, {"yes"}, {"0.0"}, {"NA"}}), "");
  EXPECT_EQ(check({{"1"}, {"2"}}),
            "site \"bonn\": column 0 (\"died\"): \"2\" is none of the agreed 1|yes, 0|no");
  EXPECT_EQ(check({{"yes"}, {"ja"}}).find("site \"bonn\": column 0 (\"died\"): \"ja\" is"), 0u);
}

// They would all have been one person.
TEST_F(SiteTablesTest, RowsWithoutTheirPersonAreNobodys) {
  const std::string persons = "[data]\nperson_column = \"patient\"\n";
  const std::string query = std::string(kQuery).replace(kQuery.find("target_epsilon"), 0,
                                                        "unit = \"person\"\nrows_per_unit = 1\n");
  ASSERT_OK_AND_ASSIGN(const auto loaded,
                       config::ParseQuery(TextOfQuery(persons, query), "query.toml"));
  for (const char* person : {"", "NA"}) {
    Write("bonn.csv", fmt::format("age,sex,patient\n61,f,P1\n61,f,{}\n", person));
    ASSERT_OK_AND_ASSIGN(const auto tables, Load(loaded));
    EXPECT_THAT(Told(),
                HasSubstr("bonn.csv:3: column 2 (\"patient\"): the person is missing, so the "
                          "row is nobody's and counts nowhere; fill it in"));
    const auto units =
        tacet::statistics::SiteUnits::Create(loaded.query, tables.front(), "patient");
    ASSERT_TRUE(units.ok()) << units.status();
    EXPECT_EQ(units->units(), 1u);
    EXPECT_EQ(units->RowsOf(0), 1u);
  }
  EXPECT_TRUE(Load(persons).ok());  // unit record
  Write("bonn.csv", "age,sex\n61,f\n");
  EXPECT_THAT(base::Message(Load(loaded).status()),
              HasSubstr("bonn.csv:1: there is no column \"patient\", which names the person "
                        "(data.person_column); the columns are age, sex"));
  EXPECT_TRUE(Load(persons).ok());
}

// Three spellings of 200 persons at each of three sites, and blanks that identify nobody.
TEST_F(SiteTablesTest, SpellingsOfOnePersonAreOnePerson) {
  const auto loaded = config::ParseQuery(
      "[data]\nperson_column = 'mrn'\n[privacy]\nunit = 'person'\ntarget_epsilon = 1\n"
      "max_units = 1000\n[[question]]\nname = 'n'\nkind = 'count'\n",
      "query.toml");
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  std::string table = "mrn,age\n";
  for (int person = 1000; person < 1200; ++person) {
    table += fmt::format("{:08},90\n{},90\n{}.0,90\n", person, person, person);
  }
  for (const char* site : {"s0.csv", "s1.csv", "s2.csv"}) Write(site, table);
  const auto tables = Load(*loaded);
  ASSERT_TRUE(tables.ok()) << tables.status();
  ASSERT_EQ(tables->size(), 3u);
  const double one = loaded->query->questions()[0].strategy->largest_entry();
  for (const SiteTable& site : *tables) {
    const auto units = tacet::statistics::SiteUnits::Create(loaded->query, site, "mrn");
    ASSERT_TRUE(units.ok()) << units.status();
    ASSERT_EQ(units->units(), 200u);
    std::vector<uint32_t> all(200);
    std::iota(all.begin(), all.end(), 0u);
    std::vector<float> sum(1);
    units->SumUnits(all, sum);
    EXPECT_NEAR(sum[0] / one, 200, 1e-6);
  }
  Write("s0.csv", table + "\xC2\xA0\xE2\x80\x8B,90\n");
  EXPECT_TRUE(Load(*loaded).ok());
  EXPECT_THAT(Told(), HasSubstr("s0.csv:602: column 0 (\"mrn\"): the person is missing"));
}

TEST_F(SiteTablesTest, TablesInMemoryAreCheckedAlike) {
  const auto loaded = config::ParseQuery(TextOfQuery(), "query.toml");
  SiteTable table = TableOfRows("bonn", {"sex", "age"}, {{"f", "61"}, {"m", ""}});
  const QueryColumns columns(loaded->file, *loaded->query);
  EXPECT_EQ(FaultsOf(columns, table), "");
  table = TableOfRows("bonn", {"sex", "age"}, {{"f", "61"}, {"m", "63 %"}});
  EXPECT_EQ(FaultsOf(columns, table),
            "site \"bonn\": column 1 (\"age\"): \"63 %\" is not a finite number; write the number "
            "alone, or agree on its unit in `data.values` of the query, as in \"dose unit=mg\"");
}

// Arrays of Python: their numbers have the faults of their texts.
TEST_F(SiteTablesTest, NumbersInMemoryAreCheckedAlike) {
  const std::string text =
      std::string(kQuery).replace(kQuery.find("target_epsilon"), 0, "unit = \"person\"\n");
  ASSERT_OK_AND_ASSIGN(
      const auto loaded,
      config::ParseQuery(TextOfQuery("[data]\nperson_column = \"patient\"\n", text), "query.toml"));
  const QueryColumns columns(loaded.file, *loaded.query);
  const auto check = [&](const std::vector<double>& ages, const std::vector<double>& patients) {
    SiteTable table{.name = "bonn", .columns = {"age", "patient"}, .cells = {}};
    table.rows = ages.size();
    for (const std::vector<double>& numbers : {ages, patients}) {
      table::ColumnBuilder cells;
      for (const double number : numbers) cells.AddNumber(number);
      table.cells.push_back(std::move(cells).Finish());
    }
    return FaultsOf(columns, table);
  };
  constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(check({61, kMissing, -3.4e38}, {1, 2, 1e300}), "");
  EXPECT_EQ(check({61, HUGE_VAL}, {1, 2}),
            "site \"bonn\": column 0 (\"age\"): \"inf\" is not a finite number");
  EXPECT_EQ(check({3.5e38, 1}, {1, 2}),
            "site \"bonn\": column 0 (\"age\"): \"350000000000000001565567347835409530880\" is "
            "beyond 3.4e38, the largest number of a table; correct it, or leave the field empty if "
            "the value is missing");
  EXPECT_EQ(
      check({1, HUGE_VAL, HUGE_VAL}, {1, kMissing, 2}),
      "site \"bonn\": column 0 (\"age\"): 2 values are no finite numbers: \"inf\" (2)\n"
      "site \"bonn\": column 1 (\"patient\"): the person is missing, so the row is nobody's and "
      "counts nowhere; fill it in");
}

// A site's own settings say how its files write numbers and separate fields.
TEST_F(SiteTablesTest, ASiteHasItsOwnFormat) {
  const auto loaded = config::ParseQuery(TextOfQuery(), "query.toml");
  config::RunConfig own;
  const auto load = [&] {
    const auto format = base::ValueOf(SiteFormat(loaded->file, own));
    return Load(*loaded, format);
  };
  Write("bonn.csv", "sex;age\nf;61,5\n");
  EXPECT_TRUE(load().ok());
  EXPECT_THAT(Told(), HasSubstr("\"61,5\" is not a finite number"));
  for (const char* comma : {"comma", ","}) {
    own.data.csv_decimal = comma;
    ASSERT_OK_AND_ASSIGN(const auto tables, load());
    EXPECT_THAT(RowsOf(tables.front()), ElementsAre(ElementsAre("f", "61.5")));
  }
  own.data.csv_decimal = "komma";
  EXPECT_THAT(base::Message(SiteFormat(loaded->file, own).status()),
              HasSubstr("data.csv_decimal is \"komma\"; it must be point or comma"));
  own.data.csv_decimal = "point";
  own.data.csv_separator = "bar";
  Write("bonn.csv", "sex|age|a,b,c,d\nf|61|\n");
  ASSERT_OK_AND_ASSIGN(const auto tables, load());
  EXPECT_THAT(RowsOf(tables.front()), ElementsAre(ElementsAre("f", "61")));
  Write("bonn.csv", "sex;age;a|b\nf;61;\n");
  EXPECT_THAT(base::Message(load().status()), HasSubstr("there is no column \"age\""));
}

// femme and 61,5 at one site, F and 61.5 at the other: what the values mean is agreed, how a site
// writes them is its own.
TEST_F(SiteTablesTest, EachSiteOfARehearsalHasItsOwnSpellings) {
  ASSERT_OK_AND_ASSIGN(const auto loaded, config::ParseQuery(TextOfQuery(), "query.toml"));
  Write("bonn.csv", "sex;age\nfemme;61,5\nf;40\nhomme;1\n");
  Write("celle.csv", "sex,age\nf,61.5\nfemme,40\n");
  const auto load = [&](std::string_view text) { return Rehearse(loaded, text); };
  ASSERT_OK_AND_ASSIGN(const auto tables,
                       load("[site.bonn]\ncsv_decimal = 'comma'\ncsv_spellings = ['sex "
                            "one-of=f|femme,m|homme']\n"));
  EXPECT_THAT(RowsOf(tables[0]),
              ElementsAre(ElementsAre("f", "61.5"), ElementsAre("f", "40"), ElementsAre("m", "1")));
  EXPECT_THAT(RowsOf(tables[1]), ElementsAre(ElementsAre("f", "61.5"), ElementsAre("femme", "40")));
  EXPECT_EQ(problems_.count(), 1u) << Told();
  EXPECT_THAT(Told(),
              HasSubstr("celle.csv:3: column 0 (\"sex\"): \"femme\" is none of the agreed"));
  const auto refusal = [&](std::string_view text) { return base::Message(load(text).status()); };
  EXPECT_THAT(refusal("[site.bern]\ncsv_decimal = 'comma'\n"),
              HasSubstr("there is no file of site \"bern\""));
  EXPECT_THAT(refusal("[site.bonn]\ncsv_decimal = 'komma'\n"),
              HasSubstr("site \"bonn\": data.csv_decimal is \"komma\""));
  EXPECT_THAT(refusal("[site.bonn]\ncsv_missing = ['x']\n"),
              HasSubstr("site.bonn.csv_missing is unknown: expected csv_separator, csv_decimal"));
  EXPECT_THAT(refusal("[site.bonn]\ncsv_spellings = ['sex f=femme']\n"),
              HasSubstr("site \"bonn\": data.csv_spellings: \"sex f=femme\": expected"));
  EXPECT_THAT(refusal("[site.bonn]\ncsv_spellings = 'sex'\n"),
              HasSubstr("site.bonn.csv_spellings is not a list"));
  EXPECT_THAT(refusal("floor = 3\n"), HasSubstr("expected tables [site.NAME]"));
}

// The 3rd of April at one site is the 4th of March at the other, unless each says its order.
TEST_F(SiteTablesTest, EachSiteHasItsOrderOfDatesAndItsUnits) {
  ASSERT_OK_AND_ASSIGN(const auto loaded, config::ParseQuery(R"(
[data]
values = ["born date", "dose at-least=40"]
derived = ["age = years from born to 2025-01-01"]
[privacy]
target_epsilon = 1.0
[[question]]
kind = "mean"
column = "dose"
low = 0
high = 50
where = ["age >= 18"]
)",
                                                             "query.toml"));
  Write("bonn.csv", "born;dose\n03.04.1970;12,5 mg\n1970-04-03;>= 40 mg\n04/03/1970;12 g\n");
  Write("celle.csv", "born,dose\n4/3/1970,12.5\n13/4/1970,\n");
  const auto load = [&](std::string_view text) { return Rehearse(loaded, text); };
  ASSERT_OK_AND_ASSIGN(
      const auto tables,
      load("[site.bonn]\ncsv_decimal = 'comma'\ncsv_spellings = ['born date=day.month.year', "
           "'dose unit=mg']\n[site.celle]\ncsv_spellings = ['born date=month/day/year']\n"));
  EXPECT_THAT(RowsOf(tables[0]),
              ElementsAre(ElementsAre("1970-04-03", "12.5"), ElementsAre("1970-04-03", "40"),
                          ElementsAre("04/03/1970", "")));
  EXPECT_THAT(RowsOf(tables[1]),
              ElementsAre(ElementsAre("1970-04-03", "12.5"), ElementsAre("13/4/1970", "")));
  EXPECT_THAT(Told(), AllOf(HasSubstr("\"04/03/1970\" is not a date as year-month-day; correct it"),
                            HasSubstr("\"12 g\" is not a finite number"),
                            HasSubstr("\"13/4/1970\" is not a date as year-month-day")));
  EXPECT_EQ(problems_.count(), 3u) << Told();
  EXPECT_THAT(base::Message(load("[site.bonn]\ncsv_spellings = ['dose at-most=1']\n").status()),
              HasSubstr("limits and ranges are the same at all sites"));
  // Columns of a file that the query makes itself.
  Write("bonn.csv", "born,dose,age\n1970-04-03,1,9\n");
  EXPECT_THAT(base::Message(load("[site.bonn]\ncsv_separator = 'comma'\n").status()),
              HasSubstr("column \"age\" is there, and `data.derived` of the query makes one"));
}

// Rows of R, pandas and spreadsheets: twelve, each 61 and f.
std::string TwelveRows(std::string_view header, std::string_view row) {
  std::string text = fmt::format("{}\n", header);
  for (int i = 1; i <= 12; ++i) text += fmt::format(fmt::runtime(row), i) + "\n";
  return text;
}

TEST_F(SiteTablesTest, FilesOfOtherSoftwareGiveTheSameRows) {
  for (const auto& [header, row] : {std::pair("age,sex", "61,f"),
                                    {"\"\",\"age\",\"sex\"", "\"{}\",61,\"f\""},
                                    {",age,sex", "{},61,f"},
                                    {"Unnamed: 0,age,sex", "{},61,f"},
                                    {"\"age\",\"sex\"", "\"{}\",61,\"f\""},
                                    {"\"age\"\t\"sex\"", "\"{}\"\t61\t\"f\""},
                                    {"age;sex", "{};61;f"},
                                    {"age,sex,,", "61,f,,"},
                                    {"age,sex,", "61,f"},
                                    {"age,sex", "61,f,"}}) {
    Write("bonn.csv", TwelveRows(header, row));
    ASSERT_OK_AND_ASSIGN(const auto tables, Load());
    EXPECT_EQ(problems_.count(), 0u) << Told();
    const auto rows = RowsOf(tables[0]);
    ASSERT_EQ(rows.size(), 12u) << header;
    const size_t age = tables[0].columns[0] == "age" ? 0 : 1;
    for (const auto& each : rows) EXPECT_EQ(each[age] + each[1 - age], "61f") << header;
  }
}

// Each would be read one column off, or is a table of which every row would be left out.
TEST_F(SiteTablesTest, ATableWhoseRowsDoNotFitIsRefusedAsAWhole) {
  for (const auto& [header, row] : {std::pair("age,sex", "61,5,f"),
                                    {"age,sex", "{},5,f"},
                                    {"id;age;sex", "61;f"},
                                    {"\"age\",\"sex\"", "\"M{}\",61,f"}}) {
    Write("bonn.csv", TwelveRows(header, row));
    EXPECT_THAT(Refusal(), HasSubstr("of its 12 rows have another number of fields than the"))
        << header;
    EXPECT_THAT(Refusal(), HasSubstr("row.names = FALSE"));
  }
}

TEST_F(SiteTablesTest, SeparatorsOfThousandsAreAgreed) {
  const auto ages = [this](std::string_view data, std::string_view field) {
    Write("bonn.csv", TwelveRows("age;sex", fmt::format("{};f", field)));
    const auto tables = Load(fmt::format("[data]\n{}\n", data));
    return tables.ok() ? RowsOf((*tables)[0])[0][0] : base::Message(tables.status());
  };
  EXPECT_EQ(ages("thousands = 'comma'", "1,061.5"), "1061.5");
  EXPECT_EQ(ages("decimal = 'comma'\nthousands = 'point'", "1.061,5"), "1061.5");
  EXPECT_EQ(ages("thousands = 'apostrophe'", "1'061"), "1061");
  EXPECT_EQ(problems_.count(), 0u) << Told();
  // Not agreed: no number.
  EXPECT_EQ(ages("", "1,061.5"), "");
  EXPECT_EQ(problems_.count(), 12u);
  EXPECT_THAT(Told(), HasSubstr("where there are separators of thousands, set `data.thousands`"));
  EXPECT_EQ(ages("", "1,061"), "");
  EXPECT_THAT(Told(), AllOf(HasSubstr("set `data.decimal = \"comma\"`"),
                            HasSubstr("; where there are separators of thousands, set")));
  const auto refusal = [](std::string_view data) {
    return base::Message(
        config::ParseQuery(TextOfQuery(fmt::format("[data]\n{}\n", data)), "q.toml").status());
  };
  EXPECT_THAT(refusal("thousands = 'point'"), HasSubstr("the point is the decimal mark"));
  EXPECT_THAT(refusal("thousands = 'dot'"), HasSubstr("\"dot\": expected none, comma, point"));
  // 1.061 may be 1061: the site is told, until somebody says.
  EXPECT_EQ(ages("", "1.061"), "1.061");
  EXPECT_THAT(Told(), HasSubstr("all 12 numbers with a `.` have three digits behind it, as 1.061"));
  EXPECT_EQ(ages("thousands = 'none'", "1.061"), "1.061");
  EXPECT_EQ(problems_.count(), 0u) << Told();
}

TEST_F(SiteTablesTest, UnicodeTextOfASpreadsheetIsRead) {
  std::string text = "\xFF\xFE";
  for (const char letter : TwelveRows("age\tsex", "61\tf")) text += {letter, '\0'};
  Write("bonn.csv", text);
  ASSERT_OK_AND_ASSIGN(const auto tables, Load());
  EXPECT_EQ(problems_.count(), 0u) << Told();
  EXPECT_EQ(RowsOf(tables[0]).size(), 12u);
}

// The second file's ages would have been read as the sex, and the other way round.
TEST_F(SiteTablesTest, TwoFilesOfOneNameAreNotOneSite) {
  Write("bonn.csv", "age,sex\n61,f\n");
  Write("bonn.tsv", "sex\tage\nf\t40\n");
  EXPECT_THAT(Refusal(), HasSubstr("bonn.tsv: another file of this folder has the same name"));
}

TEST_F(SiteTablesTest, ErrorsNameFileAndLine) {
  EXPECT_EQ(Load().status().code(), absl::StatusCode::kNotFound);
  Write("bonn.csv", "age,sex\n61,f\n62\n");
  EXPECT_EQ(
      Noted(),
      "bonn.csv:3: 1 columns, expected 2; quote a field that holds a `,`, or correct the row");
  Write("bonn.csv", "age,sex,age\n61,f,2\n");
  EXPECT_THAT(base::Message(Load().status()), HasSubstr("column \"age\" is there twice"));
  Write("bonn.csv", "age,sex\n61,\"f\n");
  EXPECT_EQ(
      Noted(),
      "bonn.csv:2: column 1 (\"sex\"): a quoted field does not end; close the quote, or write a "
      "quote in a quoted field twice");
  Write("bonn.csv", "Age,sex\n61,f\n");
  EXPECT_EQ(Refusal(),
            "bonn.csv:1: there is no column \"age\", which the query reads; column \"Age\" may be "
            "meant");
  Write("bonn.csv", "\x1F\x8B\x08");
  EXPECT_THAT(base::Message(Load().status()), HasSubstr("compressed (gzip"));
  Write("bonn.csv", "age,sex,clinic\n61,f,A\n62,f,\n");
  EXPECT_EQ(Noted("[data]\nsite_column = \"clinic\"\n"),
            "bonn.csv:3: column 2 (\"clinic\"): the site is empty; fill it in");
  Write("bonn.csv", "age,sex\n61,f\n");
  EXPECT_EQ(
      Refusal("[data]\nsite_column = \"clinic\"\n"),
      "bonn.csv:1: there is no column \"clinic\", which names the site (data.site_column); the "
      "columns are age, sex");
}

// Who knows the record learned from a refusal that its cell is bad: the site was named as away, and
// the query never ended. Now every row is read, and only the site hears of it.
TEST_F(SiteTablesTest, NoRowDecidesWhetherASiteAnswers) {
  ASSERT_OK_AND_ASSIGN(const auto loaded, config::ParseQuery(TextOfQuery(), "query.toml"));
  const tacet::statistics::QuestionPlan& plan = loaded.query->questions().front();
  for (const char* row :
       {"36y,f", "36,Frau", "1e39,f", "36", "36,f,x", "\"36,f", "\"36\"y,f", "inf,f", "> 89,f"}) {
    Write("bonn.csv", fmt::format("age,sex\n61,f\n{}\n40,f\n", row));
    const auto tables = Load(loaded);
    ASSERT_TRUE(tables.ok()) << row << tables.status();
    EXPECT_EQ(problems_.count(), 1u) << row;
    const auto units = tacet::statistics::SiteUnits::Create(loaded.query, tables->front());
    ASSERT_TRUE(units.ok()) << row << units.status();
    EXPECT_EQ(units->units(), 3u) << row;
    EXPECT_EQ(units->RowsOf(0), 2u) << row;
    EXPECT_EQ(units->RowsOf(0, tacet::statistics::RowUse::kLeftOut), 1u) << row;
    std::vector<float> sum(loaded.query->dimension());
    units->SumUnits(std::vector<uint32_t>{0, 1, 2}, sum);
    EXPECT_NEAR(sum[plan.measured()], plan.left_out, 1e-9) << row;
  }
}

// A byte of another encoding in one row: others are read, and the site sees what to change.
TEST_F(SiteTablesTest, AByteOfAnotherEncodingIsItsRowsAlone) {
  const std::vector<std::string> fields = {"\xFC", "\xC3", std::string("\0", 1)};
  for (const std::string& field : fields) {
    Write("bonn.csv",
          fmt::format("age,sex,name\n61,f,a\n36,{},b\n37,f,{}\n40,f,c\n", field, field));
    ASSERT_OK_AND_ASSIGN(const auto tables, Load());
    EXPECT_EQ(tables.front().rows, 4u);
    EXPECT_EQ(problems_.count(), 2u);
    EXPECT_THAT(Told(), HasSubstr("bonn.csv:3: column 1 (\"sex\"): \"\xEF\xBF\xBD\" is none of"));
    Write("bonn.csv", fmt::format("age,sex,{}\n61,f,a\n", field));
    EXPECT_EQ(Load().status().code(), absl::StatusCode::kInvalidArgument);
  }
}

// A quote that begins a field of one row and nowhere ends, or only at another row's quote.
TEST_F(SiteTablesTest, AQuoteOfOneRowHidesNoOther) {
  for (const char* row : {"36,\"f", "\"36,f"}) {
    for (const char* last : {"40,f", "40,\"f\"", "\"40\",f", "\"40\",\"f\""}) {
      Write("bonn.csv", fmt::format("age,sex\n61,f\n{}\n40,f\n41,f\n{}\n42,f\n", row, last));
      ASSERT_OK_AND_ASSIGN(const auto tables, Load());
      EXPECT_EQ(tables.front().rows, 6u) << row << " " << last;
      EXPECT_EQ(problems_.count(), 1u) << Told();
    }
  }
}

// The second quote's line is longer than the piece of the file in which the first one stands.
TEST_F(SiteTablesTest, AQuoteHidesNoLongLine) {
  Write("bonn.csv", fmt::format("age,sex,name\n61,f,a\n\"36,f,b\n\"40\",f,{}\n41,f,c\n",
                                std::string(size_t{3} << 18, 'x')));
  ASSERT_OK_AND_ASSIGN(const auto tables, Load());
  EXPECT_EQ(tables.front().rows, 4u);
  EXPECT_EQ(problems_.count(), 1u) << Told();
}

TEST_F(SiteTablesTest, DigestsCoverEveryField) {
  Write("bonn.csv", "age,sex\n61,f\n");
  const crypto::Digest digest = TablesDigest(*Load());
  EXPECT_EQ(TablesDigest(*Load()), digest);
  Write("bonn.csv", "age,sex\n62,f\n");
  EXPECT_NE(TablesDigest(*Load()), digest);
}

TEST_F(SiteTablesTest, ARunWritesItsAnswersAndItsCharge) {
  std::string rows = "age,sex\n";
  for (int i = 0; i < 500; ++i) rows += fmt::format("{},{}\n", 40 + i % 40, i % 2 == 0 ? "f" : "m");
  for (const char* site : {"a.csv", "b.csv", "c.csv"}) Write(site, rows);
  const auto loaded = config::ParseQuery(TextOfQuery(), "query.toml");
  ASSERT_OK_AND_ASSIGN(const auto tables, Load());
  ASSERT_OK_AND_ASSIGN(const auto end, RunQuery(*loaded, tables, "hospitals", {},
                                                folder_.path() / "run", base::TextSink()));
  EXPECT_LE(end.epsilon, 1.001);
  EXPECT_GE(end.epsilon, 0.98);
  const tacet::statistics::Estimate& count = end.answers[0].estimates[0];
  // 750 women. Eight deviations: false alarm below 1e-14.
  EXPECT_NEAR(*count.value, 750, 8 * *count.noise_error);
  EXPECT_NE(*count.value, 750);
  EXPECT_LT(*count.noise_error, 20);
  for (const char* file : {"answers.json", "answers.csv", "query.toml", "ledger", "summary.json"}) {
    EXPECT_TRUE(std::filesystem::exists(folder_.path() / "run" / file)) << file;
  }
  EXPECT_THAT(AnswersText(end.answers, 0.95), HasSubstr("age (mean), intervals of 95 %"));
  EXPECT_THAT(AnswersCsv(end.answers), HasSubstr("\"age\",mean,\"mean\",\"\",\"\","));
}

}  // namespace
}  // namespace tacet::run
