#include "tacet/table/column.h"

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tacet::table {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

std::vector<std::string> TextsOf(const Column& column) {
  std::vector<std::string> texts;
  for (size_t row = 0; row < column.rows(); ++row) texts.push_back(column.TextOf(row));
  return texts;
}

TEST(ColumnTest, NumbersKeepAllDigits) {
  const std::vector<double> numbers = {0.1, -0.0, 1e300, 5e-324, 9007199254740993.0, kMissing};
  ColumnBuilder builder;
  for (const double number : numbers) builder.AddNumber(number);
  const Column column = std::move(builder).Finish();
  ASSERT_TRUE(column.is_numbers());
  ASSERT_EQ(column.rows(), numbers.size());
  for (size_t i = 0; i + 1 < numbers.size(); ++i) EXPECT_EQ(column.number(i), numbers[i]);
  EXPECT_TRUE(std::isnan(column.number(5)));
  EXPECT_FALSE(std::signbit(column.number(1)));  // -0 and 0 are one person
}

TEST(ColumnTest, TextsAreNumberedInTheOrderOfTheirFirstRows) {
  ColumnBuilder builder = ColumnBuilder::OfTexts();
  for (const char* text : {"m", "f", "", "m", "1", "1.0"}) builder.AddText(text);
  const Column column = std::move(builder).Finish();
  ASSERT_FALSE(column.is_numbers());
  EXPECT_EQ(column.distinct(), 5u);
  EXPECT_THAT(TextsOf(column), ElementsAre("m", "f", "", "m", "1", "1.0"));
  EXPECT_EQ(column.code(0), 0u);
  EXPECT_EQ(column.code(3), 0u);
  EXPECT_EQ(column.code(5), 4u);
  EXPECT_EQ(column.text(1), "f");
}

TEST(ColumnTest, OneTextMakesAColumnOfTexts) {
  ColumnBuilder builder;
  builder.AddNumber(1);
  builder.AddText("");
  builder.AddNumber(0.25);
  EXPECT_EQ(builder.rows(), 3u);
  builder.AddText("unknown");
  builder.AddNumber(1);
  const Column column = std::move(builder).Finish();
  EXPECT_FALSE(column.is_numbers());
  EXPECT_THAT(TextsOf(column), ElementsAre("1", "", "0.25", "unknown", "1"));
  EXPECT_EQ(column.code(0), column.code(4));
}

TEST(ColumnTest, EmptyTextsAreMissingNumbers) {
  ColumnBuilder builder;
  builder.AddText("");
  builder.AddNumber(2);
  const Column column = std::move(builder).Finish();
  EXPECT_TRUE(column.is_numbers());
  EXPECT_THAT(TextsOf(column), ElementsAre("", "2"));
}

// As a file with "-9" among the texts that mean "missing" is read.
TEST(ColumnTest, SomeNumbersMeanMissing) {
  const std::vector<std::string> texts = {"", "?", "-9", "0.50", "0.5", "1e3", "9.0"};
  EXPECT_THAT(NumbersAmong(texts), ElementsAre(-9, 0.5));
  ColumnBuilder builder(NumbersAmong(texts));
  for (const double number : {-9.0, 0.5, 9.0}) builder.AddNumber(number);
  EXPECT_THAT(TextsOf(std::move(builder).Finish()), ElementsAre("", "", "9"));
  EXPECT_THAT(NumbersAmong({}), IsEmpty());
}

// The texts that Python writes, but for whole numbers, which have no point.
TEST(ColumnTest, TextsOfNumbersAreTheShortestOnes) {
  const std::vector<std::pair<double, std::string>> cases = {
      {0, "0"},
      {-0.0, "0"},
      {61, "61"},
      {-1.5, "-1.5"},
      {0.1, "0.1"},
      {1e-7, "1e-07"},
      {0.0001, "0.0001"},
      {1e22, "10000000000000000000000"},
      {kMissing, ""},
      {1.0 / 3, "0.3333333333333333"},
      {std::numeric_limits<double>::infinity(), "inf"},
      {-std::numeric_limits<double>::infinity(), "-inf"}};
  for (const auto& [number, text] : cases) EXPECT_EQ(TextOfNumber(number), text);
}

TEST(ColumnTest, AFloatCountsAsTheNumberThatItIsWrittenWith) {
  const std::vector<double> numbers = {0.1,       -2.7, 1e-40,    3.4e38,
                                       16777216., 3e10, 123456.7, 0.3333333};
  for (const double number : numbers) {
    EXPECT_EQ(WidenedFloat(static_cast<float>(number)), number);
  }
  EXPECT_TRUE(std::isnan(WidenedFloat(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_EQ(WidenedFloat(-std::numeric_limits<float>::infinity()),
            -std::numeric_limits<double>::infinity());
}

// More cells than a block has, and texts that grow their index often.
TEST(ColumnTest, LongColumnsKeepEveryCell) {
  constexpr size_t kRows = 200'003;
  ColumnBuilder numbers;
  ColumnBuilder texts = ColumnBuilder::OfTexts();
  for (size_t row = 0; row < kRows; ++row) {
    numbers.AddNumber(static_cast<double>(row) / 7);
    texts.AddText("person " + std::to_string(row % 70'001));
  }
  const Column of_numbers = std::move(numbers).Finish(), of_texts = std::move(texts).Finish();
  ASSERT_EQ(of_numbers.rows(), kRows);
  ASSERT_EQ(of_texts.rows(), kRows);
  EXPECT_EQ(of_texts.distinct(), 70'001u);
  size_t wrong = 0;
  for (size_t row = 0; row < kRows; ++row) {
    wrong += of_numbers.number(row) != static_cast<double>(row) / 7 ? 1 : 0;
    wrong += of_texts.code(row) != row % 70'001 ? 1 : 0;
    wrong += of_texts.TextOf(row) != "person " + std::to_string(row % 70'001) ? 1 : 0;
  }
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace tacet::table
