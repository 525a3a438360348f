// Checked reading of the members of a JSON object from an untrusted source.
#ifndef TACET_BASE_JSON_MEMBERS_H_
#define TACET_BASE_JSON_MEMBERS_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

#include "tacet/base/bytes.h"
#include "tacet/base/json.h"
#include "tacet/base/status.h"

namespace tacet::base {

// Reads member by member into typed targets; the first thing that is wrong stays in status(), as
// "member `NAME`: what was expected, what was found". The object must outlive the reader. Bytes
// and arrays of bytes are hexadecimal strings.
class JsonMembers {
 public:
  // Everything is missing in a value that is not an object.
  explicit JsonMembers(const JsonValue& object) : object_(object) {}

  // An error when the member is null or not there.
  template <typename T>
  void Need(std::string_view key, T& target) {
    Read(key, target, true);
  }
  // `target` is left alone then.
  template <typename T>
  void Take(std::string_view key, T& target) {
    Read(key, target, false);
  }
  // The member itself; null when it is not there.
  const JsonValue& Child(std::string_view key) const;

  const absl::Status& status() const { return status_; }

 private:
  static absl::Status Get(const JsonValue& value, double& target);
  static absl::Status Get(const JsonValue& value, uint64_t& target);
  static absl::Status Get(const JsonValue& value, uint32_t& target);
  static absl::Status Get(const JsonValue& value, bool& target);
  static absl::Status Get(const JsonValue& value, std::string& target);
  static absl::Status Get(const JsonValue& value, Bytes& target);
  template <size_t size>
  static absl::Status Get(const JsonValue& value, std::array<uint8_t, size>& target) {
    Bytes bytes;
    TACET_RETURN_IF_ERROR(Get(value, bytes));
    if (bytes.size() != size) {
      return InvalidArgument("expected {} hexadecimal digits, found {}", 2 * size,
                             2 * bytes.size());
    }
    std::ranges::copy(bytes, target.begin());
    return absl::OkStatus();
  }
  template <typename T>
  static absl::Status Get(const JsonValue& value, std::optional<T>& target) {
    return Get(value, target.emplace());
  }

  template <typename T>
  void Read(std::string_view key, T& target, bool needed) {
    const JsonValue& value = Child(key);
    absl::Status read;
    if (!value.is_null()) {
      read = Get(value, target);
    } else if (needed) {
      read = InvalidArgument("is missing");
    }
    if (!read.ok()) status_.Update(Annotate(read, fmt::format("member `{}`", key)));
  }

  const JsonValue& object_;
  absl::Status status_;
};

}  // namespace tacet::base

#endif  // TACET_BASE_JSON_MEMBERS_H_
