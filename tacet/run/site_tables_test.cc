#include "tacet/run/site_tables.h"

#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status_for_test.h"
#include "tacet/run/answers_output.h"
#include "tacet/run/query_run.h"
#include "tacet/run/site_tables_for_test.h"
#include "tacet/statistics/site_table_for_test.h"
#include "tacet/statistics/site_units.h"

namespace tacet::run {
namespace {

using tacet::statistics::RowsOf;
using tacet::statistics::SiteTable;
using tacet::statistics::TablesDigest;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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
