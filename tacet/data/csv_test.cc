#include "tacet/data/csv.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/base/status_for_test.h"
#include "tacet/base/temporary_folder_for_test.h"
#include "tacet/data/csv_for_test.h"
#include "tacet/data/load.h"
#include "tacet/data/split.h"

namespace tacet::data {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

void ExpectError(std::string_view text, const CsvOptions& options, const std::string& message) {
  const auto dataset = ParseCsv(text, "some.csv", options);
  ASSERT_FALSE(dataset.ok()) << text;
  EXPECT_EQ(dataset.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(base::Message(dataset.status()), HasSubstr(message));
}

TEST(CsvTest, ReadsNamedColumns) {
  const auto dataset = ParseCsv(
      "\xEF\xBB\xBF"
      "a,client,b,class\r\n1, north ,-2.5e1,2\r\n\r\n+3,\"so,u\"\"th\",4,0\n5,north,6,1",
      "some.csv", {.label = "class"});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->samples(), 3u);
  EXPECT_EQ(dataset->clients(), 2u);
  EXPECT_EQ(dataset->classes(), 3u);
  EXPECT_EQ(dataset->client_name(0), "north");
  EXPECT_EQ(dataset->client_name(1), "so,u\"th");
  EXPECT_THAT(dataset->input_shape(), ElementsAre(2));
  EXPECT_THAT(Input(*dataset, 0), ElementsAre(1, -25));
  EXPECT_THAT(Input(*dataset, 1), ElementsAre(3, 4));
  EXPECT_THAT(dataset->labels(), ElementsAre(2, 0, 1));
  EXPECT_THAT(dataset->rows(0), ElementsAre(0, 2));  // not neighbours in the file
}

TEST(CsvTest, ReadsPositionsAndOtherDelimiters) {
  const CsvOptions options = {.separator = ';',
                              .label = "-1",
                              .client = "0",
                              .classes = 5,
                              .columns = {"site", "a", "b", "ill"}};
  const auto dataset = ParseCsv("x;1;2;0\ny;3;4;1\n", "some.csv", options);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->classes(), 5u);
  EXPECT_EQ(dataset->client_name(1), "y");
  EXPECT_THAT(Input(*dataset, 1), ElementsAre(3, 4));

  const auto tabs =
      ParseCsv("client\ta\tlabel\n\"x\"\t\"1\"\t0\n", "some.tsv", {.separator = '\t'});
  ASSERT_TRUE(tabs.ok()) << tabs.status();
  EXPECT_THAT(Input(*tabs, 0), ElementsAre(1));
}

TEST(CsvTest, NamesFileLineAndColumnOfAnError) {
  ExpectError("a,client,label\n1,x,0\n1,x,0\noops,x,0\n", {},
              "some.csv:4: column 0 (\"a\"): \"oops\" is not a finite number");
  ExpectError("a,client,label\n\n1e999,x,0\n", {}, "some.csv:3: column 0");
  ExpectError("a,client,label\nnan,x,0\n", {}, "\"nan\" is not a finite number");
  ExpectError("a,client,label\n,x,0\n", {}, "\"\" is not a finite number");
  ExpectError("a,client,label\n1,x,1.5\n", {},
              "some.csv:2: column 2 (\"label\"): \"1.5\" is not a label");
  ExpectError("a,client,label\n1,x,-1\n", {}, "\"-1\" is not a label");
  ExpectError("a,client,label\n1,x,4000000000\n", {}, "is not a label");
  ExpectError("a,client,label\n1,x,3\n", {.classes = 3}, "label 3 where there are 3 classes");
  ExpectError("a,client,label\n1,,0\n", {},
              "some.csv:2: column 1 (\"client\"): the client is empty");
  ExpectError("a,client,label\n1,x\n", {}, "some.csv:2: 2 columns, expected 3");
  ExpectError("a,client,label\n1,x,0,9\n", {}, "some.csv:2: 4 columns, expected 3");
  ExpectError("a,client,label\n1,\"x,0\n", {},
              "some.csv:2: column 1 (\"client\"): a quoted field does not end; close the quote");
  ExpectError("a,client,label\n1,\"x\"y,0\n", {}, "text after a quoted field");
}

