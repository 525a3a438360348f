// Fields and rows with a fault: what the site is told, and that they stop nothing.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status_for_test.h"
#include "tacet/run/site_tables_for_test.h"
#include "tacet/statistics/site_table_for_test.h"
#include "tacet/statistics/site_units.h"

namespace tacet::run {
namespace {

using tacet::statistics::RowsOf;
using tacet::statistics::SiteTable;
using tacet::statistics::TableOfRows;
using ::testing::HasSubstr;

class FieldFaultsTest : public SiteTablesTest {};

// Each of them counted as missing once, without a word.
TEST_F(FieldFaultsTest, AFieldThatIsNoNumberIsTold) {
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

TEST_F(FieldFaultsTest, MissingFieldsAndWhatIsNotReadAsANumberArePassed) {
  Write("bonn.csv", "age,sex,note\n,f,63 %\n?,m,\nNA,f,\"x, y\"\n3.4e38,,\n1e-300,NA,\n");
  ASSERT_TRUE(Load().ok()) << Load().status();
  EXPECT_EQ(Load()->front().rows, 5u);
  // An empty field is missing whatever the query's list.
  Write("bonn.csv", "age,sex\n,f\n-9,f\n");
  EXPECT_TRUE(Load("[data]\nmissing = [\"-9\"]\n").ok());
}

// "Female" where the query asks for F was a silent "no", as was TRUE where it asks for 1.
TEST_F(FieldFaultsTest, AValueThatNobodyAgreedOnIsTold) {
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
TEST_F(FieldFaultsTest, AValueInMemoryThatNobodyAgreedOnIsTold) {
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

TEST_F(FieldFaultsTest, TablesInMemoryAreCheckedAlike) {
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
TEST_F(FieldFaultsTest, NumbersInMemoryAreCheckedAlike) {
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
            "site \"bonn\": column 0 (\"age\"): \"3.5e+38\" is "
            "beyond 3.4e38, the largest number of a table; correct it, or leave the field empty if "
            "the value is missing");
  EXPECT_EQ(
      check({1, HUGE_VAL, HUGE_VAL}, {1, kMissing, 2}),
      "site \"bonn\": column 0 (\"age\"): 2 values are no finite numbers: \"inf\" (2)\n"
      "site \"bonn\": column 1 (\"patient\"): the person is missing, so the row is nobody's and "
      "counts nowhere; fill it in");
}

// A person who knows the record learned from a refusal that its cell is bad: the site was named as
// absent, and the query never ended. Now every row is read, and only the site hears of it.
TEST_F(FieldFaultsTest, NoRowDecidesWhetherASiteAnswers) {
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
TEST_F(FieldFaultsTest, AByteOfAnotherEncodingIsItsRowsAlone) {
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
TEST_F(FieldFaultsTest, AQuoteOfOneRowHidesNoOther) {
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
TEST_F(FieldFaultsTest, AQuoteHidesNoLongLine) {
  Write("bonn.csv", fmt::format("age,sex,name\n61,f,a\n\"36,f,b\n\"40\",f,{}\n41,f,c\n",
                                std::string(size_t{3} << 18, 'x')));
  ASSERT_OK_AND_ASSIGN(const auto tables, Load());
  EXPECT_EQ(tables.front().rows, 4u);
  EXPECT_EQ(problems_.count(), 1u) << Told();
}

}  // namespace
}  // namespace tacet::run
