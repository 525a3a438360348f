// Ways in which files write a table: marks, separators, spellings, dates, other software.
#include <string>
#include <string_view>
#include <utility>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status_for_test.h"
#include "tacet/run/site_tables_for_test.h"
#include "tacet/statistics/site_table_for_test.h"

namespace tacet::run {
namespace {

using tacet::statistics::RowsOf;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SiteFormatsTest : public SiteTablesTest {};

// Read as 1.234 years, 1234 would count as the lower bound.
TEST_F(SiteFormatsTest, APointAmongDecimalCommasIsNotGuessed) {
  Write("bonn.csv", "age;sex\n61,5;f\n1.234;f\n");
  EXPECT_EQ(
      Noted("[data]\ndecimal = \"comma\"\n"),
      "bonn.csv:3: column 0 (\"age\"): \"1.234\" is not a finite number; it has a point where "
      "numbers have a decimal comma: write them with a comma; where there are separators of "
      "thousands, set `data.thousands` in the query, or `data.csv_thousands` of the site");
  Write("bonn.csv", "age;sex\n61,5;f.1\n60;f\n");
  EXPECT_TRUE(Load("[data]\ndecimal = \"comma\"\n").ok());
}

// A site's own settings say how its files write numbers and separate fields.
TEST_F(SiteFormatsTest, ASiteHasItsOwnFormat) {
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
TEST_F(SiteFormatsTest, EachSiteOfARehearsalHasItsOwnSpellings) {
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
TEST_F(SiteFormatsTest, EachSiteHasItsOrderOfDatesAndItsUnits) {
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

// The bar of UCI adult's line of remarks was taken for the separator, so no row could be read.
TEST_F(SiteFormatsTest, ARemarkInFrontOfATableWithoutNamesIsOneRow) {
  std::string rows;
  for (int i = 0; i < 12; ++i) rows += "61, f\n";
  Write("adult.csv", "|1x3 Cross validator\n" + rows);
  const std::string data = "[data]\ncolumns = ['age', 'sex']\n";
  ASSERT_OK_AND_ASSIGN(const auto tables, Load(data));
  EXPECT_EQ(tables[0].rows, 13u);
  EXPECT_EQ(RowsOf(tables[0])[1], (std::vector<std::string>{"61", "f"}));
  EXPECT_THAT(Told(), HasSubstr("adult.csv:1: 1 columns, expected 2"));
  Write("adult.csv", "sep=;\n61;f\n");
  ASSERT_OK_AND_ASSIGN(const auto said, Load(data));
  EXPECT_EQ(said[0].rows, 1u);
}

// Rows of R, pandas and spreadsheets: twelve, each 61 and f.
std::string TwelveRows(std::string_view header, std::string_view row) {
  std::string text = fmt::format("{}\n", header);
  for (int i = 1; i <= 12; ++i) text += fmt::format(fmt::runtime(row), i) + "\n";
  return text;
}

TEST_F(SiteFormatsTest, FilesOfOtherSoftwareGiveTheSameRows) {
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
TEST_F(SiteFormatsTest, ATableWhoseRowsDoNotFitIsRefusedAsAWhole) {
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

TEST_F(SiteFormatsTest, SeparatorsOfThousandsAreAgreed) {
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

TEST_F(SiteFormatsTest, UnicodeTextOfASpreadsheetIsRead) {
  std::string text = "\xFF\xFE";
  for (const char letter : TwelveRows("age\tsex", "61\tf")) text += {letter, '\0'};
  Write("bonn.csv", text);
  ASSERT_OK_AND_ASSIGN(const auto tables, Load());
  EXPECT_EQ(problems_.count(), 0u) << Told();
  EXPECT_EQ(RowsOf(tables[0]).size(), 12u);
}

}  // namespace
}  // namespace tacet::run
