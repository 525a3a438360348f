// The same table in the forms in which spreadsheets write it (tests/tables).
#include <filesystem>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/data/csv.h"
#include "tacet/data/csv_for_test.h"

namespace tacet::data {
namespace {

using table::CategoryList;
using table::DecimalMark;

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::filesystem::path Table(const std::string& name) {
  return std::filesystem::path(TACET_SOURCE_DIR) / "tests/tables" / name;
}

CsvOptions Agreed(DecimalMark decimal = DecimalMark::kPoint) {
  CsvOptions options;
  options.decimal = decimal;
  options.client = "clinic";
  options.label = "diagnosis";
  options.labels = *CategoryList::Create({"no|0", "yes|1"});
  options.missing = {""};
  options.features = {*ParseCsvFeature("'age (years)' 0..114"),
                      *ParseCsvFeature("sex one-of=w|f,m"),
                      *ParseCsvFeature("chol 0..467 missing=0 indicator"),
                      *ParseCsvFeature("smoker one-of=0|no,1|yes")};
  return options;
}

void ExpectTheTable(const std::string& file, const CsvOptions& options) {
  const auto dataset = LoadCsv(Table(file), options);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_THAT(dataset->labels(), ElementsAre(0, 1, 1, 0));
  EXPECT_EQ(dataset->classes(), 2u);
  EXPECT_EQ(dataset->clients(), 2u);
  EXPECT_EQ(dataset->client_name(0), "Zürich");
  EXPECT_EQ(dataset->client_name(1), "Genève, HUG");
  EXPECT_THAT(dataset->rows(1), ElementsAre(2, 3));
  EXPECT_THAT(Input(*dataset, 0),
              ElementsAre(::testing::FloatNear(6.0f / 57, 1e-6f), 1, 0, 0, 0, 0, 1));
  EXPECT_THAT(Input(*dataset, 2), ElementsAre(0, 0, 1, 0, 1, 0, 1));
  EXPECT_NEAR(Input(*dataset, 3)[0], 29.5 / 57 - 1, 1e-6);
  EXPECT_NEAR(Input(*dataset, 3)[3], 2 * 180.25 / 467 - 1, 1e-6);
}

class SpreadsheetTest : public testing::TestWithParam<const char*> {};

TEST_P(SpreadsheetTest, ReadsTheSameTable) { ExpectTheTable(GetParam(), Agreed()); }
INSTANTIATE_TEST_SUITE_P(Files, SpreadsheetTest,
                         testing::Values("libreoffice.csv", "libreoffice-tabs.tsv",
                                         "excel-utf8.csv", "excel-sep-line.csv", "excel-mac.csv",
                                         "pandas.csv", "libreoffice-utf16.csv",
                                         "excel-unicode-text.csv"));

class GermanSpreadsheetTest : public testing::TestWithParam<const char*> {};

TEST_P(GermanSpreadsheetTest, ReadsTheSameTableWithADecimalComma) {
  ExpectTheTable(GetParam(), Agreed(DecimalMark::kComma));
  const auto as_points = LoadCsv(Table(GetParam()), Agreed());
  EXPECT_THAT(base::Message(as_points.status()),
              AllOf(HasSubstr(GetParam()), HasSubstr(": column 3 (\"chol\"): \"233,5\""),
                    HasSubstr("set `data.csv_decimal = \"comma\"`")));
}
INSTANTIATE_TEST_SUITE_P(Files, GermanSpreadsheetTest,
                         testing::Values("libreoffice-german.csv", "libreoffice-german-commas.csv",
                                         "excel-german-utf8.csv"));

TEST(SpreadsheetEncodingTest, OtherEncodingsAreRefusedByName) {
  const auto refusal = [](const char* file) {
    return base::Message(LoadCsv(Table(file), Agreed()).status());
  };
  EXPECT_THAT(
      refusal("libreoffice-windows-1252.csv"),
      HasSubstr("libreoffice-windows-1252.csv:3: byte 0xfc is not UTF-8 (the file may be in "
                "Windows-1252 or Latin-1)"));
}

}  // namespace
}  // namespace tacet::data