TEST(CsvTest, SaysWhichColumnIsMissing) {
  ExpectError("a,b,label\n1,x,0\n", {}, "some.csv:1: there is no client column \"client\"");
  ExpectError("a,b,label\n1,x,0\n", {}, "set `data.csv_client_column` to \"\" if every row");
  ExpectError("a,client,b\n1,x,0\n", {.label = "class"}, "there is no label column \"class\"");
  ExpectError("1,x,0\n", {.columns = {"a", "clients", "label"}},
              "some.csv: there is no client column \"client\"; column \"clients\" may be meant");
  ExpectError("a,client,b\n1,x,0\n", {.label = "3"},
              "the label column is at position 3, the file has 3 columns");
  ExpectError("a,client,b\n1,x,0\n", {.label = "-4"}, "position -4");
  ExpectError("a,client,client\n1,x,0\n", {.label = "0"}, "\"client\" exists 2 times");
  ExpectError("a,b,client\n1,x,0\n", {}, "cannot be both label and client");
  ExpectError("client,label\nx,0\n", {}, "there must be a feature");
}

TEST(CsvTest, AFileWithoutRowsIsAnError) {
  ExpectError("", {}, "some.csv: the file has no rows");
  ExpectError(" \n\r\n", {}, "some.csv: the file has no rows");
  ExpectError("a,client,label\n\n", {}, "some.csv: the file has no rows below its header");
}

CsvOptions Patients() {
  CsvOptions options;
  options.client = "";
  options.label = "num";
  options.label_above = 0;
  options.person = "id";
  options.missing = {"?", ""};
  options.features = {*ParseCsvFeature("age 0..100"), *ParseCsvFeature("chol 50..650 indicator")};
  return options;
}

TEST(CsvTest, DescribedFeaturesAreScaledAndMissingValuesSaySo) {
  const auto dataset = ParseCsv("id,chol,num,age,unused\na,350,0,50,x\nb,?,3,100,y\na,,0.5,0,\n",
                                "north.data", Patients());
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->clients(), 1u);
  EXPECT_EQ(dataset->client_name(0), "north");
  EXPECT_EQ(dataset->classes(), 2u);
  EXPECT_THAT(dataset->labels(), ElementsAre(0, 1, 1));
  EXPECT_THAT(Input(*dataset, 0), ElementsAre(0, 0, 0));
  EXPECT_THAT(Input(*dataset, 1), ElementsAre(1, 0, 1));
  EXPECT_THAT(Input(*dataset, 2), ElementsAre(-1, 0, 1));
  ASSERT_TRUE(dataset->has_persons());
  EXPECT_EQ(dataset->person(0), dataset->person(2));
  EXPECT_NE(dataset->person(0), dataset->person(1));
}

// A reader of a refusal who knows a row must not learn that a cell of it is bad. And were the row
// gone, others would be held out, and the blocks of a sum would hold others.
TEST(CsvTest, ARowThatCannotBeReadKeepsItsPlace) {
  const CsvOptions options{.label = "ill", .client = "", .classes = 2, .person = "id"};
  const auto read = [&](std::string_view row) {
    std::string text = "id,a,ill\n";
    for (int i = 0; i < 40; ++i) {
      text += i == 20 ? fmt::format("{}\n", row) : fmt::format("p{},{},{}\n", i, i, i % 2);
    }
    table::ProblemSummary problems;
    CsvReader reader(options, {.of_rows = [&](const auto& problem) { problems.Add(problem); }});
    EXPECT_TRUE(reader.Add(text, "nord.csv").ok()) << row;
    EXPECT_EQ(problems.empty(), row == "p20,20,0") << row;
    auto dataset = reader.Finish("nord.csv");
    EXPECT_TRUE(dataset.ok()) << row << dataset.status();
    return *std::move(dataset);
  };
  const Dataset good = read("p20,20,0");
  const Split expected(good, 1, 0.3, accounting::Unit::kRecord);
  for (const char* row : {"p20,36y,0", "p20,20,yes", "p20,20,2", ",20,0", "p20,20", "p20,20,0,1",
                          "p20,\"20,0", "\"p20\"x,20,0", "p20,1e99,0", "p20,\xFC,0"}) {
    const Dataset dataset = read(row);
    ASSERT_EQ(dataset.samples(), 40u) << row;
    EXPECT_EQ(dataset.readable_samples(), 39u) << row;
    EXPECT_FALSE(dataset.is_readable(20)) << row;
    EXPECT_THAT(Input(dataset, 21), ElementsAre(21)) << row;
    std::set<uint32_t> persons;
    for (uint64_t i = 0; i < 40; ++i) persons.insert(dataset.person(i));
    EXPECT_EQ(persons.size(), 40u) << row;
    const Split split(dataset, 1, 0.3, accounting::Unit::kRecord);
    EXPECT_THAT(split.training_rows(0), ElementsAreArray(expected.training_rows(0))) << row;
    EXPECT_THAT(split.held_out_rows(), ElementsAreArray(expected.held_out_rows())) << row;
    EXPECT_FALSE(ParseCsv(fmt::format("id,a,ill\np1,1,0\n{}\n", row), "strict.csv", options).ok());
  }
}

