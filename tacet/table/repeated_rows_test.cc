#include "tacet/table/repeated_rows.h"

#include <fstream>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "gtest/gtest.h"

#include "tacet/base/temporary_folder_for_test.h"

namespace tacet::table {
namespace {

class RepeatedRowsTest : public testing::Test {
 protected:
  RepeatedRows Find(const std::string& text, const RowFormat& format = {}) {
    const std::filesystem::path path = folder_.path() / "a.csv";
    std::ofstream(path, std::ios::binary) << text;
    const auto rows = FindRepeatedRows(path, format);
    EXPECT_TRUE(rows.ok()) << rows.status();
    return rows.ok() ? *rows : RepeatedRows();
  }

  base::TemporaryFolder folder_;
};

// Patients with a pressure and a cost: of two rows all fields are equal with probability 1e-6.
std::string Patient(int i) {
  return fmt::format("{},{},{}\n", 20 + i * 7 % 71, 90 + i * 31 % 83, 1000 + i * 37 % 997);
}

std::string Patients(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += Patient(i);
  return text;
}

constexpr char kHeader[] = "age,sbp,cost\n";

TEST_F(RepeatedRowsTest, CopiesAreCountedWithTheirLines) {
  const RepeatedRows rows = Find(kHeader + Patients(40) + Patient(3) + Patient(39) + Patient(3) +
                                 Patient(0) + Patient(50));
  EXPECT_EQ(rows.rows, 45u);
  EXPECT_EQ(rows.repeated, 4u);
  ASSERT_EQ(rows.examples.size(), RepeatedRows::kMaxExamples);
  EXPECT_EQ(rows.examples[0].line, 42u);
  EXPECT_EQ(rows.examples[0].earlier, 5u);
  EXPECT_EQ(rows.examples[1].line, 43u);
  EXPECT_EQ(rows.examples[1].earlier, 41u);
  EXPECT_EQ(rows.examples[2].line, 44u);
  EXPECT_EQ(rows.examples[2].earlier, 5u);
  EXPECT_TRUE(rows.beyond_chance);
  EXPECT_EQ(Find(kHeader + Patients(40)).repeated, 0u);
}

// One field more or less, or fields that are joined otherwise, make another row.
TEST_F(RepeatedRowsTest, FieldsAreComparedOneByOne) {
  EXPECT_EQ(Find("a,b\n12,3\n1,23\n123,\n,123\n").repeated, 0u);
  EXPECT_EQ(Find("a,b\n12,3\n\" 12\",3\n 12 ,\"3\"\n").repeated, 2u);
}

TEST_F(RepeatedRowsTest, RowsOfFewValuesAreEqualByChance) {
  std::string sexes = "age,sex,ill\n", ages = "age\n", doubled = "age,sex\n";
  for (int i = 0; i < 300; ++i) {
    sexes += fmt::format("{},{},{}\n", 20 + i * i % 71, i * 7 % 3 == 0 ? "f" : "m", i % 2);
    ages += fmt::format("{}\n", 20 + i * i % 71);
    doubled += fmt::format("{},{}\n", 50 + i % 2, i % 3 == 0 ? "f" : "m");
  }
  // Times of day, to the minute, of rows that are all of one class.
  std::string minutes = "minute,y\n";
  for (int i = 0; i < 100; ++i) minutes += fmt::format("{},0\n", i * 37 % 1433);
  minutes += "37,0\n";
  EXPECT_EQ(Find(minutes).repeated, 1u);
  EXPECT_FALSE(Find(minutes).beyond_chance);
  for (const std::string& text : {sexes, ages, doubled}) {
    const RepeatedRows rows = Find(text);
    EXPECT_GT(rows.repeated, 30u);
    EXPECT_FALSE(rows.beyond_chance) << text.substr(0, 12);
  }
  EXPECT_FALSE(Find(std::string(kHeader) + Patients(5) + Patient(1)).beyond_chance);
}

TEST_F(RepeatedRowsTest, ATableThatWasAppendedToItselfIsBeyondChance) {
  for (const int times : {2, 3}) {
    std::string text = kHeader;
    for (int i = 0; i < times; ++i) text += Patients(200);
    const RepeatedRows rows = Find(text);
    EXPECT_EQ(rows.repeated, 200u * (times - 1));
    EXPECT_TRUE(rows.beyond_chance) << times;
  }
}

// A sample of the rows tells how often fields agree.
TEST_F(RepeatedRowsTest, LongTablesAreJudgedByASample) {
  std::string ids = "id,sex\n", sexes = "sex,ill\n";
  for (int i = 0; i < 5000; ++i) {
    ids += fmt::format("P{},{}\n", i, i % 2);
    sexes += fmt::format("{},{}\n", i % 2, i % 7);
  }
  for (int i = 0; i < 10; ++i) ids += fmt::format("P{},{}\n", i, i % 2);
  const RepeatedRows of_ids = Find(ids);
  EXPECT_EQ(of_ids.repeated, 10u);
  EXPECT_TRUE(of_ids.beyond_chance);
  const RepeatedRows of_sexes = Find(sexes);
  EXPECT_EQ(of_sexes.repeated, 5000u - 14);
  EXPECT_FALSE(of_sexes.beyond_chance);
}

// The row number that R or pandas wrote makes no row another one.
TEST_F(RepeatedRowsTest, RowNumbersTellNothing) {
  EXPECT_EQ(Find("\"\",\"age\"\n\"1\",50\n\"2\",50\n").repeated, 1u);
  EXPECT_EQ(Find("Unnamed: 0,age,...3\n0,50,7\n1,50,8\n").repeated, 1u);
  EXPECT_EQ(Find("\"age\" \"sex\"\n", {.separator = ' '}).rows, 0u);
  EXPECT_EQ(Find("\"age\"\t\"sex\"\n\"1\"\t50\t1\n\"2\"\t50\t1\n").repeated, 1u);
}

TEST_F(RepeatedRowsTest, TheFormatIsTheReaders) {
  EXPECT_EQ(Find("|remark\n1,2\n1,2\n", {.columns = 2}).repeated, 1u);
  EXPECT_EQ(Find("a;b\n1,5;2\n1,5;2\n", {.known = {"b"}, .has_decimal_comma = true}).repeated, 1u);
  EXPECT_EQ(Find("a|b;c\n1|2;3\n1|2;3\n", {.separator = '|'}).repeated, 1u);
}

// A record that cannot be split counts neither as a row nor as a copy.
TEST_F(RepeatedRowsTest, FaultyRowsDoNotCount) {
  const RepeatedRows rows = Find("a,b\n1\n1\n\"1,2\n\"1\"x,2\n\"1\"x,2\n1,2\n1,2\n");
  EXPECT_EQ(rows.rows, 2u);
  EXPECT_EQ(rows.repeated, 1u);
  EXPECT_EQ(rows.examples[0].line, 8u);
  EXPECT_EQ(Find("").rows, 0u);
  EXPECT_EQ(Find("PAR1\x15\x04\x15").rows, 0u);
  EXPECT_FALSE(FindRepeatedRows(folder_.path() / "nothing.csv", {}).ok());
}

}  // namespace
}  // namespace tacet::table
