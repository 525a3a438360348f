#include "tacet/table/thousands.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"

namespace tacet::table {
namespace {

using ::testing::HasSubstr;

std::string Without(Thousands thousands, DecimalMark decimal, std::string field) {
  RemoveThousands(thousands, decimal, field);
  return field;
}

TEST(ThousandsTest, GroupsOfThreeDigitsLoseTheirSeparators) {
  constexpr DecimalMark kPoint = DecimalMark::kPoint, kComma = DecimalMark::kComma;
  EXPECT_EQ(Without(Thousands::kComma, kPoint, "1,234"), "1234");
  EXPECT_EQ(Without(Thousands::kComma, kPoint, "-12,345,678.25"), "-12345678.25");
  EXPECT_EQ(Without(Thousands::kComma, kPoint, "+1,234e2"), "+1234e2");
  EXPECT_EQ(Without(Thousands::kPoint, kComma, "1.234,5"), "1234,5");
  EXPECT_EQ(Without(Thousands::kBlank, kComma, "1 234 567,5"), "1234567,5");
  EXPECT_EQ(Without(Thousands::kBlank, kComma,
                    "1\xC2\xA0"
                    "234"),
            "1234");
  EXPECT_EQ(Without(Thousands::kBlank, kComma,
                    "1\xE2\x80\xAF"
                    "234"),
            "1234");
  EXPECT_EQ(Without(Thousands::kApostrophe, kPoint, "1'234.5"), "1234.5");
  EXPECT_EQ(Without(Thousands::kApostrophe, kPoint,
                    "1\xE2\x80\x99"
                    "234"),
            "1234");
  EXPECT_EQ(Without(Thousands::kComma, kPoint, "980"), "980");
}

// Each of these would be another number, or a number where there was none.
TEST(ThousandsTest, OtherTextsStayAsTheyAre) {
  for (const char* text : {"1,23", "1,2345", "12,34,567", "1234,567", ",123", "1,234,", "1,234 mg",
                           "1,234.5.6", "1.234,567", "--1,234", "", "-", "a,123"}) {
    EXPECT_EQ(Without(Thousands::kComma, DecimalMark::kPoint, text), text);
  }
  EXPECT_EQ(Without(Thousands::kNone, DecimalMark::kPoint, "1,234"), "1,234");
  EXPECT_EQ(Without(Thousands::kUnsaid, DecimalMark::kPoint, "1,234"), "1,234");
  EXPECT_EQ(Without(Thousands::kPoint, DecimalMark::kComma, "1.23"), "1.23");
}

TEST(ThousandsTest, AWordOrTheDecimalMarkIsRefused) {
  EXPECT_EQ(*ThousandsOf("blank"), Thousands::kBlank);
  EXPECT_EQ(*ThousandsOf(""), Thousands::kUnsaid);
  EXPECT_THAT(base::Message(ThousandsOf("dot").status()),
              HasSubstr("\"dot\": expected none, comma, point, blank or apostrophe"));
  EXPECT_TRUE(CheckThousands(Thousands::kPoint, DecimalMark::kComma).ok());
  EXPECT_THAT(base::Message(CheckThousands(Thousands::kPoint, DecimalMark::kPoint)),
              HasSubstr("the point is the decimal mark"));
  EXPECT_THAT(base::Message(CheckThousands(Thousands::kComma, DecimalMark::kComma)),
              HasSubstr("the comma is the decimal mark"));
}

TEST(DoubtfulNumbersTest, AColumnOfThreeDigitsBehindEachMarkIsInDoubt) {
  DoubtfulNumbers column;
  for (int i = 0; i < 9; ++i) column.Add("2.150", DecimalMark::kPoint);
  column.Add("980", DecimalMark::kPoint);
  EXPECT_FALSE(column.Doubt().has_value());  // nine
  column.Add("-1.200", DecimalMark::kPoint);
  ASSERT_TRUE(column.Doubt().has_value());
  EXPECT_EQ(column.Doubt()->what,
            "all 10 numbers with a `.` have three digits behind it, as 2.150, which counts as "
            "2.150 and not as 2150");
  EXPECT_THAT(column.Doubt()->remedy, HasSubstr("`data.thousands = \"point\"`"));
  for (const char* certain : {"0.150", "2.15", "2.1500", "1234.567", "2.15e", ".150"}) {
    DoubtfulNumbers other = column;
    other.Add(certain, DecimalMark::kPoint);
    EXPECT_FALSE(other.Doubt().has_value()) << certain;
  }
}

}  // namespace
}  // namespace tacet::table
