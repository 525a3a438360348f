#include "apps/tacet/data/data_check.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/status.h"

namespace tacet::app::data {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class DataCheckTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              (std::string("tacet_data_check_") +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    spec_.config.data.path = folder_.string();
    spec_.config.data.csv_client_column = "";
    spec_.config.data.csv_label_column = "ill";
    spec_.config.data.csv_labels = {"no|0", "yes|1", "unclear"};
    spec_.config.data.csv_features = {"age 0..120", "sex one-of=female,male"};
    spec_.config.data.held_out = 0.5;
  }
  void TearDown() override { fs::remove_all(folder_); }

  void Write(const std::string& file, const std::string& text) {
    std::ofstream(folder_ / file, std::ios::binary) << text;
  }
  DataCheck Check() {
    const auto check = CheckData(spec_);
    EXPECT_TRUE(check.ok()) << check.status();
    return check.ok() ? *check : DataCheck();
  }
  std::vector<std::string> Problems(const DataCheck& check) const {
    std::vector<std::string> texts;
    for (const table::ProblemGroup& group : check.problems.Groups()) {
      const table::TableProblem problem = group.Told();
      texts.push_back(ProblemText(problem).substr(folder_.string().size() + 1));
    }
    return texts;
  }

  fs::path folder_;
  DataCheckSpec spec_;
};

TEST_F(DataCheckTest, ListsAllProblemsOfAllFilesAtOnce) {
  Write("a.csv", "age,sex,ill\n50,female,no\n130,Male,maybe\n60,male\n");
  Write("b.csv", "age;gender;ill\n50,5;female;yes\n");
  Write("c.csv", "PAR1\x15\x04\x15");
  Write("d.csv", "ill,sex,age\n\"1.0\",male,7\n0,\"male\"s,7\nyes,\"male,7\n");
  const DataCheck check = Check();
  EXPECT_THAT(
      Problems(check),
      ElementsAre(
          AllOf(
              HasSubstr("a.csv:3: column 2 (\"ill\"): \"maybe\" is none of the agreed no|0, yes|1, "
                        "unclear")),
          HasSubstr(
              "a.csv:3: column 0 (\"age\"): 130 is outside the agreed bounds 0..120; correct"),
          HasSubstr(
              "a.csv:3: column 1 (\"sex\"): \"Male\" is none of the agreed female, male; write "
              "\"male\""),
          HasSubstr("a.csv:4: 2 columns, expected 3"),
          HasSubstr(
              "b.csv:1: there is no feature column \"sex\"; the columns are age, gender, ill"),
          HasSubstr("b.csv:2: column 0 (\"age\"): \"50,5\" is not a finite number; if the file"),
          HasSubstr("c.csv: the file is a Parquet file"),
          HasSubstr("d.csv:3: column 1 (\"sex\"): text after a quoted field"),
          HasSubstr("d.csv:4: column 1 (\"sex\"): a quoted field does not end")));
  EXPECT_EQ(check.problems.count(), 9u);
  EXPECT_EQ(check.rows, 2u);  // of a.csv and d.csv
  EXPECT_THAT(check.class_rows, ElementsAre(1, 1, 0));
  EXPECT_EQ(check.files.size(), 4u);

  const std::string text = DataCheckText(check);
  EXPECT_THAT(text, HasSubstr("a.csv\n  line 3, column 2 (\"ill\"): \"maybe\" is none of"));
  EXPECT_THAT(text, HasSubstr("problems    9 in 4 of 4 files\nrows        2 without problems"));
  const base::JsonValue json = DataCheckJson(check);
  EXPECT_EQ(json.Find("problems")->items().size(), 9u);
  EXPECT_EQ(*json.Find("problems")->items()[1].Find("column_name")->AsString(), "age");
  EXPECT_TRUE(json.Find("problems")->items()[6].Find("line")->is_null());
}

