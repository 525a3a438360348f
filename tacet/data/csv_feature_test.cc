#include "tacet/data/csv_feature.h"

#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"

namespace tacet::data {
namespace {

using table::DecimalMark;

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<float> Values(const std::string& text, std::optional<std::string_view> field,
                          DecimalMark mark = DecimalMark::kPoint) {
  const auto feature = ParseCsvFeature(text);
  EXPECT_TRUE(feature.ok()) << feature.status();
  if (!feature.ok()) return {};
  std::vector<float> values;
  const auto fault = AppendFeature(*feature, field, mark, values);
  EXPECT_FALSE(fault.has_value()) << fault->what;
  EXPECT_EQ(values.size(), feature->width());
  return values;
}

std::string Refusal(const std::string& text) {
  const auto feature = ParseCsvFeature(text);
  EXPECT_FALSE(feature.ok()) << text;
  return base::Message(feature.status());
}

std::string Refusal(const std::string& text, std::optional<std::string_view> field,
                    DecimalMark mark = DecimalMark::kPoint) {
  std::vector<float> values;
  const auto fault = AppendFeature(*ParseCsvFeature(text), field, mark, values);
  EXPECT_TRUE(fault.has_value());
  EXPECT_TRUE(values.empty());
  return fault.has_value() ? fault->what + "; " + fault->remedy : "";
}

TEST(CsvFeatureTest, BoundsScaleToPlusMinusOne) {
  EXPECT_THAT(Values("age 20..80", "20"), ElementsAre(-1));
  EXPECT_THAT(Values("age  20..80 ", "50"), ElementsAre(0));
  EXPECT_THAT(Values("age 20..80", "80"), ElementsAre(1));
  EXPECT_THAT(Values("3 -2.5..1e1 clamp", "400"), ElementsAre(1));
  EXPECT_THAT(Refusal("age 20..80", "80.5"), HasSubstr("80.5 is outside the agreed bounds 20..80"));
}

TEST(CsvFeatureTest, CategoriesBecomeOneColumnEach) {
  EXPECT_THAT(Values("thal one-of=3,6,7", "6"), ElementsAre(0, 1, 0));
  EXPECT_THAT(Values("thal one-of=3,6,7 indicator", "7"), ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(Values("thal one-of=3,6,7 indicator", {}), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(Refusal("thal one-of=3,6,7", "5"), HasSubstr("\"5\" is none of the agreed 3, 6, 7"));
}

TEST(CsvFeatureTest, CategoriesMayBeTextsWithAlternatives) {
  constexpr const char* kSex = "sex one-of=female|f|w,male|m,'not known' indicator";
  EXPECT_THAT(Values(kSex, "w"), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(Values(kSex, "male"), ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(Values(kSex, "not known"), ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(Values(kSex, {}), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(Values("grade one-of='1,5','it''s'", "it's"), ElementsAre(0, 1));
  EXPECT_THAT(Values("smoker one-of=0|no,1|yes", "1.0"), ElementsAre(0, 1));  // as numbers
  EXPECT_THAT(Values("smoker one-of=0|no,1|yes", "1,0", DecimalMark::kComma), ElementsAre(0, 1));
  EXPECT_THAT(Values("stage one-of=1,2 absent=unknown indicator", "unknown"), ElementsAre(0, 0, 1));
  EXPECT_THAT(Refusal(kSex, "Male"),
              HasSubstr("\"Male\" is none of the agreed female|f|w, male|m, not known; write "
                        "\"male\" if that is meant"));
  EXPECT_THAT(Refusal("sex one-of=f,m|f"), HasSubstr("\"one-of=f,m|f\""));
  EXPECT_THAT(Refusal("sex one-of=1,m|1.0"), HasSubstr("\"one-of=1,m|1.0\""));
  EXPECT_THAT(Refusal("sex one-of=f|,m"), HasSubstr("\"one-of=f|,m\""));
  EXPECT_THAT(Refusal("sex one-of='f,m"), HasSubstr("a single quote is not closed"));
}

TEST(CsvFeatureTest, ColumnNamesWithBlanksStandInSingleQuotes) {
  EXPECT_EQ(ParseCsvFeature("'age in years' 0..120")->column, "age in years");
  EXPECT_EQ(ParseCsvFeature("'l''age' 0..120")->column, "l'age");
  EXPECT_THAT(Refusal("age in years 0..120"), HasSubstr("stands in single quotes"));
}

TEST(CsvFeatureTest, ANumberThatIsNoneSaysTheLikelyReason) {
  EXPECT_THAT(Values("age 0..100", "2,5e1", DecimalMark::kComma), ElementsAre(-0.5f));
  EXPECT_THAT(Refusal("age 0..100", "2,5"),
              HasSubstr("\"2,5\" is not a finite number; if the file writes numbers with a decimal "
                        "comma, set `data.csv_decimal = \"comma\"`"));
  EXPECT_THAT(Refusal("age 0..100", "2.5", DecimalMark::kComma),
              HasSubstr("`data.csv_decimal = \"point\"`"));
  for (const DecimalMark mark : {DecimalMark::kPoint, DecimalMark::kComma}) {
    EXPECT_THAT(Refusal("age 0..1e9", "1.234,5", mark), HasSubstr("separators of thousands"));
  }
  EXPECT_THAT(Refusal("age 0..100", "25 years"), HasSubstr("write the number alone"));
  EXPECT_THAT(Refusal("age 0..100", "NA"), HasSubstr("add \"NA\" to `data.csv_missing`"));
  EXPECT_THAT(Refusal("age 0..100", "inf"), HasSubstr("\"inf\" is not a finite number"));
  EXPECT_THAT(Refusal("age 0..100", "+-5"), HasSubstr("is not a finite number"));
  EXPECT_THAT(Refusal("age 0..100",
                      "\xEF\xBB\xBF"
                      "25"),
              HasSubstr("remove the invisible byte order mark (U+FEFF)"));
  for (const char* date : {"2024-05-01", "1.5.2024", "01/05/24", "2024-05-01 12:30:00"}) {
    EXPECT_THAT(Refusal("age 0..100", date), HasSubstr("that is a date")) << date;
  }
  for (const char* number : {"1.234.567", "12.345.67", "1-2", "1-2-3"}) {
    EXPECT_THAT(Refusal("age 0..100", number), Not(HasSubstr("that is a date"))) << number;
  }
}

TEST(CsvFeatureTest, MissingValuesBecomeConstants) {
  EXPECT_THAT(Values("chol 0..600 missing=-0.25", {}), ElementsAre(-0.25f));
  EXPECT_THAT(Values("chol 0..600 indicator", {}), ElementsAre(0, 1));
  EXPECT_THAT(Values("chol 0..600 indicator", "600"), ElementsAre(1, 0));
  EXPECT_THAT(Values("chol 50..600 absent=0 absent=-9 indicator", "0"), ElementsAre(0, 1));
  EXPECT_THAT(Values("chol 50..600 absent=0 absent=-9 missing=1", "-9"), ElementsAre(1));
  EXPECT_THAT(Refusal("chol 50..600", std::nullopt), HasSubstr("the value is missing"));
}

TEST(CsvFeatureTest, RefusalsQuoteTheWord) {
  EXPECT_THAT(Refusal(""), HasSubstr("expected a column and LOW..HIGH"));
  EXPECT_THAT(Refusal("age"), HasSubstr("expected a column and LOW..HIGH"));
  EXPECT_THAT(Refusal("age 80..20"), HasSubstr("\"80..20\" is not LOW..HIGH"));
  EXPECT_THAT(Refusal("age 1..nan"), HasSubstr("\"1..nan\""));
  EXPECT_THAT(Refusal("age -1e308..1e308"), HasSubstr("\"-1e308..1e308\""));
  EXPECT_THAT(Refusal("thal one-of=3,3"), HasSubstr("\"one-of=3,3\""));
  EXPECT_THAT(Refusal("thal one-of="), HasSubstr("\"one-of=\""));
  EXPECT_THAT(Refusal("age 1..2 missing=1.5"), HasSubstr("\"missing=1.5\" is not clamp"));
  EXPECT_THAT(Refusal("age 1..2 mean"), HasSubstr("\"mean\" is not clamp"));
  EXPECT_THAT(Refusal("thal one-of=1 clamp"), HasSubstr("\"clamp\" is not"));
  EXPECT_THAT(Refusal("age 1..2 absent=0"), HasSubstr("absent= needs missing= or indicator"));
}

}  // namespace
}  // namespace tacet::data
