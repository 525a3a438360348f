// Columns of dates, limits and units, and columns that follow from dates.
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/json.h"
#include "tacet/base/status.h"
#include "tacet/base/status_for_test.h"
#include "tacet/statistics/query_text.h"
#include "tacet/statistics/site_table_for_test.h"
#include "tacet/statistics/site_units.h"

namespace tacet::statistics {
namespace {

using ::testing::HasSubstr;

class DatesTest : public ::testing::Test {
 protected:
  static absl::StatusOr<Query> Read(std::string_view data, std::string_view questions) {
    const std::string json = fmt::format(
        R"({{"privacy": {{"target_epsilon": 1}}, "data": {}, "question": [{}]}})", data, questions);
    TACET_ASSIGN_OR_RETURN(QueryFile file,
                           ReadQueryFile(base::ValueOf(base::JsonValue::Parse(json))));
    return Query::Create(std::move(file.query));
  }

  static std::string Refusal(std::string_view data, std::string_view questions) {
    const auto query = Read(data, questions);
    EXPECT_EQ(query.status().code(), absl::StatusCode::kInvalidArgument);
    return base::Message(query.status());
  }

  // Rows that a question counts, and those that it leaves out.
  static std::pair<uint64_t, uint64_t> Rows(const SiteUnits& site, size_t question) {
    return {site.RowsOf(question), site.RowsOf(question, RowUse::kLeftOut)};
  }

  static SiteUnits SiteOf(const Query& query, const SiteTable& table) {
    return base::ValueOf(SiteUnits::Create(std::make_shared<const Query>(query), table));
  }
};

TEST_F(DatesTest, ConditionsAndEdgesCompareDays) {
  const auto query =
      Read(R"({"values": ["admitted date=day.month.year"]})",
           R"({"name": "since", "kind": "count", "where": ["admitted >= 2025-01-01"]},
                             {"name": "that day", "kind": "count", "where": ["admitted = 2025-01-31"]},
                             {"name": "years", "kind": "histogram", "column": "admitted",
                              "edges": ["2024-01-01", "2025-01-01", "2026-01-01"]})");
  ASSERT_TRUE(query.ok()) << query.status();
  EXPECT_EQ(query->questions()[2].cells->Label(0), "[2024-01-01, 2025-01-01)");
  EXPECT_EQ(query->questions()[2].cells->Label(1), "[2025-01-01, 2026-01-01]");
  // The last three are read as no day at all: two digits of a year, another order, a serial number
  // of a spreadsheet.
  const SiteUnits site = SiteOf(*query, TableOfRows("a", {"admitted"},
                                                    {{"31.12.2024"},
                                                     {"1.1.2025"},
                                                     {"31.1.2025"},
                                                     {"2025-01-31"},
                                                     {""},
                                                     {"31.1.2025 08:00"},
                                                     {"31.1.25"},
                                                     {"1/31/2025"},
                                                     {"45688"}}));
  EXPECT_EQ(Rows(site, 0), (std::pair<uint64_t, uint64_t>{4, 4}));
  EXPECT_EQ(Rows(site, 1), (std::pair<uint64_t, uint64_t>{3, 4}));
  EXPECT_EQ(Rows(site, 2), (std::pair<uint64_t, uint64_t>{5, 4}));
  // A column of numbers holds no dates, whatever they could mean.
  const SiteUnits numbers =
      SiteOf(*query, TypedTableOfRows("b", {"admitted"}, {{"45688"}, {"20250131"}, {"20119"}}));
  EXPECT_EQ(Rows(numbers, 0), (std::pair<uint64_t, uint64_t>{0, 3}));
}

TEST_F(DatesTest, AgesAndStaysFollowFromDates) {
  const auto query = Read(
      R"({"values": ["born date", "admitted date", "discharged date"],
          "derived": ["age = years from born to 2025-01-01",
                      "stay = days from admitted to discharged"]})",
      R"({"name": "old", "kind": "count", "where": ["age >= 65"]},
         {"name": "long", "kind": "count", "where": ["stay > 7"]},
         {"name": "age", "kind": "mean", "column": "age", "low": 0, "high": 120})");
  ASSERT_TRUE(query.ok()) << query.status();
  EXPECT_EQ(query->columns(), (std::vector<std::string>{"admitted", "born", "discharged"}));
  const SiteTable table = TableOfRows("a", {"born", "admitted", "discharged"},
                                      {{"1960-01-01", "2024-05-01", "2024-05-08"},
                                       {"1960-01-02", "2024-02-28", "2024-03-07"},
                                       {"1959-12-31", "2024-05-08", "2024-05-01"},
                                       {"2052-03-04", "2024-05-01", ""},
                                       {"", "2024-13-01", "2024-05-01"}});
  const SiteUnits site = SiteOf(*query, table);
  // A person born after the day, or who leaves before admission, has no age and no stay.
  EXPECT_EQ(Rows(site, 0), (std::pair<uint64_t, uint64_t>{2, 2}));
  EXPECT_EQ(Rows(site, 1), (std::pair<uint64_t, uint64_t>{1, 3}));
  EXPECT_EQ(Rows(site, 2), (std::pair<uint64_t, uint64_t>{3, 2}));

