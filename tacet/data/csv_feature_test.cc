#include "tacet/data/csv_feature.h"

#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"

namespace tacet::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<float> Values(const std::string& text, std::optional<double> value) {
  const auto feature = ParseCsvFeature(text);
  EXPECT_TRUE(feature.ok()) << feature.status();
  std::vector<float> values;
  const absl::Status status = AppendFeature(*feature, value, values);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(values.size(), feature->width());
  return values;
}

std::string Refusal(const std::string& text) {
  const auto feature = ParseCsvFeature(text);
  EXPECT_FALSE(feature.ok()) << text;
  return base::Message(feature.status());
}

std::string Refusal(const std::string& text, std::optional<double> value) {
  std::vector<float> values;
  return base::Message(AppendFeature(*ParseCsvFeature(text), value, values));
}

TEST(CsvFeatureTest, BoundsScaleToPlusMinusOne) {
  EXPECT_THAT(Values("age 20..80", 20), ElementsAre(-1));
  EXPECT_THAT(Values("age  20..80 ", 50), ElementsAre(0));
  EXPECT_THAT(Values("age 20..80", 80), ElementsAre(1));
  EXPECT_THAT(Values("3 -2.5..1e1 clamp", 400), ElementsAre(1));
  EXPECT_THAT(Refusal("age 20..80", 80.5), HasSubstr("80.5 is outside the agreed bounds 20..80"));
}

TEST(CsvFeatureTest, CategoriesBecomeOneColumnEach) {
  EXPECT_THAT(Values("thal one-of=3,6,7", 6), ElementsAre(0, 1, 0));
  EXPECT_THAT(Values("thal one-of=3,6,7 indicator", 7), ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(Values("thal one-of=3,6,7 indicator", {}), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(Refusal("thal one-of=3,6,7", 5), HasSubstr("5 is none of the agreed 3, 6, 7"));
}

TEST(CsvFeatureTest, MissingValuesBecomeConstants) {
  EXPECT_THAT(Values("chol 0..600 missing=-0.25", {}), ElementsAre(-0.25f));
  EXPECT_THAT(Values("chol 0..600 indicator", {}), ElementsAre(0, 1));
  EXPECT_THAT(Values("chol 0..600 indicator", 600), ElementsAre(1, 0));
  EXPECT_THAT(Values("chol 50..600 absent=0 absent=-9 indicator", 0), ElementsAre(0, 1));
  EXPECT_THAT(Values("chol 50..600 absent=0 absent=-9 missing=1", -9), ElementsAre(1));
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
