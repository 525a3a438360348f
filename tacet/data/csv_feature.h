// Encoding of one table column as model inputs. It uses public constants only, never statistics of
// the data.
#ifndef TACET_DATA_CSV_FEATURE_H_
#define TACET_DATA_CSV_FEATURE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/table/category_list.h"
#include "tacet/table/number_text.h"
#include "tacet/table/table_problem.h"

namespace tacet::data {

// A column x becomes, in this order:
//   with bounds      2 (x - low) / (high - low) - 1, in [-1, 1];
//   with categories  for each of them 1 where x belongs to it, else 0;
//   then, with `indicator`, 1 where the value is missing, else 0.
// In place of a missing value stands `constant` (bounds) or zeros (categories).
struct CsvFeature {
  std::string column;  // header or position, as in CsvOptions
  double low = 0;      // low < high, or both 0 with categories
  double high = 0;
  table::CategoryList categories;  // empty: bounds
  bool clamp = false;  // values outside count as the nearest bound; else they are errors
  bool may_be_missing = false;
  table::CategoryList absent;  // numbers and texts that mean "missing"
  double constant = 0;         // scaled already, in [-1, 1]
  bool indicator = false;

  size_t width() const {
    return (categories.empty() ? 1 : categories.size()) + (indicator ? 1 : 0);
  }
};

// Reads words separated by blanks: COLUMN, then LOW..HIGH or one-of=A,B,..., then any of
//   clamp          values outside LOW..HIGH count as the nearest bound
//   missing=C      a value may be missing; C in [-1, 1] replaces it
//   indicator      a value may be missing; a further column says so (in its place stands 0)
//   absent=X       X means "missing"; may be repeated; needs missing= or indicator
// Single quotes hold blanks, commas and single quotes (written twice) together:
// "'age in years' 0..120", "thal one-of='not known',normal". Categories are those of CategoryList.
// InvalidArgument quotes the text and the word that is wrong.
absl::StatusOr<CsvFeature> ParseCsvFeature(std::string_view text);

// Appends feature.width() values, or the fault of the field and nothing. `field` is none when it is
// missing.
std::optional<table::ValueFault> AppendFeature(const CsvFeature& feature,
                                               std::optional<std::string_view> field,
                                               table::DecimalMark mark,
                                               std::vector<float>& features);

}  // namespace tacet::data

#endif  // TACET_DATA_CSV_FEATURE_H_
