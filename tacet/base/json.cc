#include "tacet/base/json.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <optional>

#include "fmt/format.h"
#include "nlohmann/json.hpp"

#include "tacet/base/json_events.h"
#include "tacet/base/status.h"

namespace tacet::base {
namespace {

constexpr size_t kDeepest = 64;
// Members are found one by one, so that more would take quadratic time.
constexpr size_t kMaxMembers = 1024;

void WriteString(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

// Builds a JsonValue from the parser's events, so that depth is bounded before memory is.
class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return Add(JsonValue()); }
  bool boolean(bool value) override { return Add(JsonValue(value)); }
  bool number_integer(number_integer_t value) override { return Add(JsonValue(value)); }
  bool number_unsigned(number_unsigned_t value) override { return Add(JsonValue(value)); }
  bool number_float(number_float_t value, const string_t&) override {
    return Add(JsonValue(value));
  }
  bool string(string_t& value) override { return Add(JsonValue(std::move(value))); }
  bool binary(binary_t&) override { return Fail("binary values are not JSON"); }
  bool start_object(size_t) override { return Open(JsonValue::MakeObject()); }
  bool end_object() override { return Close(); }
  bool start_array(size_t) override { return Open(JsonValue::MakeArray()); }
  bool end_array() override { return Close(); }
  bool key(string_t& value) override {
    open_.back().key = std::move(value);
    return true;
  }
  bool parse_error(size_t position, const std::string& token,
                   const nlohmann::detail::exception&) override {
    return Fail(fmt::format("unexpected \"{}\" at byte {}", token, position));
  }

  std::optional<JsonValue> result;
  std::string error;

 private:
  struct Level {
    JsonValue value;
    std::string key;  // of the member that comes next
  };

  bool Fail(std::string message) {
    error = std::move(message);
    return false;
  }
  bool Open(JsonValue value) {
    if (open_.size() >= kDeepest) {
      return Fail(fmt::format("nested deeper than {} levels", kDeepest));
    }
    open_.push_back({std::move(value), {}});
    return true;
  }
  bool Close() {
    JsonValue value = std::move(open_.back().value);
    open_.pop_back();
    return Add(std::move(value));
  }
  bool Add(JsonValue value) {
    if (open_.empty()) {
      result = std::move(value);
    } else if (open_.back().value.is_array()) {
      open_.back().value.Append(std::move(value));
    } else if (open_.back().value.members().size() >= kMaxMembers) {
      return Fail(fmt::format("an object has more than {} members", kMaxMembers));
    } else {
      open_.back().value.Set(open_.back().key, std::move(value));
    }
    return true;
  }

  std::vector<Level> open_;
};

// Reads a text and remembers how far.
class CountedText {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountedText(const char* at, const char** read) : at_(at), read_(read) {}
  reference operator*() const { return *at_; }
  CountedText& operator++() {
    *read_ = ++at_;
    return *this;
  }
  CountedText operator++(int) {
    const CountedText before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountedText& other) const { return at_ == other.at_; }

 private:
  const char* at_;
  const char** read_;
};

// Hands the parser's events on, each with the place where it begins.
class Forwarder : public nlohmann::json_sax<nlohmann::json> {
 public:
  Forwarder(std::string_view text, JsonEvents& events)
      : text_(text), events_(events), read_(text.data()) {}

  bool null() override { return Word(); }
  bool boolean(bool) override { return Word(); }
  bool number_integer(number_integer_t value) override { return Number(value); }
  bool number_unsigned(number_unsigned_t value) override { return Number(value); }
  bool number_float(number_float_t value, const string_t&) override { return Number(value); }
  bool string(string_t& value) override {
    return Hand([&] { return events_.String(value); });
  }
  bool binary(binary_t&) override { return false; }  // in no text
  bool start_object(size_t) override {
    return Hand([&] { return events_.BeginObject(); });
  }
  bool end_object() override {
    return Hand([&] { return events_.EndObject(); });
  }
  bool start_array(size_t) override {
    return Hand([&] { return events_.BeginArray(); });
  }
  bool end_array() override {
    return Hand([&] { return events_.EndArray(); });
  }
  bool key(string_t& value) override {
    return Hand([&] { return events_.Key(value); });
  }
  // The text may be secret: the parser's words about it are looked at and not repeated.
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& error) override {
    return Hand([&] {
      const bool is_string = text_.substr(events_.position).starts_with('"') &&
                             std::string_view(error.what()).find("invalid string") != text_.npos;
      return InvalidArgument("{}",
                             is_string ? "a string does not end or is malformed" : "not JSON");
    });
  }

  const char** read() { return &read_; }
  absl::Status status;

 private:
  bool Word() {
    return Hand([&] { return events_.Word(); });
  }
  bool Number(auto value) {
    const bool ok = Hand([&] { return events_.Number(static_cast<double>(value)); });
    // A number ends where something else begins, which was read to know it.
    if (const char last = text_[end_ - 1]; last < '0' || last > '9') --end_;
    return ok;
  }
  template <typename Event>
  bool Hand(const Event& event) {
    constexpr std::string_view kBetween = " \t\r\n,:";
    events_.position = std::min(text_.find_first_not_of(kBetween, end_), text_.size());
    end_ = static_cast<size_t>(read_ - text_.data());
    status = event();
    return status.ok();
  }

