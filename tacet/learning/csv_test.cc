#include "tacet/learning/csv.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"

namespace tacet::learning {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<float> Input(const Dataset& dataset, uint64_t row) {
  std::vector<float> input(dataset.input_size());
  dataset.CopyInput(row, input);
  return input;
}

void ExpectError(std::string_view text, const CsvOptions& options, const std::string& message) {
  const auto dataset = ParseCsv(text, "some.csv", options);
  ASSERT_FALSE(dataset.ok()) << text;
  EXPECT_EQ(dataset.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(base::Message(dataset.status()), HasSubstr(message));
}

TEST(CsvTest, ReadsNamedColumns) {
  const auto dataset = ParseCsv(
      "\xEF\xBB\xBF"
      "a,owner,b,class\r\n1, north ,-2.5e1,2\r\n\r\n+3,\"so,u\"\"th\",4,0\n5,north,6,1",
      "some.csv", {.label = "class"});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->samples(), 3u);
  EXPECT_EQ(dataset->owners(), 2u);
  EXPECT_EQ(dataset->classes(), 3u);
  EXPECT_EQ(dataset->owner_name(0), "north");
  EXPECT_EQ(dataset->owner_name(1), "so,u\"th");
  EXPECT_THAT(dataset->input_shape(), ElementsAre(2));
  EXPECT_THAT(Input(*dataset, 0), ElementsAre(1, -25));
  EXPECT_THAT(Input(*dataset, 1), ElementsAre(3, 4));
  EXPECT_THAT(dataset->labels(), ElementsAre(2, 0, 1));
  EXPECT_THAT(dataset->rows(0), ElementsAre(0, 2));  // not neighbours in the file
}

TEST(CsvTest, ReadsPositionsWithoutHeaderAndOtherDelimiters) {
  const CsvOptions options = {
      .delimiter = ';', .header = false, .label = "-1", .owner = "0", .classes = 5};
  const auto dataset = ParseCsv("x;1;2;0\ny;3;4;1\n", "some.csv", options);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->classes(), 5u);
  EXPECT_EQ(dataset->owner_name(1), "y");
  EXPECT_THAT(Input(*dataset, 1), ElementsAre(3, 4));

  const auto tabs = ParseCsv("owner\ta\tlabel\n\"x\"\t\"1\"\t0\n", "some.tsv", {.delimiter = '\t'});
  ASSERT_TRUE(tabs.ok()) << tabs.status();
  EXPECT_THAT(Input(*tabs, 0), ElementsAre(1));
}

TEST(CsvTest, NamesFileLineAndColumnOfAnError) {
  ExpectError("a,owner,label\n1,x,0\n1,x,0\noops,x,0\n", {},
              "some.csv:4: column 0 (\"a\"): \"oops\" is not a finite number");
  ExpectError("a,owner,label\n\n1e999,x,0\n", {}, "some.csv:3: column 0");
  ExpectError("a,owner,label\nnan,x,0\n", {}, "\"nan\" is not a finite number");
  ExpectError("a,owner,label\n,x,0\n", {}, "\"\" is not a finite number");
  ExpectError("a,owner,label\n1,x,1.5\n", {},
              "some.csv:2: column 2 (\"label\"): \"1.5\" is not a label");
  ExpectError("a,owner,label\n1,x,-1\n", {}, "\"-1\" is not a label");
  ExpectError("a,owner,label\n1,x,4000000000\n", {}, "is not a label");
  ExpectError("a,owner,label\n1,x,3\n", {.classes = 3}, "label 3 where there are 3 classes");
  ExpectError("a,owner,label\n1,,0\n", {}, "some.csv:2: column 1 (\"owner\"): the owner is empty");
  ExpectError("a,owner,label\n1,x\n", {}, "some.csv:2: 2 columns, expected 3");
  ExpectError("a,owner,label\n1,x,0,9\n", {}, "some.csv:2: 4 columns, expected 3");
  ExpectError("a,owner,label\n1,\"x,0\n", {},
              "some.csv:2: column 1 (\"owner\"): a quoted field does not end");
  ExpectError("a,owner,label\n1,\"x\"y,0\n", {}, "text after a quoted field");
}

TEST(CsvTest, SaysWhichColumnIsMissing) {
  ExpectError("a,b,label\n1,x,0\n", {}, "some.csv:1: there is no owner column \"owner\"");
  ExpectError("a,owner,b\n1,x,0\n", {.label = "class"}, "there is no label column \"class\"");
  ExpectError("1,x,0\n", {.header = false}, "read without header: give a position");
  ExpectError("1,x,0\n", {.header = false, .label = "3", .owner = "1"},
              "the label column is at position 3, the file has 3 columns");
  ExpectError("1,x,0\n", {.header = false, .label = "-4", .owner = "1"}, "position -4");
  ExpectError("a,owner,owner\n1,x,0\n", {.label = "0"}, "\"owner\" exists 2 times");
  ExpectError("a,b,owner\n1,x,0\n", {}, "cannot be both label and owner");
  ExpectError("owner,label\nx,0\n", {}, "there must be a feature");
}

TEST(CsvTest, AFileWithoutRowsIsAnError) {
  ExpectError("", {}, "some.csv: the file has no rows");
  ExpectError(" \n\r\n", {}, "some.csv: the file has no rows");
  ExpectError("a,owner,label\n\n", {}, "some.csv: the file has no rows below its header");
}

TEST(CsvTest, NamesAFileThatCannotBeRead) {
  const auto dataset = LoadCsv("/nowhere/rows.csv", {});
  EXPECT_EQ(dataset.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(base::Message(dataset.status()), HasSubstr("/nowhere/rows.csv"));
}

}  // namespace
}  // namespace tacet::learning
