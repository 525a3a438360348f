// JSON values: built and written here, read through a library that only json.cc includes.
#ifndef TACET_BASE_JSON_H_
#define TACET_BASE_JSON_H_

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"

namespace tacet::base {

// null, bool, integer, double, string, array or object. Objects keep the order in which their
// members were set. Numbers are written so that reading them gives the same double; infinities and
// NaN, which JSON cannot say, are written as null.
class JsonValue {
 public:
  using Array = std::vector<JsonValue>;
  using Object = std::vector<std::pair<std::string, JsonValue>>;

  JsonValue() = default;  // null
  // Made from what it holds, without saying so.
  // NOLINTBEGIN(google-explicit-constructor)
  JsonValue(std::nullptr_t) {}
  template <std::same_as<bool> T>
  JsonValue(T value) : value_(value) {}
  JsonValue(double value) : value_(value) {}
  template <std::signed_integral T>
  JsonValue(T value) : value_(static_cast<int64_t>(value)) {}
  template <std::unsigned_integral T>
  requires(!std::same_as<T, bool>) JsonValue(T value) : value_(static_cast<uint64_t>(value)) {}
  JsonValue(const char* value) : value_(std::string(value)) {}
  JsonValue(std::string_view value) : value_(std::string(value)) {}
  JsonValue(std::string value) : value_(std::move(value)) {}
  JsonValue(Array value) : value_(std::move(value)) {}
  JsonValue(Object value) : value_(std::move(value)) {}
  // NOLINTEND(google-explicit-constructor)

  static JsonValue MakeArray() { return JsonValue(Array{}); }
  static JsonValue MakeObject() { return JsonValue(Object{}); }

  // Sets a member of an object (a null becomes one), replacing an older value; returns *this.
  JsonValue& Set(std::string_view key, JsonValue value);
  // Appends to an array (a null becomes one); returns *this.
  JsonValue& Append(JsonValue value);

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_number() const;

  // The member, or null when this is not an object or has none of that name.
  const JsonValue* Find(std::string_view key) const;
  // Elements of an array; empty when this is none.
  const Array& items() const;
  // Members of an object; empty when this is none.
  const Object& members() const;

  // InvalidArgument when the value is of another kind or out of range.
  absl::StatusOr<double> AsDouble() const;
  absl::StatusOr<uint64_t> AsUint() const;
  absl::StatusOr<std::string> AsString() const;
  absl::StatusOr<bool> AsBool() const;

  // One line; with indent > 0 one member a line, that many spaces deeper each level.
  std::string Dump(int indent = 0) const;

  // InvalidArgument says at which byte what was wrong. At most 64 levels deep and
  // 1024 members an object; of members with one name the last counts.
  static absl::StatusOr<JsonValue> Parse(std::string_view text);

 private:
  void Write(std::string& out, int indent, int depth) const;

  std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string, Array, Object> value_;
};

}  // namespace tacet::base

#endif  // TACET_BASE_JSON_H_