// The columns are agreed where a file does not name them, so its first row is one like others.
TEST(CsvTest, TheFirstRowOfAFileWithoutNamesIsLeftOutLikeAnother) {
  for (const char* row : {"20;0;7", "20", "two;0", "20;yes", "\"20;0", "\"20\"x;0", "\xFC;0",
                          "a remark, with commas, and more of them", "age;ill"}) {
    table::ProblemSummary problems;
    CsvReader reader({.label = "ill", .client = "", .columns = {"age", "ill"}},
                     {.of_rows = [&](const auto& problem) { problems.Add(problem); }});
    const absl::Status added = reader.Add(fmt::format("{}\n30;1\n40;0\n", row), "nord.csv");
    ASSERT_TRUE(added.ok()) << row << added;
    EXPECT_GT(problems.count(), 0u) << row;
    ASSERT_OK_AND_ASSIGN(const Dataset dataset, reader.Finish("nord.csv"));
    EXPECT_EQ(dataset.samples(), 3u) << row;
    EXPECT_FALSE(dataset.is_readable(0)) << row;
    EXPECT_THAT(Input(dataset, 1), ElementsAre(30)) << row;
    EXPECT_THAT(dataset.labels(), ElementsAre(0, 1, 0)) << row;
  }
}

TEST(CsvTest, ARowWithoutItsClientIsLeftOut) {
  table::ProblemSummary problems;
  CsvReader reader({}, {.of_rows = [&](const auto& problem) { problems.Add(problem); }});
  ASSERT_TRUE(reader.Add("client,a,label\nx,1,0\n,2,0\nx,y,0\nz,3\n", "some.csv").ok());
  EXPECT_EQ(problems.count(), 3u);
  ASSERT_OK_AND_ASSIGN(const Dataset dataset, reader.Finish("some.csv"));
  EXPECT_EQ(dataset.clients(), 1u);
  EXPECT_EQ(dataset.samples(), 2u);
  EXPECT_EQ(dataset.readable_samples(), 1u);
}

// A label and a feature as this site's files spell them.
TEST(CsvTest, ASiteHasItsOwnSpellings) {
  CsvOptions options{.label = "ill", .client = ""};
  options.labels = base::ValueOf(table::CategoryList::Create({"no", "yes"}));
  options.features = {base::ValueOf(ParseCsvFeature("sex one-of=F,M"))};
  for (const char* list : {"sex one-of=F|femme,M|homme", "ill one-of=no|non,yes|oui"}) {
    options.spellings.push_back(base::ValueOf(table::ParseAgreedValues(list)));
  }
  const auto dataset = ParseCsv("sex,ill\nfemme,oui\nM,non\n", "nord.csv", options);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_THAT(dataset->labels(), ElementsAre(1, 0));
  EXPECT_THAT(Input(*dataset, 0), ElementsAre(1, 0));
  EXPECT_THAT(Input(*dataset, 1), ElementsAre(0, 1));
}

