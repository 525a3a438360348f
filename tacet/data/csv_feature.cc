#include "tacet/data/csv_feature.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "fmt/format.h"

#include "tacet/base/status.h"
#include "tacet/table/agreed_numbers.h"
#include "tacet/table/agreed_values.h"

namespace tacet::data {
namespace {

using table::DecimalMark;
using table::NotANumber;
using table::ParseDecimal;
using table::SplitOutsideQuotes;
using table::Unquoted;
using table::ValueFault;

bool ReadBounds(std::string_view word, CsvFeature& feature) {
  const std::optional<table::NumberRange> bounds = table::ParseNumberRange(word);
  if (!bounds.has_value()) return false;
  feature.low = bounds->low;
  feature.high = bounds->high;
  return true;
}

bool ReadCategories(std::string_view list, CsvFeature& feature) {
  std::optional<table::CategoryList> categories = table::ParseCategories(list);
  if (categories.has_value()) feature.categories = *std::move(categories);
  return !feature.categories.empty();
}

bool ReadOption(std::string_view word, CsvFeature& feature) {
  if (word == "clamp" && feature.categories.empty()) {
    feature.clamp = true;
    return true;
  }
  if (word == "indicator") {
    feature.indicator = feature.may_be_missing = true;
    return true;
  }
  if (word.starts_with("missing=") && feature.categories.empty()) {
    const std::optional<double> constant = ParseDecimal(word.substr(8), DecimalMark::kPoint);
    if (!constant || std::abs(*constant) > 1) return false;
    feature.constant = *constant;
    feature.may_be_missing = true;
    return true;
  }
  return word.starts_with("absent=") && feature.absent.Add(Unquoted(word.substr(7))).ok();
}

std::optional<ValueFault> AppendCategory(const CsvFeature& feature,
                                         std::optional<std::string_view> field, DecimalMark mark,
                                         std::vector<float>& features) {
  const std::optional<size_t> found =
      field.has_value() ? feature.categories.Find(*field, mark) : std::nullopt;
  if (field.has_value() && !found.has_value()) return feature.categories.NotAmong(*field);
  for (size_t i = 0; i < feature.categories.size(); ++i) {
    features.push_back(found == i ? 1.0f : 0.0f);
  }
  return std::nullopt;
}

std::optional<ValueFault> AppendNumber(const CsvFeature& feature,
                                       std::optional<std::string_view> field, DecimalMark mark,
                                       std::vector<float>& features) {
  if (!field.has_value()) {
    features.push_back(static_cast<float>(feature.constant));
    return std::nullopt;
  }
  const std::optional<double> value = ParseDecimal(*field, mark);
  if (!value.has_value()) return NotANumber(*field, mark);
  const double inside = std::clamp(*value, feature.low, feature.high);
  if (inside != *value && !feature.clamp) {
    return ValueFault{
        .what = fmt::format("{} is outside the agreed bounds {}..{}", *value, feature.low,
                            feature.high),
        .remedy = "correct the value, or agree on wider bounds or `clamp` in `data.csv_features`"};
  }
  features.push_back(
      static_cast<float>(2 * (inside - feature.low) / (feature.high - feature.low) - 1));
  return std::nullopt;
}

}  // namespace

absl::StatusOr<CsvFeature> ParseCsvFeature(std::string_view text) {
  CsvFeature feature;
  const auto pieces = SplitOutsideQuotes(text, ' ');
  if (!pieces.has_value()) {
    return base::InvalidArgument("feature \"{}\": a single quote is not closed", text);
  }
  size_t words = 0;
  for (const std::string_view word : *pieces) {
    if (word.empty()) continue;
    bool good = true;
    if (words == 0) {
      feature.column = Unquoted(word);
    } else if (words == 1) {
      good = word.starts_with("one-of=") ? ReadCategories(word.substr(7), feature)
                                         : ReadBounds(word, feature);
    } else {
      good = ReadOption(word, feature);
    }
    if (!good) {
      return base::InvalidArgument(
          "feature \"{}\": \"{}\" is not {}", text, word,
          words == 1 ? "LOW..HIGH with LOW below HIGH, or one-of= and different categories (a "
                       "column name with blanks stands in single quotes)"
                     : "clamp, missing=C with C from -1 to 1, absent=X or indicator (a list of "
                       "categories knows neither clamp nor missing=)");
    }
    ++words;
  }
  if (words < 2) {
    return base::InvalidArgument(
        "feature \"{}\": expected a column and LOW..HIGH or one-of=A,B,...", text);
  }
  if (!feature.absent.empty() && !feature.may_be_missing) {
    return base::InvalidArgument(
        "feature \"{}\": absent= needs missing= or indicator, which give the value of a missing "
        "entry",
        text);
  }
  return feature;
}

std::optional<ValueFault> AppendFeature(const CsvFeature& feature,
                                        std::optional<std::string_view> field, DecimalMark mark,
                                        std::vector<float>& features) {
  if (field.has_value() && feature.absent.Find(*field, mark).has_value()) field.reset();
  if (!field.has_value() && !feature.may_be_missing) {
    return ValueFault{.what = "the value is missing, which this column does not allow",
                      .remedy =
                          "fill it in, or agree on `missing=` or `indicator` for the column "
                          "in `data.csv_features`"};
  }
  std::optional<ValueFault> fault = feature.categories.empty()
                                        ? AppendNumber(feature, field, mark, features)
                                        : AppendCategory(feature, field, mark, features);
  if (!fault.has_value() && feature.indicator) features.push_back(field.has_value() ? 0.0f : 1.0f);
  return fault;
}

}  // namespace tacet::data
