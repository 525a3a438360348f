#include "tacet/table/table_text.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tacet::table {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Result = TableRecords::Result;
using Fields = std::vector<std::string>;

// Fields with `|` between, "LINE:" before, of all records; the wrong ones as <unclosed>, <text>.
std::vector<std::string> Records(std::string_view text, char separator = ',') {
  TableRecords records(text);
  std::vector<std::string> all;
  Fields fields;
  for (Result result = records.Next(separator, fields); result != Result::kEnd;
       result = records.Next(separator, fields)) {
    std::string line = std::to_string(records.line()) + ":";
    for (const std::string& field : fields) line += field + "|";
    if (result == Result::kUnclosedQuote) line = std::to_string(records.line()) + "<unclosed>";
    if (result == Result::kTextAfterQuote) line = std::to_string(records.line()) + "<text>";
    all.push_back(line);
  }
  return all;
}

TEST(TableRecordsTest, LinesEndInThreeWays) {
  EXPECT_THAT(Records("a,b\n\n1,2\n"), ElementsAre("1:a|b|", "3:1|2|"));
  EXPECT_THAT(Records("\xEF\xBB\xBF"
                      "a,b\r\n\r\n1,2"),
              ElementsAre("1:a|b|", "3:1|2|"));
  EXPECT_THAT(Records("a,b\r\r1,2\r"), ElementsAre("1:a|b|", "3:1|2|"));
  EXPECT_THAT(Records("a,b\rc\n"), ElementsAre("1:a|b\rc|"));  // CR alone where LF ends lines
  EXPECT_THAT(Records(""), ElementsAre());
  EXPECT_THAT(Records(",\n , \n\"\",\n"), ElementsAre());                       // separators alone
  EXPECT_THAT(Records("a,b\r\n1,2\r\n\x1a"), ElementsAre("1:a|b|", "2:1|2|"));  // end mark of DOS
  EXPECT_THAT(Records("1,\n,\n"), ElementsAre("1:1||"));
}

TEST(TableRecordsTest, QuotedFieldsHoldSeparatorsQuotesAndLineBreaks) {
  EXPECT_THAT(Records("\"a\nb\",\"c\"\"d\"\r\n1,\"x,y\"\n"),
              ElementsAre("1:a b|c\"d|", "3:1|x,y|"));
  EXPECT_THAT(Records("\"a\r\nb\" , \" c \"\n"), ElementsAre("1:a b|c|"));
  EXPECT_THAT(Records("\"a\rb\"\r1\r"), ElementsAre("1:a b|", "3:1|"));
  EXPECT_THAT(Records(" \xC2\xA0 1\xC2\xA0,\"2\"\xC2\xA0\n"), ElementsAre("1:1|2|"));
  EXPECT_THAT(Records("\"x\"\t1\t\n", '\t'), ElementsAre("1:x|1||"));
}

TEST(TableRecordsTest, ReadingGoesOnBehindAWrongField) {
  EXPECT_THAT(Records("1,\"a\"b\n2,3\n"), ElementsAre("1<text>", "2:2|3|"));
  EXPECT_THAT(Records("1,\"a\nb\"c\n2,3\n"), ElementsAre("2<text>", "2:b\"c|", "3:2|3|"));
  EXPECT_THAT(Records("1,\"a\n2,3\n"), ElementsAre("1<unclosed>", "2:2|3|"));
  EXPECT_THAT(Records("1,\""), ElementsAre("1<unclosed>"));
}

