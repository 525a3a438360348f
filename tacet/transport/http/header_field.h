// Lines of the heads of HTTP/1 messages, read as RFC 9112 writes them and in no other way.
#ifndef TACET_TRANSPORT_HTTP_HEADER_FIELD_H_
#define TACET_TRANSPORT_HTTP_HEADER_FIELD_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"

namespace tacet::transport::http {

// Refers to the line that it was read from.
struct HeaderField {
  std::string_view name;
  std::string_view value;  // without the blanks around it

  // Names are equal in upper and lower case.
  bool Is(std::string_view other) const;
};

// A line without its end. InvalidArgument for one without a colon, a name that is not a token, such
// as one with a blank before the colon or of a continued line, and a value with a control
// character.
absl::StatusOr<HeaderField> ReadHeaderField(std::string_view line);

// Without the spaces and tabs around it.
std::string_view WithoutBlanks(std::string_view text);

// The line without its CR LF; InvalidArgument when it ends otherwise.
absl::StatusOr<std::string_view> WithoutLineEnd(std::string_view line);

// One or more of the characters of names and methods.
bool IsToken(std::string_view text);
// No control character but tabs.
bool IsText(std::string_view text);
bool EqualsIgnoreCase(std::string_view a, std::string_view b);
// For a Content-Length: digits alone, without leading zeros, below 2^64.
std::optional<uint64_t> ReadContentLength(std::string_view value);

}  // namespace tacet::transport::http

#endif  // TACET_TRANSPORT_HTTP_HEADER_FIELD_H_