  std::string_view text_;
  JsonEvents& events_;
  const char* read_;
  size_t end_ = 0;  // of the part before
};

}  // namespace

absl::Status ReadJsonEvents(std::string_view text, JsonEvents& events) {
  Forwarder forwarder(text, events);
  const char* const end = text.data() + text.size();
  nlohmann::json::sax_parse(CountedText(text.data(), forwarder.read()),
                            CountedText(end, forwarder.read()), &forwarder);
  return forwarder.status;
}

JsonValue& JsonValue::Set(std::string_view key, JsonValue value) {
  if (!is_object()) {
    value_ = Object{};
  }
  for (auto& [name, member] : std::get<Object>(value_)) {
    if (name == key) {
      member = std::move(value);
      return *this;
    }
  }
  std::get<Object>(value_).emplace_back(key, std::move(value));
  return *this;
}

JsonValue& JsonValue::Append(JsonValue value) {
  if (!is_array()) {
    value_ = Array{};
  }
  std::get<Array>(value_).push_back(std::move(value));
  return *this;
}

bool JsonValue::is_number() const {
  return std::holds_alternative<int64_t>(value_) || std::holds_alternative<uint64_t>(value_) ||
         std::holds_alternative<double>(value_);
}

const JsonValue* JsonValue::Find(std::string_view key) const {
  for (const auto& [name, member] : members()) {
    if (name == key) {
      return &member;
    }
  }
  return nullptr;
}

const JsonValue::Array& JsonValue::items() const {
  static const Array empty;
  return is_array() ? std::get<Array>(value_) : empty;
}

const JsonValue::Object& JsonValue::members() const {
  static const Object empty;
  return is_object() ? std::get<Object>(value_) : empty;
}

absl::StatusOr<double> JsonValue::AsDouble() const {
  if (const auto* value = std::get_if<double>(&value_)) {
    return *value;
  }
  if (const auto* value = std::get_if<int64_t>(&value_)) {
    return static_cast<double>(*value);
  }
  if (const auto* value = std::get_if<uint64_t>(&value_)) {
    return static_cast<double>(*value);
  }
  return base::InvalidArgument("expected a JSON number, found {}", Dump());
}

absl::StatusOr<uint64_t> JsonValue::AsUint() const {
  if (const auto* value = std::get_if<uint64_t>(&value_)) {
    return *value;
  }
  if (const auto* value = std::get_if<int64_t>(&value_); value != nullptr && *value >= 0) {
    return static_cast<uint64_t>(*value);
  }
  return base::InvalidArgument("expected a JSON integer that is not negative, found {}", Dump());
}

absl::StatusOr<std::string> JsonValue::AsString() const {
  if (const auto* value = std::get_if<std::string>(&value_)) {
    return *value;
  }
  return base::InvalidArgument("expected a JSON string, found {}", Dump());
}

absl::StatusOr<bool> JsonValue::AsBool() const {
  if (const auto* value = std::get_if<bool>(&value_)) {
    return *value;
  }
  return base::InvalidArgument("expected true or false, found {}", Dump());
}

void JsonValue::Write(std::string& out, int indent, int depth) const {
  const auto line = [&](int level) {
    if (indent > 0) {
      out += '\n';
      out.append(static_cast<size_t>(indent) * static_cast<size_t>(level), ' ');
    }
  };
  if (const auto* boolean = std::get_if<bool>(&value_)) {
    out += *boolean ? "true" : "false";
  } else if (const auto* integer = std::get_if<int64_t>(&value_)) {
    out += fmt::format("{}", *integer);
  } else if (const auto* natural = std::get_if<uint64_t>(&value_)) {
    out += fmt::format("{}", *natural);
  } else if (const auto* real = std::get_if<double>(&value_)) {
    out += std::isfinite(*real) ? fmt::format("{}", *real) : "null";
  } else if (const auto* text = std::get_if<std::string>(&value_)) {
    WriteString(out, *text);
  } else if (is_array()) {
    out += '[';
    bool first = true;
    for (const JsonValue& item : items()) {
      out += first ? "" : ",";
      line(depth + 1);
      item.Write(out, indent, depth + 1);
      first = false;
    }
    if (!first) {
      line(depth);
    }
    out += ']';
  } else if (is_object()) {
    out += '{';
    bool first = true;
    for (const auto& [key, member] : members()) {
      out += first ? "" : ",";
      line(depth + 1);
      WriteString(out, key);
      out += indent > 0 ? ": " : ":";
      member.Write(out, indent, depth + 1);
      first = false;
    }
    if (!first) {
      line(depth);
    }
    out += '}';
  } else {
    out += "null";
  }
}

std::string JsonValue::Dump(int indent) const {
  std::string out;
  Write(out, indent, 0);
  return out;
}

absl::StatusOr<JsonValue> JsonValue::Parse(std::string_view text) {
  Builder builder;
  if (!nlohmann::json::sax_parse(text, &builder) || !builder.result) {
    return base::InvalidArgument("not JSON: {}", builder.error);
  }
  return *std::move(builder.result);
}

}  // namespace tacet::base
