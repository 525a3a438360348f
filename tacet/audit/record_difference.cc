#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

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
  return name == "epsilon" || name == "epsilon_lower" || name == "order" || name == "delta";
}

// Both are numbers.
bool SameNumber(std::string_view name, const JsonValue& stated, const JsonValue& computed) {
  if (!IsComputed(name)) return stated.Dump() == computed.Dump();
  const double a = *stated.AsDouble(), b = *computed.AsDouble();
  if (std::abs(a - b) > kTolerance * std::abs(b)) return false;
  return name != "epsilon" || a >= b - kTooLow * std::abs(b);
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

// How a person knows the element: a row by who looks, a round by its number.
std::string ElementName(const std::string& list, size_t index, const JsonValue& element) {
  if (element.Find("view") != nullptr) {
    return fmt::format("row {}, {}, {}", Text(element, "view"), Text(element, "neighbouring"),
                       Text(element, "name"));
  }
  return fmt::format("{}[{}]", list, index);
}

absl::Status Compare(const JsonValue& stated, const JsonValue& computed, const std::string& where,
                     std::string_view name);

absl::Status CompareObjects(const JsonValue& stated, const JsonValue& computed,
                            const std::string& where) {
  const std::string prefix = where.empty() ? "" : where + ": ";
  for (const auto& [key, value] : computed.members()) {
    const JsonValue* found = stated.Find(key);
    if (found == nullptr) return base::DataLoss("{}`{}` is missing", prefix, key);
    if (IsProse(key)) continue;
    TACET_RETURN_IF_ERROR(Compare(*found, value, fmt::format("{}`{}`", prefix, key), key));
  }
  for (const auto& [key, value] : stated.members()) {
    if (computed.Find(key) == nullptr) {
      return base::DataLoss("{}`{}` does not belong there", prefix, key);
    }
  }
  return absl::OkStatus();
}

absl::Status CompareArrays(const JsonValue& stated, const JsonValue& computed,
                           const std::string& where) {
  const size_t both = std::min(stated.items().size(), computed.items().size());
  for (size_t i = 0; i < both; ++i) {
    const JsonValue& element = computed.items()[i];
    TACET_RETURN_IF_ERROR(Compare(stated.items()[i], element, ElementName(where, i, element), ""));
  }
  if (stated.items().size() == computed.items().size()) return absl::OkStatus();
  return base::DataLoss("{} has {} elements, the events give {}", where, stated.items().size(),
                        computed.items().size());
}

absl::Status Compare(const JsonValue& stated, const JsonValue& computed, const std::string& where,
                     std::string_view name) {
  if (stated.is_object() && computed.is_object()) return CompareObjects(stated, computed, where);
  if (stated.is_array() && computed.is_array()) return CompareArrays(stated, computed, where);
  const bool numbers = stated.is_number() && computed.is_number();
  if (numbers ? SameNumber(name, stated, computed) : stated.Dump() == computed.Dump()) {
    return absl::OkStatus();
  }
  return base::DataLoss("{}: the record says {}, the events give {}", where, Shown(stated),
                        Shown(computed));
}

}  // namespace

absl::Status CompareRecords(const JsonValue& stated, const JsonValue& computed) {
  return Compare(stated, computed, "", "");
}

}  // namespace tacet::audit