TEST(CsvTest, ColumnsOfFilesWithoutHeaderCanBeNamed) {
  CsvOptions options = Patients();
  options.person = "";
  options.columns = {"age", "chol", "num"};
  const auto dataset = ParseCsv("20,60,0\n", "south.data", options);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  ExpectError("20,60,0,1\n", options,
              "some.csv:1: 4 columns, expected 3; delete the line if it is a remark");
  ExpectError("", options, "some.csv: the file has no rows");
  ExpectError("20,60,0\n20,700,0\n", options,
              "some.csv:2: column 1 (\"chol\"): 700 is outside the agreed bounds 50..650");
}

TEST(CsvTest, WhatIsAgainstTheDescriptionNamesFileLineAndColumn) {
  const CsvOptions options = Patients();
  ExpectError("id,num,age\na,0,50\n", options, "some.csv:1: there is no feature column \"chol\"");
  ExpectError("chol,num,age\n60,0,50\n", options, "some.csv:1: there is no person column \"id\"");
  ExpectError("id,chol,num,age\n,60,0,50\n", options,
              "some.csv:2: column 0 (\"id\"): the person is empty");
  ExpectError("id,chol,num,age\na,60,0,101\n", options,
              "some.csv:2: column 3 (\"age\"): 101 is outside the agreed bounds 0..100");
  ExpectError("id,chol,num,age\na,60,0,?\n", options,
              "some.csv:2: column 3 (\"age\"): the value is missing");
  ExpectError("id,chol,num,age\na,high,0,1\n", options,
              "some.csv:2: column 1 (\"chol\"): \"high\" is not a finite number");
  ExpectError("id,chol,num,age\na,60,?,1\n", options,
              "some.csv:2: column 2 (\"num\"): \"?\" is not a label");
  CsvOptions classes = options;
  classes.label_above.reset();
  classes.classes = 2;
  ExpectError("id,chol,num,age\na,60,2,1\n", classes,
              "some.csv:2: column 2 (\"num\"): label 2 where there are 2 classes");
  classes.label = "age";
  ExpectError("id,chol,num,age\na,60,2,1\n", classes, "cannot be both label and feature");
}

TEST(CsvTest, SeveralFilesAreOneDataSetOfOneClientEach) {
  CsvReader reader(Patients());
  ASSERT_TRUE(reader.Add("id,chol,num,age\na,60,0,1\n", "x/north.csv").ok());
  ASSERT_TRUE(reader.Add("age,num,id,chol\n1,1,a,60\n2,0,c,?\n", "x/south.csv").ok());
  const auto dataset = reader.Finish("x");
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->name(), "x");
  EXPECT_EQ(dataset->clients(), 2u);
  EXPECT_EQ(dataset->client_name(1), "south");
  EXPECT_THAT(dataset->rows(1), ElementsAre(1, 2));
  EXPECT_EQ(Input(*dataset, 0), Input(*dataset, 1));
  EXPECT_EQ(dataset->person(0), dataset->person(1));  // one person at two sites
}

TEST(CsvTest, FilesWithoutDescriptionMustHaveTheSameFeatures) {
  CsvOptions options;
  options.client = "";
  const auto second = [&](std::string_view text) {
    CsvReader reader(options);
    EXPECT_TRUE(reader.Add("a,b,label\n1,2,0\n", "north.csv").ok());
    return base::Message(reader.Add(text, "south.csv"));
  };
  EXPECT_EQ(second("a,b,label\n1,2,0\n"), "");
  EXPECT_THAT(second("a,label\n1,0\n"), HasSubstr("south.csv:1: 1 features where north.csv has 2"));
  EXPECT_THAT(second("a,c,label\n1,2,0\n"),
              HasSubstr("south.csv:1: column 1 (\"c\"): north.csv has \"b\" in its place"));
}