TEST_F(DataCheckTest, GoodFilesHaveNoProblems) {
  Write("a.csv", "age,sex,ill\n50,female,no\n30,male,yes\n40,male,unclear\n70,male,yes\n");
  const DataCheck check = Check();
  EXPECT_TRUE(check.problems.empty());
  EXPECT_THAT(check.warnings, Not(Contains(HasSubstr("held out"))));
  EXPECT_THAT(DataCheckText(check), HasSubstr("problems    none in 1 file\nrows        4 without"));
}

TEST_F(DataCheckTest, WarnsOfHopelessData) {
  Write("a.csv", "age,sex,ill\n50,female,no\n30,male,yes\n");
  Write("notes.xlsx", "PK");
  Write("old.CSV", "age,sex,ill\n");
  spec_.config.data.held_out = 0.1;
  DataCheck check = Check();
  EXPECT_THAT(check.warnings,
              Contains(AllOf(HasSubstr("1 of 3 classes has no row here: class 2 (\"unclear\")"),
                             HasSubstr("check the labels"))));
  EXPECT_THAT(check.warnings, Contains(HasSubstr("no client has enough rows for `data.held_out` = "
                                                 "0.1; raise it")));
  EXPECT_THAT(check.warnings, Contains(HasSubstr("2 files of this folder are not read, as "
                                                 "notes.xlsx")));
  spec_.config.data.held_out = 0;
  EXPECT_THAT(Check().warnings, Contains(HasSubstr("`data.held_out` is 0; set it")));
}

TEST_F(DataCheckTest, WarnsOfColumnsThatCountTheRows) {
  spec_.config.data.csv_features = {};
  spec_.config.data.csv_labels = {};
  Write("a.csv", "X,age,ill\n1,50,0\n2,30,1\n3,40,0\n4,70,1\n");
  EXPECT_THAT(Check().warnings, Contains(HasSubstr("feature 0 counts the rows: list the columns")));
  Write("a.csv", "Unnamed: 0,age,ill\n1,50,0\n2,30,1\n3,40,0\n4,70,1\n");
  EXPECT_THAT(Check().warnings,
              AllOf(Contains(HasSubstr("column 0 (\"Unnamed: 0\") has no name of its own")),
                    Not(Contains(HasSubstr("counts the rows: list")))));
}

TEST_F(DataCheckTest, WarnsOfHopelessPrivacySettings) {
  Write("a.csv", "age,sex,ill\n50,female,no\n30,male,yes\n40,male,unclear\n70,male,yes\n");
  agreement::ManifestSpec agreed = {.model = "logistic", .dimension = 100, .rounds = 10};
  agreed.sampling = {.clients = 5, .cohort = 5, .min_participants = 5};
  agreed.mechanism.noise_stddev = 1000;
  agreed.privacy.delta = 0.3;
  spec_.agreed = agreed;
  EXPECT_THAT(Check().warnings, AllOf(Contains(HasSubstr("the noise drowns the update")),
                                      Contains(HasSubstr("delta is 0.3 for 5 clients"))));
}

TEST_F(DataCheckTest, ASiteOfAFederationIsOneClient) {
  Write("a.csv", "age,sex,ill\n50,female,no\n30,male,yes\n");
  Write("b.csv", "age,sex,ill\n50,female,no\n30,male,yes\n");
  spec_.agreed.emplace().mechanism.without_noise = true;
  EXPECT_THAT(DataCheckText(Check()), HasSubstr("the data are of 2 clients, a site is one"));
  spec_.client = 2;
  EXPECT_THAT(DataCheckText(Check()), HasSubstr("--client is 2, the data are of 2 clients"));
  spec_.client = 1;
  EXPECT_TRUE(Check().problems.empty());
}

