// JSON of lists, and of values that may be missing.
#ifndef TACET_BASE_JSON_LISTS_H_
#define TACET_BASE_JSON_LISTS_H_

#include <functional>
#include <optional>
#include <string_view>

#include "tacet/base/json.h"

namespace tacet::base {

// The array of `item(one)` for each element of `range`.
template <typename Range, typename Item = std::identity>
JsonValue JsonList(const Range& range, const Item& item = {}) {
  JsonValue list = JsonValue::MakeArray();
  for (const auto& one : range) list.Append(std::invoke(item, one));
  return list;
}

// The value; null where there is none.
template <typename T>
JsonValue OrNull(const std::optional<T>& value) {
  return value.has_value() ? JsonValue(*value) : JsonValue();
}
// The text; null where it is empty.
inline JsonValue OrNull(std::string_view text) {
  return text.empty() ? JsonValue() : JsonValue(text);
}

}  // namespace tacet::base

#endif  // TACET_BASE_JSON_LISTS_H_
