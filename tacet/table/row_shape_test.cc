#include "tacet/table/row_shape.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/table/table_text.h"

namespace tacet::table {
namespace {

using ::testing::HasSubstr;

// A table as its rows are read: names, rows and faults with `|` between fields.
struct Reading {
  std::vector<std::string> lines;
  std::string fault;  // of the table
};

Reading Read(const std::string& text, char separator = ',') {
  TableRecords records(text);
  std::vector<std::string> fields;
  Reading reading;
  const auto add = [&] {
    std::string line;
    for (const std::string& field : fields) line += (line.empty() ? "" : "|") + field;
    reading.lines.push_back(line);
  };
  if (records.Next(separator, fields) != TableRecords::Result::kRecord) return reading;
  RowShape shape = RowShape::OfHeader(fields, separator);
  add();
  while (records.Next(separator, fields) == TableRecords::Result::kRecord) {
    const std::optional<ValueFault> fault = shape.Fit(fields, records.first_is_quoted());
    if (fault.has_value()) fields = {"<" + fault->what + ">"};
    add();
  }
  const std::optional<ValueFault> fault = shape.FaultOfTable();
  if (fault.has_value()) reading.fault = fault->what + "; " + fault->remedy;
  return reading;
}

// The fault of a first line, whose names are to be among `known`.
std::string FaultOfFirstLine(const std::string& text, const std::vector<std::string>& known) {
  TableRecords records(text);
  const char separator = FindSeparator(records, known, false).value_or(',');
  std::vector<std::string> names;
  (void)records.Next(separator, names);
  const auto fault = FaultOfHeader(names, known, separator, records, "NAME THEM");
  return fault.has_value() ? fault->what + "; " + fault->remedy : "";
}

TEST(RowShapeTest, ARemarkIsNoLineOfNames) {
  const std::vector<std::string> known = {"age", "sex", "income"};
  const std::string rows = "39, Male, <=50K.\n50, Female, >50K.\n";
  // UCI adult begins with this line. Its `|` is taken for the separator.
  EXPECT_EQ(FaultOfFirstLine("|1x3 Cross validator\n" + rows, known),
            "this is no line of column names: it has 1 field, and the next line has 3; delete it "
            "if it is a remark; if the file has no names, NAME THEM");
  EXPECT_THAT(FaultOfFirstLine("Export of ward 7, May\n" + rows, known), HasSubstr("has 2 fields"));
  EXPECT_THAT(FaultOfFirstLine("Export\nage;sex\n1;2\n", known), HasSubstr("next line has 2"));
  // Names that are others, or too few for R's row numbers, are named one by one.
  EXPECT_EQ(FaultOfFirstLine("Age,Sex,Income\n" + rows, known), "");
  EXPECT_EQ(FaultOfFirstLine("Age;Sex\n1,5;2,5\n", known), "");
  EXPECT_EQ(FaultOfFirstLine("Sex,Income\n\"1\",Male,<=50K.\n", known), "");
  // One name that is known, or none that is needed: the row below may be the wrong one.
  EXPECT_EQ(FaultOfFirstLine("age\n" + rows, known), "");
  EXPECT_EQ(FaultOfFirstLine("remark\n" + rows, {}), "");
  EXPECT_EQ(FaultOfFirstLine("remark\n", known), "");
}

// `row` of 12 rows, with # for the row's number.
std::string Table(const std::string& header, const std::string& row, int first = 1, int step = 1) {
  std::string text = header + "\n";
  for (int i = 0; i < 12; ++i) {
    for (const char letter : row) {
      text += letter == '#' ? std::to_string(first + step * i) : std::string(1, letter);
    }
    text += "\n";
  }
  return text;
}

TEST(RowShapeTest, RowNumbersOfWriteTableAreNoColumn) {
  for (const auto& [text, separator] :
       {std::pair(Table("\"age\",\"sex\"", "\"#\",63,\"f\""), ','),
        {Table("\"age\"\t\"sex\"", "\"#\"\t63\t\"f\""), '\t'},
        {Table("age;sex", "#;63;f"), ';'},
        {Table("age;sex", "#;63;f", 0), ';'}}) {  // pandas counts from 0
    const Reading reading = Read(text, separator);
    EXPECT_EQ(reading.fault, "") << text;
    EXPECT_EQ(reading.lines[0], "age|sex");
    for (size_t i = 1; i < reading.lines.size(); ++i) EXPECT_EQ(reading.lines[i], "63|f");
  }
  // Rows of a subset: numbers are left out, and still increase.
  std::string gaps = Table("age;sex", "#;63;f");
  gaps.replace(gaps.find("5;63"), 5, "");
  EXPECT_EQ(Read(gaps, ';').fault, "");
}

// Each would be read one column off.
TEST(RowShapeTest, OtherFieldsInExcessAreNeverTakenForRowNumbers) {
  for (const auto& [text, separator] :
       {std::pair(Table("age,bp", "63,5,120"), ','),     // 63.5 with a decimal comma
        {Table("time,bp", "#,5,120"), ','},              // 1.5, 2.5, ... with a decimal comma
        {Table("id;age", "63;120;5"), ';'},              // a name is lost
        {Table("age;sex", "#;63;f", 40), ';'},           // identifiers from 40 on
        {Table("age;sex", "#;63;f", 12, -1), ';'},       // rows in another order
        {Table("\"age\",\"sex\"", "\"M#\",63,f"), ','},  // texts
        {Table("\"age\",\"bp\"", "\"#\",63,", 1), ','},  // the last column is missing, or a comma
        {Table("age,sex", "63"), ','}}) {
    const Reading reading = Read(text, separator);
    EXPECT_THAT(reading.fault, HasSubstr("of its 12 rows have another number of fields"))
        << text << reading.lines[1];
    EXPECT_THAT(reading.fault, HasSubstr("row.names = FALSE"));
    // Among numbers that fall, the one that happens to be its row's.
    EXPECT_LE(std::ranges::count(reading.lines, "63|f"), 1) << text;
  }
}

TEST(RowShapeTest, SeparatorsBehindTheLastColumnAreNoFields) {
  for (const std::string& text :
       {Table("age,sex,", "63,f,"), Table("age,sex,,", "63,f,,"), Table("age,sex,", "63,f"),
        Table("age,sex", "63,f,"), Table("age,sex,,", "63,f,")}) {
    const Reading reading = Read(text);
    EXPECT_EQ(reading.fault, "") << text;
    for (size_t i = 1; i < reading.lines.size(); ++i) EXPECT_EQ(reading.lines[i], "63|f") << text;
  }
  // A value without a name is nobody's.
  EXPECT_EQ(Read("age,sex,\n63,f,1\n").lines[1], "<3 columns, expected 2>");
  EXPECT_EQ(Read("age,sex\n63,f,\n64,m,1\n").lines[2], "<3 columns, expected 2>");
  EXPECT_EQ(Read("age,sex\n63,f\n64,m,\n").lines[2], "<3 columns, expected 2>");
}

// A person who knows one row must not learn from a refusal what it holds.
TEST(RowShapeTest, AFewRowsDecideNothing) {
  std::string text = Table("age,sex", "63,f");
  for (int i = 0; i < 11; ++i) text += "63,f,1\n";
  EXPECT_EQ(Read(text).fault, "");
  EXPECT_NE(Read(text + "63,f,1\n63,f,1\n").fault, "");
  EXPECT_EQ(Read("age,sex\n63,5,f\n").fault, "");
  // The first row decides no shape either.
  const Reading later = Read("age;sex\n1;2;3;4\n" + Table("", "#;63;f", 2), ';');
  EXPECT_EQ(later.fault, "");
  EXPECT_EQ(later.lines[2], "63|f");
}

TEST(RowShapeTest, NamesThatSoftwareMakesUp) {
  for (const char* name : {"", "Unnamed: 0", "Unnamed: 12", "...1"}) EXPECT_TRUE(IsNameless(name));
  for (const char* name : {"X", "Unnamed: a", "Unnamed", "...", "id"}) {
    EXPECT_FALSE(IsNameless(name));
  }
}

}  // namespace
}  // namespace tacet::table
