#include "apps/tacet/statistics/site_tables.h"

#include <fstream>
#include <string>
#include <string_view>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "apps/tacet/statistics/answers_output.h"
#include "apps/tacet/statistics/query_run.h"
#include "tacet/base/status.h"
#include "tacet/base/temporary_folder_for_test.h"

namespace tacet::app::statistics {
namespace {

using tacet::statistics::SiteTable;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

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

class SiteTablesTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, std::string_view text) {
    std::ofstream(folder_.path() / name) << text;
  }
  absl::StatusOr<std::vector<SiteTable>> Load(const std::string& data = "") {
    const auto loaded = run::ParseQuery(data + std::string(kQuery), "query.toml");
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    return LoadSiteTables(folder_.path(), loaded->file, *loaded->query);
  }

  base::TemporaryFolder folder_;
};

TEST_F(SiteTablesTest, EachFileIsASiteWithTheColumnsThatAreAsked) {
  Write("bonn.csv", "age,name,sex\n61,Eva,f\n,Udo,m\n");
  Write("aachen.csv", "\xEF\xBB\xBFsex;name;age\r\nf;\"Eva; M.\";40\r\n");
  const auto tables = Load();
  ASSERT_TRUE(tables.ok()) << tables.status();
  ASSERT_EQ(tables->size(), 2u);
  EXPECT_EQ((*tables)[0].name, "aachen");
  EXPECT_THAT((*tables)[0].columns, ElementsAre("sex", "age"));
  EXPECT_THAT((*tables)[0].rows, ElementsAre(ElementsAre("f", "40")));
  EXPECT_THAT((*tables)[1].rows, ElementsAre(ElementsAre("61", "f"), ElementsAre("", "m")));
}

TEST_F(SiteTablesTest, AColumnMayNameTheSite) {
  Write("all.csv", "hospital;age;sex\nBonn;61,5;f\nAachen;40;m\nBonn;1.234,5;f\n");
  const auto tables = Load("[data]\nsite_column = \"hospital\"\ndecimal = \"comma\"\n");
  ASSERT_TRUE(tables.ok()) << tables.status();
  ASSERT_EQ(tables->size(), 2u);
  EXPECT_EQ((*tables)[1].name, "Bonn");
  // A decimal comma is read; separators of thousands make no number.
  EXPECT_THAT((*tables)[1].rows,
              ElementsAre(ElementsAre("61.5", "f"), ElementsAre("1.234,5", "f")));
}

// Read as 1.234 years, 1234 would count as the lower bound.
TEST_F(SiteTablesTest, APointAmongDecimalCommasIsNotGuessed) {
  Write("bonn.csv", "age;sex\n61,5;f\n1.234;f\n");
  EXPECT_EQ(base::Message(Load("[data]\ndecimal = \"comma\"\n").status()),
            "bonn.csv:3: column \"age\": \"1.234\" has a point where the query says data.decimal = "
            "\"comma\"; write numbers without separators of thousands, with a decimal comma");
  Write("bonn.csv", "age;sex\n61,5;f.1\n60;f\n");
  EXPECT_TRUE(Load("[data]\ndecimal = \"comma\"\n").ok());
}

// The second file's ages would have been read as the sex, and the other way round.
TEST_F(SiteTablesTest, TwoFilesOfOneNameAreNotOneSite) {
  Write("bonn.csv", "age,sex\n61,f\n");
  Write("bonn.tsv", "sex\tage\nf\t40\n");
  EXPECT_THAT(base::Message(Load().status()),
              HasSubstr("bonn.tsv: another file of this folder has the same name"));
}

TEST_F(SiteTablesTest, ErrorsNameFileAndLine) {
  EXPECT_EQ(Load().status().code(), absl::StatusCode::kNotFound);
  Write("bonn.csv", "age,sex\n61,f\n62\n");
  EXPECT_EQ(base::Message(Load().status()), "bonn.csv:3: 1 columns, expected 2");
  Write("bonn.csv", "age,sex,age\n61,f,2\n");
  EXPECT_THAT(base::Message(Load().status()), HasSubstr("column \"age\" is there twice"));
  Write("bonn.csv", "age,sex\n61,\"f\n");
  EXPECT_THAT(base::Message(Load().status()), HasSubstr("bonn.csv:2"));
  Write("bonn.csv", std::string("\xFF\xFE"
                                "a\0",
                                4));
  EXPECT_THAT(base::Message(Load().status()), HasSubstr("UTF-16"));
  Write("bonn.csv", "age,sex\n61,f\n");
  Write("bonn.csv", "age,sex,clinic\n61,f,A\n62,f,\n");
  EXPECT_EQ(base::Message(Load("[data]\nsite_column = \"clinic\"\n").status()),
            "bonn.csv:3: the site is empty; fill in column \"clinic\"");
  Write("bonn.csv", "age,sex\n61,f\n");
  EXPECT_THAT(base::Message(Load("[data]\nsite_column = \"clinic\"\n").status()),
              HasSubstr("no column \"clinic\" (data.site_column)"));
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
  const auto loaded = run::ParseQuery(kQuery, "query.toml");
  const auto tables = Load();
  ASSERT_TRUE(tables.ok()) << tables.status();
  std::FILE* nowhere = std::fopen("/dev/null", "w");
  const auto end = RunQuery(*loaded, *tables, "hospitals", {}, folder_.path() / "run", nowhere);
  std::fclose(nowhere);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_LE(end->epsilon, 1.001);
  EXPECT_GE(end->epsilon, 0.98);
  const tacet::statistics::Estimate& count = end->answers[0].estimates[0];
  // 750 women. Eight deviations: false alarm below 1e-14.
  EXPECT_NEAR(*count.value, 750, 8 * count.noise_error);
  EXPECT_NE(*count.value, 750);
  EXPECT_LT(count.noise_error, 20);
  for (const char* file : {"answers.json", "answers.csv", "query.toml", "ledger", "summary.json"}) {
    EXPECT_TRUE(std::filesystem::exists(folder_.path() / "run" / file)) << file;
  }
  EXPECT_THAT(AnswersText(end->answers, 0.95), HasSubstr("age (mean), intervals of 95 %"));
  EXPECT_THAT(AnswersCsv(end->answers), HasSubstr("\"age\",mean,\"mean\",\"\",\"\","));
}

}  // namespace
}  // namespace tacet::app::statistics