// 18,000 rows with one missing setting were 9,000 lines.
TEST_F(DataCheckTest, OneFaultOfAColumnIsOneLine) {
  std::string text = "age,sex,ill\n";
  for (int i = 0; i < 9000; ++i) text += "50,male,no\n50,weiblich,no\n";
  text += "63 %,m,no\n> 89,male,no\n> 89,male,no\n";
  Write("a.csv", text);
  const DataCheck check = Check();
  EXPECT_EQ(check.problems.count(), 9004u);
  EXPECT_THAT(
      DataCheckText(check),
      AllOf(
          HasSubstr("  from line 3, column 1 (\"sex\"): 9001 values are none of the agreed female, "
                    "male: \"weiblich\" (9000), \"m\" (1)\n"),
          HasSubstr("  from line 18002, column 0 (\"age\"): 3 values are no finite numbers: "
                    "\"> 89\" (2), \"63 %\" (1)\n    write the number alone"),
          HasSubstr("problems    9004 in 1 of 1 file")));
  const base::JsonValue json = DataCheckJson(check);
  EXPECT_EQ(*json.Find("problem_count")->AsUint(), 9004u);
  const base::JsonValue& sexes = json.Find("problems")->items()[0];
  EXPECT_EQ(*sexes.Find("count")->AsUint(), 9001u);
  EXPECT_EQ(*sexes.Find("values")->items()[0].Find("value")->AsString(), "weiblich");
  EXPECT_EQ(*sexes.Find("values")->items()[0].Find("count")->AsUint(), 9000u);
}

TEST_F(DataCheckTest, CopiesOfRowsAreTold) {
  std::string rows = "age,sex,chol,ill\n";
  for (int i = 0; i < 40; ++i) {
    rows += std::to_string(30 + i * 7 % 41) + ",female," + std::to_string(150 + i * 37 % 89) +
            (i % 2 == 0 ? ",no\n" : ",yes\n");
  }
  Write("a.csv", rows + rows.substr(rows.find('\n') + 1));
  spec_.config.agreement.privacy.unit = accounting::Unit::kRecord;
  EXPECT_THAT(
      Check().warnings,
      Contains(HasSubstr("a.csv: 40 of 80 rows repeat an earlier row, such as line 42 (line "
                         "2 again), line 43 (line 3 again), line 44 (line 4 again). Chance")));
  spec_.config.agreement.privacy.unit = accounting::Unit::kPerson;
  EXPECT_THAT(Check().warnings, Not(Contains(HasSubstr("repeat an earlier row"))));
  EXPECT_EQ(Check().copies.size(), 1u);
}

TEST_F(DataCheckTest, ARemarkInFrontOfTheTableIsOneProblem) {
  std::string rows;
  for (int i = 0; i < 80; ++i) rows += "50,female,no.\n";
  Write("a.csv", "|1x3 Cross validator\n" + rows);
  EXPECT_THAT(Problems(Check()),
              ElementsAre("a.csv:1: this is no line of column names: it has 1 field, and the next "
                          "line has 3; delete it if it is a remark; if the file has no names, list "
                          "them in `data.csv_columns`"));
  spec_.config.data.csv_columns = {"age", "sex", "ill"};
  EXPECT_THAT(
      Problems(Check()),
      ElementsAre(HasSubstr("a.csv:1: 1 columns, expected 3; delete the line if it is a remark"),
                  HasSubstr("or allow both by \"no|no.\"")));
  Write("a.csv", rows);
  EXPECT_THAT(Problems(Check()), ElementsAre(HasSubstr("or allow both by \"no|no.\"")));
}

TEST_F(DataCheckTest, NamesWhatIsNotThere) {
  EXPECT_THAT(DataCheckText(Check()), HasSubstr("problems    1 in 1 of 1 file"));
  spec_.config.data.path = (folder_ / "nothing").string();
  EXPECT_THAT(DataCheckText(Check()), HasSubstr("no such file or folder"));
  spec_.config.data.csv_features = {"age"};
  EXPECT_THAT(base::Message(CheckData(spec_).status()), HasSubstr("expected a column and"));
}

}  // namespace
}  // namespace tacet::app::data