  SiteTable with_age = table;
  with_age.columns[1] = "age";
  with_age.columns.push_back("admitted");
  with_age.cells.push_back(table.cells[1]);
  EXPECT_THAT(
      base::Message(SiteUnits::Create(std::make_shared<const Query>(*query), with_age).status()),
      HasSubstr("the table has a column \"age\", and `data.derived` of the query makes one"));
}

TEST_F(DatesTest, LimitsAndUnitsAreNumbersWhereTheSitesAgree) {
  const char* questions = R"({"name": "old", "kind": "count", "where": ["age >= 90"]},
                             {"name": "dose", "kind": "sum", "column": "dose", "low": 0, "high": 99},
                             {"name": "ages", "kind": "histogram", "column": "age",
                              "edges": [0, 90, 120]})";
  const SiteTable table =
      TableOfRows("a", {"age", "dose"},
                  {{"> 89", "12 mg"}, {"89", "12"}, {"90+", "12 g"}, {"> 70", "mg"}, {"95", ""}});
  const SiteUnits agreed = SiteOf(
      base::ValueOf(Read(R"({"values": ["age at-least=90", "dose unit=mg"]})", questions)), table);
  EXPECT_EQ(Rows(agreed, 0), (std::pair<uint64_t, uint64_t>{3, 1}));
  EXPECT_EQ(Rows(agreed, 1), (std::pair<uint64_t, uint64_t>{2, 3}));
  EXPECT_EQ(Rows(agreed, 2), (std::pair<uint64_t, uint64_t>{4, 1}));
  const SiteUnits plain = SiteOf(base::ValueOf(Read("{}", questions)), table);
  EXPECT_EQ(Rows(plain, 0), (std::pair<uint64_t, uint64_t>{1, 3}));
  EXPECT_EQ(Rows(plain, 1), (std::pair<uint64_t, uint64_t>{1, 4}));
}

// With "> 89" read as 89 and a literal 91 in another row, `age >= 90` would count the one and not
// the other.
TEST_F(DatesTest, ALimitAnswersOnlyWhatItDecides) {
  const char* limits = R"({"values": ["age at-least=90 at-most=17"]})";
  const auto count = [](std::string_view where) {
    return fmt::format(R"({{"name": "n", "kind": "count", "where": ["age {}"]}})", where);
  };
  for (const char* decided : {">= 90", "< 90", "> 89", "<= 89", "= 89", "!= 18", "> 17", "<= 17",
                              ">= 18", "< 18", ">= 65"}) {
    EXPECT_TRUE(Read(limits, count(decided)).ok()) << decided;
  }
  for (const char* open : {">= 91", "< 91", "> 90", "<= 90", "= 90", "!= 95"}) {
    EXPECT_THAT(Refusal(limits, count(open)), HasSubstr("at least 90 leaves open")) << open;
  }
  for (const char* open : {"> 16", "<= 16", ">= 17", "< 17", "= 17", "!= 5"}) {
    EXPECT_THAT(Refusal(limits, count(open)), HasSubstr("at most 17 leaves open")) << open;
  }
  const auto cells = [](std::string_view edges) {
    return fmt::format(R"({{"kind": "quantiles", "column": "age", "edges": [{}]}})", edges);
  };
  EXPECT_TRUE(Read(limits, cells("0, 18, 65, 90, 120")).ok());
  EXPECT_THAT(Refusal(limits, cells("0, 18, 95, 120")), HasSubstr("leaves open how it compares"));
  EXPECT_THAT(Refusal(limits, cells("0, 10, 90, 120")), HasSubstr("at most 17 leaves open"));
}

