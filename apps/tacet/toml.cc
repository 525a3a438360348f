#include "apps/tacet/toml.h"

#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#include <toml++/toml.h>
#pragma GCC diagnostic pop

#include <string>

#include "tacet/base/status.h"

namespace tacet::app {
namespace {

constexpr size_t kMostBytes = 1 << 20;

absl::StatusOr<JsonValue> Convert(const toml::node& node, std::string_view source) {
  if (const toml::table* table = node.as_table()) {
    JsonValue object = JsonValue::MakeObject();
    for (const auto& [key, value] : *table) {
      TACET_ASSIGN_OR_RETURN(JsonValue member, Convert(value, source));
      object.Set(key.str(), std::move(member));
    }
    return object;
  }
  if (const toml::array* array = node.as_array()) {
    JsonValue list = JsonValue::MakeArray();
    for (const toml::node& element : *array) {
      TACET_ASSIGN_OR_RETURN(JsonValue item, Convert(element, source));
      list.Append(std::move(item));
    }
    return list;
  }
  if (const auto* text = node.as_string()) return JsonValue(text->get());
  if (const auto* integer = node.as_integer()) return JsonValue(integer->get());
  if (const auto* number = node.as_floating_point()) return JsonValue(number->get());
  if (const auto* boolean = node.as_boolean()) return JsonValue(boolean->get());
  return base::InvalidArgument("{}, line {}: dates and times are not used here", source,
                               node.source().begin.line);
}

}  // namespace

absl::StatusOr<JsonValue> ParseToml(std::string_view text, std::string_view source) {
  if (text.size() > kMostBytes) {
    return base::InvalidArgument("{} has {} bytes, a configuration has at most {}", source,
                                 text.size(), kMostBytes);
  }
  const toml::parse_result result = toml::parse(text, source);
  if (!result) {
    return base::InvalidArgument(
        "{}, line {}, column {}: {}", source, result.error().source().begin.line,
        result.error().source().begin.column, result.error().description());
  }
  return Convert(result.table(), source);
}

}  // namespace tacet::app