TEST(TableRecordsTest, ALongUnclosedQuoteIsReadOnce) {
  // Were every line tried again to the end, this would take hours.
  std::string text = "1,\"a\n";
  for (int i = 0; i < 200'000; ++i) text += "2,\"\"\n";
  EXPECT_EQ(Records(text).size(), 200'001u);
}

TEST(FindSeparatorTest, KnownColumnsDecideThenTheMostFrequent) {
  const auto find = [](std::string_view text, const Fields& known, bool comma = false) {
    TableRecords records(text);
    return FindSeparator(records, known, comma);
  };
  EXPECT_EQ(find("a,b;c,d;label\n", {"label"}), ';');  // `label` is found with both: most frequent
  EXPECT_EQ(find("a;b;label,unit\n", {"label,unit"}), ';');
  EXPECT_EQ(find("a\tb, c, d, e\tlabel\n", {"b, c, d, e"}), '\t');
  EXPECT_EQ(find("1,5;2,5;0\n", {"-1"}), std::nullopt);
  EXPECT_EQ(find("1,5;2,5;0\n", {"-1"}, true), ';');
  EXPECT_EQ(find("\"1,5\",\"2,5\",0\n", {}, true), ',');
  EXPECT_EQ(find("a|b|c\n", {}), '|');
  EXPECT_EQ(find("alone\n", {}), ',');
  EXPECT_EQ(find("", {}), ',');
}

TEST(TableRecordsTest, ALineCanNameTheSeparator) {
  TableRecords records("sep=;\r\na;b\r\n");
  EXPECT_EQ(records.TakeSeparatorLine(), ';');
  Fields fields;
  ASSERT_EQ(records.Next(';', fields), Result::kRecord);
  EXPECT_THAT(fields, ElementsAre("a", "b"));
  EXPECT_EQ(records.line(), 2u);
  EXPECT_EQ(TableRecords("sep=x\n").TakeSeparatorLine(), std::nullopt);
  EXPECT_EQ(TableRecords("separator;b\n").TakeSeparatorLine(), std::nullopt);
}

TEST(EncodingProblemTest, NamesWhatTheFileIs) {
  const auto what = [](std::string_view text) {
    const auto problem = EncodingProblem(text, "t.csv");
    return problem.has_value() ? ProblemText(*problem) : "";
  };
  using namespace std::string_view_literals;
  EXPECT_EQ(what("plain, \xC3\xA9, \xE2\x82\xAC, \xF0\x9F\xA9\xBA\n"), "");
  EXPECT_EQ(what(""), "");
  EXPECT_THAT(what("\xFF\xFE\0\0"sv), HasSubstr("t.csv: the file is in UTF-32"));
  EXPECT_THAT(what("a\0,\0b\0"sv), HasSubstr("UTF-16 without a byte order mark"));
  EXPECT_THAT(what("\0a\0,\0b"sv), HasSubstr("UTF-16 without a byte order mark"));
  EXPECT_THAT(what("abc\n1\0,2,3"sv), HasSubstr("t.csv:2: a zero byte"));
  EXPECT_THAT(what("PK\x03\x04..."), HasSubstr("a workbook (.xlsx, .ods)"));
  EXPECT_THAT(what("\xD0\xCF\x11\xE0..."), HasSubstr("an old workbook (.xls)"));
  EXPECT_THAT(what("\x1F\x8B\x08"),
              HasSubstr("compressed (gzip; an R file .rds, too), not a CSV file "
                        "in UTF-8; unpack it"));
  EXPECT_THAT(what("PAR1\x15\x04\x15\0"sv),
              HasSubstr("a Parquet file, not a CSV file in UTF-8; save "
                        "it as \"CSV UTF-8\"; the Python package"));
  EXPECT_THAT(what("ARROW1\0\0\xFF"sv), HasSubstr("an Arrow (Feather) file"));
  EXPECT_THAT(what("$FL2@(#) SPSS"), HasSubstr("an SPSS file (.sav)"));
  EXPECT_THAT(what("<stata_dta><header>"), HasSubstr("a Stata file (.dta)"));
  EXPECT_THAT(what("SQLite format 3\0\x10"sv), HasSubstr("an SQLite database"));
  EXPECT_THAT(what("BZh91AY&SY\xAB"), HasSubstr("compressed (bzip2)"));
  EXPECT_THAT(what("\x28\xB5\x2F\xFD\x24"), HasSubstr("compressed (Zstandard)"));
  EXPECT_EQ(what("PAR1,PAR2\n1,2\n"), "");  // names of columns
  EXPECT_EQ(what("BZh,b\n1,2\n"), "");
  EXPECT_THAT(what("ok\nx\xED\xA0\xBDy\n"), HasSubstr("t.csv:2: half of a character"));
  EXPECT_THAT(what("Garc\xED"
                   "a\n"),
              HasSubstr("t.csv:1: byte 0xed is not UTF-8"));
  EXPECT_THAT(what("ok\nM\xE4nner\n"), HasSubstr("t.csv:2: byte 0xe4 is not UTF-8"));
  for (const char* wrong : {"\xC0\xAF", "\xE0\x80\xAF", "\xED\xA0", "\xF4\x90\x80\x80", "\xE2\x82",
                            "\x80", "\xF5\x80\x80\x80"}) {
    EXPECT_THAT(what(wrong), HasSubstr("is not UTF-8")) << wrong;
  }
}

}  // namespace
}  // namespace tacet::table