// Until 0.2 the row's number was a feature, without a word.
TEST(CsvTest, AColumnWithoutANameIsNoFeature) {
  for (const char* text :
       {"\"\",\"a\",\"ill\"\n\"1\",60,0\n\"2\",70,1\n", "Unnamed: 0,a,ill\n0,60,0\n1,70,1\n",
        "\"a\",\"ill\"\n\"1\",60,0\n\"2\",70,1\n", "a;ill\n1;60;0\n2;70;1\n",
        "a,ill,\n60,0,\n70,1,\n", "a,ill\n60,0,\n70,1,\n", "a,ill,,\n60,0\n70,1\n"}) {
    // The label is the last column with a name.
    const auto dataset = ParseCsv(text, "some.csv", {.label = "-1", .client = ""});
    ASSERT_TRUE(dataset.ok()) << dataset.status() << text;
    EXPECT_THAT(dataset->input_shape(), ElementsAre(1)) << text;
    EXPECT_THAT(Input(*dataset, 1), ElementsAre(70)) << text;
    EXPECT_THAT(dataset->labels(), ElementsAre(0, 1)) << text;
  }
  CsvReader reader({.label = "ill", .client = ""});
  ASSERT_TRUE(reader.Add(",a,ill\n1,60,0\n", "r.csv").ok());
  ASSERT_EQ(reader.warnings().size(), 1u);
  EXPECT_THAT(reader.warnings()[0], HasSubstr("r.csv: column 0 (\"\") has no name of its own"));
  ExpectError("a,b,ill\n1,63,5,0\n2,64,5,1\n", {.label = "ill", .client = ""},
              "some.csv:2: 4 columns, expected 3");
}

TEST(CsvTest, SeparatorsOfThousandsAreAgreed) {
  CsvOptions options = Patients();
  options.thousands = table::Thousands::kBlank;
  options.features = {*ParseCsvFeature("cost 0..10000"), *ParseCsvFeature("code one-of='1 000',x")};
  const auto dataset =
      ParseCsv("id,cost,code,num\na,5 000,1 000,1 000\nb,2500.0,x,0\n", "some.csv", options);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_THAT(Input(*dataset, 0), ElementsAre(0, 1, 0));
  EXPECT_THAT(Input(*dataset, 1), ElementsAre(-0.5, 0, 1));
  EXPECT_THAT(dataset->labels(), ElementsAre(1, 0));
  ExpectError("id,cost,code,num\na,5 00,x,1\n", options, "\"5 00\" is not a finite number");
  options.thousands = table::Thousands::kUnsaid;
  ExpectError("id,cost,code,num\na,5 000,x,1\n", options, "\"5 000\" is not a finite number");
}

// R's write.table writes this form by default.
TEST(CsvTest, BlanksDoNotSeparate) {
  const auto refusal =
      base::Message(ParseCsv("\"a\" \"ill\"\n\"1\" 60 0\n", "r.csv", {.client = ""}).status());
  EXPECT_THAT(refusal, HasSubstr("Blanks do not separate: in R give write.table sep = \",\""));
}

TEST(CsvTest, AWorkbookIsRefusedWithWhatReadsIt) {
  const base::TemporaryFolder folder;
  const auto refusal = [&](const std::filesystem::path& path) {
    return base::Message(LoadDataset(path, {}).status());
  };
  std::ofstream(folder.path() / "north.xlsx") << "PK\x03\x04";
  EXPECT_THAT(
      refusal(folder.path()),
      HasSubstr("north.xlsx: this program reads CSV files. Save it as \"CSV UTF-8\", or let "
                "the Python package do so: python3 -m tacet.table_files north.xlsx "
                "north.csv"));
  EXPECT_THAT(refusal(folder.path() / "north.xlsx"), HasSubstr("this program reads CSV files"));
  std::ofstream(folder.path() / "north.txt") << "a\tlabel\n1\t0\n";
  EXPECT_TRUE(LoadDataset(folder.path() / "north.txt", {.client = ""}).ok());
}

TEST(CsvTest, AFolderInPlaceOfAFileIsRefused) {
  const std::filesystem::path folder = testing::TempDir() + "tacet_csv_folder";
  std::filesystem::create_directories(folder / "rows.csv");
  EXPECT_THAT(base::Message(LoadCsv(folder, {}).status()),
              HasSubstr("rows.csv: this is a folder, expected a file"));
  std::filesystem::remove_all(folder);
}

TEST(CsvTest, NamesAFileThatCannotBeRead) {
  const auto dataset = LoadCsv("/nowhere/rows.csv", {});
  EXPECT_EQ(dataset.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(base::Message(dataset.status()), HasSubstr("/nowhere/rows.csv"));
}

}  // namespace
}  // namespace tacet::data
