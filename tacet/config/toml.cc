#include "tacet/config/toml.h"

#include <stdexcept>
#include <string>

namespace tacet::config {
namespace {

[[noreturn]] void FailTomlAssertion() { throw std::invalid_argument("malformed text"); }

}  // namespace
}  // namespace tacet::config

// Version 3.3 asserts things that malformed text can make false (a line feed after `[`), and
// assumes them in a release build. Here a failed assertion is an error of the text, in every build.
#undef NDEBUG
#define TOML_ASSERT(expr) \
  (static_cast<bool>(expr) ? static_cast<void>(0) : ::tacet::config::FailTomlAssertion())
#define TOML_EXCEPTIONS 1
#define TOML_HEADER_ONLY 1
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#include <toml++/toml.h>
#pragma GCC diagnostic pop

#include "fmt/format.h"

#include "tacet/base/status.h"
#include "tacet/config/toml_ascii.h"

namespace tacet::config {
namespace {

constexpr size_t kMaxBytes = 1 << 20;

absl::StatusOr<base::JsonValue> Convert(const toml::node& node, std::string_view source) {
  if (const toml::table* table = node.as_table()) {
    base::JsonValue object = base::JsonValue::MakeObject();
    for (const auto& [key, value] : *table) {
      TACET_ASSIGN_OR_RETURN(base::JsonValue member, Convert(value, source));
      object.Set(key.str(), std::move(member));
    }
    return object;
  }
  if (const toml::array* array = node.as_array()) {
    base::JsonValue list = base::JsonValue::MakeArray();
    for (const toml::node& element : *array) {
      TACET_ASSIGN_OR_RETURN(base::JsonValue item, Convert(element, source));
      list.Append(std::move(item));
    }
    return list;
  }
  if (const auto* text = node.as_string()) return base::JsonValue(text->get());
  if (const auto* integer = node.as_integer()) return base::JsonValue(integer->get());
  if (const auto* number = node.as_floating_point()) return base::JsonValue(number->get());
  if (const auto* boolean = node.as_boolean()) return base::JsonValue(boolean->get());
  return base::InvalidArgument("{}, line {}: dates and times are not used here", source,
                               node.source().begin.line);
}

}  // namespace

absl::StatusOr<base::JsonValue> ParseToml(std::string_view text, std::string_view source) {
  if (text.size() > kMaxBytes) {
    return base::InvalidArgument("{} has {} bytes, a configuration has at most {}", source,
                                 text.size(), kMaxBytes);
  }
  TACET_ASSIGN_OR_RETURN(const std::string ascii, TomlInAscii(text, source));
  try {
    return Convert(toml::parse(ascii, source), source);
  } catch (const toml::parse_error& error) {
    return base::InvalidArgument("{}, line {}, column {}: {}", source, error.source().begin.line,
                                 error.source().begin.column, error.description());
  } catch (const std::invalid_argument& error) {
    return base::InvalidArgument("{}: {}", source, error.what());
  }
}

std::string TomlText(const std::string& value) {
  std::string text = "\"";
  for (size_t i = 0; i < value.size();) {
    const auto lead = static_cast<unsigned char>(value[i]);
    const size_t length = lead < 0x80    ? 1
                          : lead >= 0xf0 ? 4
                          : lead >= 0xe0 ? 3
                          : lead >= 0xc0 ? 2
                                         : 0;
    if (lead == 0x7f) {  // JSON takes it unchanged, TOML does not
      text += "\\u007f";
      ++i;
      continue;
    }
    if (length == 1) {
      const std::string ascii = base::JsonValue(std::string(1, value[i])).Dump();
      text += ascii.substr(1, ascii.size() - 2);
      ++i;
      continue;
    }
    uint32_t code = length == 0 ? 0 : lead & (0x7fu >> length);
    size_t next = i + 1;
    for (; next < value.size() && next < i + length &&
           (static_cast<unsigned char>(value[next]) & 0xc0) == 0x80;
         ++next) {
      code = code << 6 | (static_cast<unsigned char>(value[next]) & 0x3f);
    }
    const bool valid = length != 0 && next == i + length && code >= 0x80 && code <= 0x10ffff &&
                       !(code >= 0xd800 && code <= 0xdfff);
    text += valid ? fmt::format("\\U{:08x}", code) : "?";
    i = valid ? next : i + 1;
  }
  return text + "\"";
}
std::string TomlText(uint64_t value) { return fmt::format("{}", value); }
std::string TomlText(double value) {
  // A TOML float needs a point or an exponent; Dump gives the shortest text that reads back.
  std::string text = base::JsonValue(value).Dump();
  if (text.find_first_of(".eE") == std::string::npos) text += ".0";
  return text;
}
std::string TomlText(bool value) { return value ? "true" : "false"; }
std::string TomlText(const std::vector<uint64_t>& values) {
  base::JsonValue list = base::JsonValue::MakeArray();
  for (const uint64_t value : values) list.Append(value);
  return list.Dump();
}

std::string TomlText(const std::vector<std::string>& values) {
  std::string text;
  for (const std::string& value : values) text += (text.empty() ? "" : ", ") + TomlText(value);
  return "[" + text + "]";
}

}  // namespace tacet::config
