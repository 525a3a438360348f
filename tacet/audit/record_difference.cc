#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "tacet/audit/audit_record.h"
#include "tacet/base/status.h"

namespace tacet::audit {
namespace {

using base::JsonValue;

constexpr double kTolerance = 1e-6;
constexpr double kTooLow = 1e-9;
constexpr size_t kMaxShown = 80;

bool IsProse(std::string_view name) {
  return name == "statement" || name == "note" || name == "reason";
}

bool IsComputed(std::string_view name) {
  return name == "epsilon" || name == "epsilon_lower" || name == "order" || name == "delta" ||
         name == "charged_epsilon";
}

// The compared value, and what it was computed from.
struct Subject {
  std::string_view source;
  bool all_numbers_close = false;  // else only those of IsComputed
  // Numbers below it are compared by their distance.
  double least = kTolerance;
};
constexpr Subject kRecord = {.source = "the events give"};
// Estimates of a query come from a bootstrap, which depends on last bits throughout.
constexpr Subject kAnswers = {.source = "the released sum gives", .all_numbers_close = true};

// Both are numbers.
bool SameNumber(const Subject& subject, std::string_view name, const JsonValue& stated,
                const JsonValue& computed) {
  if (stated.Dump() == computed.Dump()) return true;
  if (!subject.all_numbers_close && !IsComputed(name)) return false;
  const double a = *stated.AsDouble(), b = *computed.AsDouble();
  const double least = subject.all_numbers_close ? subject.least : 0;
  if (std::abs(a - b) > kTolerance * std::max(std::abs(b), least)) return false;
  const bool is_bound = name == "epsilon" || name == "charged_epsilon";
  return !is_bound || a >= b - kTooLow * std::abs(b);
}

std::string Shown(const JsonValue& value) {
  std::string text = value.Dump();
  if (text.size() > kMaxShown) text = text.substr(0, kMaxShown) + "...";
  return text;
}

std::string Text(const JsonValue& object, std::string_view key) {
  const JsonValue* value = object.Find(key);
  return value == nullptr ? "" : value->AsString().value_or("");
}

// The name by which a person knows the element: a row by who looks, a round by its number.
std::string ElementName(const std::string& list, size_t index, const JsonValue& element) {
  if (element.Find("observer") != nullptr) {
    return fmt::format("row {}, {}, {}", Text(element, "observer"), Text(element, "neighbouring"),
                       Text(element, "name"));
  }
  return fmt::format("{}[{}]", list, index);
}

absl::Status Compare(const Subject& subject, const JsonValue& stated, const JsonValue& computed,
                     const std::string& where, std::string_view name);

absl::Status CompareObjects(const Subject& subject, const JsonValue& stated,
                            const JsonValue& computed, const std::string& where) {
  const std::string prefix = where.empty() ? "" : where + ": ";
  for (const auto& [key, value] : computed.members()) {
    const JsonValue* found = stated.Find(key);
    if (found == nullptr) return base::DataLoss("{}`{}` is missing", prefix, key);
    if (IsProse(key)) continue;
    TACET_RETURN_IF_ERROR(Compare(subject, *found, value, fmt::format("{}`{}`", prefix, key), key));
  }
  for (const auto& [key, value] : stated.members()) {
    if (computed.Find(key) == nullptr) {
      return base::DataLoss("{}`{}` does not belong there", prefix, key);
    }
  }
  return absl::OkStatus();
}

absl::Status CompareArrays(const Subject& subject, const JsonValue& stated,
                           const JsonValue& computed, const std::string& where) {
  const size_t both = std::min(stated.items().size(), computed.items().size());
  for (size_t i = 0; i < both; ++i) {
    const JsonValue& element = computed.items()[i];
    TACET_RETURN_IF_ERROR(
        Compare(subject, stated.items()[i], element, ElementName(where, i, element), ""));
  }
  if (stated.items().size() == computed.items().size()) return absl::OkStatus();
  return base::DataLoss("{} has {} elements, {} {}", where, stated.items().size(), subject.source,
                        computed.items().size());
}

// The least variance of a coefficient, which may be far below 1: that of a column of large numbers.
double LeastOnDiagonal(const JsonValue& covariance) {
  double least = kTolerance;
  for (size_t i = 0; i < covariance.items().size(); ++i) {
    const std::vector<JsonValue>& row = covariance.items()[i].items();
    if (i < row.size()) least = std::min(least, row[i].AsDouble().value_or(least));
  }
  return least;
}

absl::Status Compare(const Subject& subject, const JsonValue& stated, const JsonValue& computed,
                     const std::string& where, std::string_view name) {
  if (name == "covariance" && computed.is_array()) {
    Subject finer = subject;
    finer.least = LeastOnDiagonal(computed);
    return Compare(finer, stated, computed, where, "");
  }
  if (stated.is_object() && computed.is_object())
    return CompareObjects(subject, stated, computed, where);
  if (stated.is_array() && computed.is_array())
    return CompareArrays(subject, stated, computed, where);
  const bool numbers = stated.is_number() && computed.is_number();
  if (numbers ? SameNumber(subject, name, stated, computed) : stated.Dump() == computed.Dump()) {
    return absl::OkStatus();
  }
  return base::DataLoss("{}: the record says {}, {} {}", where, Shown(stated), subject.source,
                        Shown(computed));
}

}  // namespace

absl::Status CompareRecords(const JsonValue& stated, const JsonValue& computed) {
  return Compare(kRecord, stated, computed, "", "");
}

absl::Status CompareAnswers(const JsonValue& stated, const JsonValue& computed) {
  return Compare(kAnswers, stated, computed, "", "");
}

}  // namespace tacet::audit