TEST_F(DatesTest, AColumnIsUsedAsWhatItHolds) {
  const char* date = R"({"values": ["day date"]})";
  const auto count = [](const char* where) {
    return fmt::format(R"({{"name": "n", "kind": "count", "where": ["{}"]}})", where);
  };
  EXPECT_THAT(Refusal("{}", count("day >= 2025-01-01")),
              HasSubstr("does not say that column \"day\" holds dates: say so under [data], as in "
                        "values = [\"day date\"]"));
  EXPECT_THAT(Refusal("{}", count("day = 2025-01-01")), HasSubstr("holds dates: say so"));
  EXPECT_THAT(Refusal(date, count("day >= 45000")),
              HasSubstr("compare it with one, as 2025-01-31"));
  const char* range = R"({"values": ["age range=0..120 at-least=90"]})";
  EXPECT_THAT(Refusal(range, count("age < 121")), HasSubstr("column \"age\" holds no such number"));
  EXPECT_TRUE(Read(range, count("age >= 90")).ok());
  EXPECT_THAT(Refusal(date, count("day >= 1.1.2025")), HasSubstr("neither a number nor a date"));
  EXPECT_THAT(Refusal(date, count("age > 5")), HasSubstr("\"day\", which no question reads"));
  EXPECT_THAT(Refusal(date, R"({"kind": "mean", "column": "day", "low": 0, "high": 9})"),
              HasSubstr("column \"day\" has bounds, and it holds dates: make a number of them"));
  EXPECT_THAT(Refusal(date, R"({"kind": "quantiles", "column": "day", "edges": ["2025-01-01",
                              "2026-01-01"]})"),
              HasSubstr("column \"day\" has edges, and it holds dates: make a number of them"));
  EXPECT_THAT(Refusal(date, R"({"kind": "histogram", "column": "day", "edges": [0, 1]})"),
              HasSubstr("write the edges as dates"));
  EXPECT_THAT(Refusal("{}", R"({"kind": "histogram", "column": "day", "edges": ["2025-01-01",
                              "2026-01-01"]})"),
              HasSubstr("does not say that it holds dates"));
  EXPECT_THAT(Refusal(date, R"({"kind": "histogram", "column": "day", "edges": ["1.1.2025"]})"),
              HasSubstr("question[0].edges: \"1.1.2025\": expected a number, or a date"));
  EXPECT_THAT(Refusal(date, R"({"kind": "histogram", "column": "day", "categories": ["a"]})"),
              HasSubstr("has categories, and `data.values` has it as numbers or dates"));
  EXPECT_THAT(Refusal(R"({"values": ["day date", "day one-of=a,b"]})", count("day >= 2025-01-01")),
              HasSubstr("`data.values` has column \"day\" twice"));
}

TEST_F(DatesTest, ADerivedColumnNeedsDates) {
  const auto refusal = [](std::string_view values, std::string_view derived) {
    return Refusal(fmt::format(R"({{"values": [{}], "derived": [{}]}})", values, derived),
                   R"({"name": "n", "kind": "count", "where": ["age > 5"]})");
  };
  const char* age = R"("age = years from born to 2025-01-01")";
  EXPECT_THAT(refusal("", age), HasSubstr("does not say that column \"born\" holds dates"));
  EXPECT_THAT(refusal(R"("born date", "age at-least=90")", age),
              HasSubstr("`data.values` has it, too"));
  EXPECT_THAT(refusal(R"("born date")", fmt::format("{}, {}", age, age)),
              HasSubstr("each needs a name of its own"));
  EXPECT_THAT(refusal(R"("born date")", R"("old = years from born to 2025-01-01")"),
              HasSubstr("makes column \"old\", which no question reads"));
  EXPECT_THAT(refusal(R"("born date")", R"("age = days from age to born")"),
              HasSubstr("and another one follows from it"));
  for (const char* text : {"age", "age = years from born", "age = months from born to 2025-01-01",
                           "age = years from born to 2025-01-01 x", "= years from a to b c"}) {
    EXPECT_THAT(refusal(R"("born date")", fmt::format("\"{}\"", text)),
                HasSubstr("data.derived: \""))
        << text;
  }
  EXPECT_EQ(base::ValueOf(ParseDerivedColumn("'len of stay' = days from 'day in' to out")).from,
            "day in");
}

}  // namespace
}  // namespace tacet::statistics
