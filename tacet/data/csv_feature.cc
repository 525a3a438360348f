#include "tacet/data/csv_feature.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "fmt/ranges.h"

#include "tacet/base/status.h"

namespace tacet::data {
namespace {

constexpr size_t kMaxCategories = 1000;

std::optional<double> ParseFinite(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

bool ReadBounds(std::string_view word, CsvFeature& feature) {
  const size_t points = word.find("..");
  if (points == std::string_view::npos) return false;
  const std::optional<double> low = ParseFinite(word.substr(0, points));
  const std::optional<double> high = ParseFinite(word.substr(points + 2));
  if (!low || !high || !(*low < *high) || !std::isfinite(*high - *low)) return false;
  feature.low = *low;
  feature.high = *high;
  return true;
}

bool ReadCategories(std::string_view list, CsvFeature& feature) {
  while (true) {
    const size_t comma = list.find(',');
    const std::optional<double> category = ParseFinite(list.substr(0, comma));
    if (!category || std::ranges::count(feature.categories, *category) > 0) return false;
    feature.categories.push_back(*category);
    if (feature.categories.size() > kMaxCategories) return false;
    if (comma == std::string_view::npos) return true;
    list.remove_prefix(comma + 1);
  }
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
    const std::optional<double> constant = ParseFinite(word.substr(8));
    if (!constant || std::abs(*constant) > 1) return false;
    feature.constant = *constant;
    feature.may_be_missing = true;
    return true;
  }
  if (word.starts_with("absent=")) {
    const std::optional<double> number = ParseFinite(word.substr(7));
    if (!number) return false;
    feature.absent.push_back(*number);
    return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<CsvFeature> ParseCsvFeature(std::string_view text) {
  CsvFeature feature;
  size_t words = 0;
  for (size_t first = 0; first < text.size();) {
    const size_t end = std::min(text.find(' ', first), text.size());
    const std::string_view word = text.substr(first, end - first);
    first = end + 1;
    if (word.empty()) continue;
    bool good = true;
    if (words == 0) {
      feature.column = word;
    } else if (words == 1) {
      good = word.starts_with("one-of=") ? ReadCategories(word.substr(7), feature)
                                         : ReadBounds(word, feature);
    } else {
      good = ReadOption(word, feature);
    }
    if (!good) {
      return base::InvalidArgument(
          "feature \"{}\": \"{}\" is not {}", text, word,
          words == 1 ? "LOW..HIGH with LOW below HIGH, or one-of= and different numbers"
                     : "clamp, missing=C with C from -1 to 1, absent=NUMBER or indicator (a list "
                       "of categories knows neither clamp nor missing=)");
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

absl::Status AppendFeature(const CsvFeature& feature, std::optional<double> value,
                           std::vector<float>& features) {
  if (value.has_value() && std::ranges::count(feature.absent, *value) > 0) value.reset();
  if (!value.has_value() && !feature.may_be_missing) {
    return base::InvalidArgument("the value is missing, which this column does not allow");
  }
  if (!feature.categories.empty()) {
    if (value.has_value() && std::ranges::count(feature.categories, *value) == 0) {
      return base::InvalidArgument("{} is none of the agreed {}", *value,
                                   fmt::join(feature.categories, ", "));
    }
    for (const double category : feature.categories) {
      features.push_back(value == category ? 1.0f : 0.0f);
    }
  } else if (!value.has_value()) {
    features.push_back(static_cast<float>(feature.constant));
  } else {
    const double inside = std::clamp(*value, feature.low, feature.high);
    if (inside != *value && !feature.clamp) {
      return base::InvalidArgument("{} is outside the agreed bounds {}..{}", *value, feature.low,
                                   feature.high);
    }
    features.push_back(
        static_cast<float>(2 * (inside - feature.low) / (feature.high - feature.low) - 1));
  }
  if (feature.indicator) features.push_back(value.has_value() ? 0.0f : 1.0f);
  return absl::OkStatus();
}

}  // namespace tacet::data
