#include "tacet/transport/http/request_parser.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"

#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/transport/http/header_field.h"

namespace tacet::transport::http {
namespace {

bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }
bool IsHexDigit(char c) { return absl::ascii_isxdigit(static_cast<unsigned char>(c)); }

// `unreserved` and `sub-delims` of RFC 3986.
bool IsNameCharacter(char c) {
  constexpr std::string_view kOthers = "-._~!$&'()*+,;=";
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || kOthers.find(c) != kOthers.npos;
}

// A path and, behind a question mark, a query.
bool IsOriginForm(std::string_view target) {
  constexpr std::string_view kOthers = ":@/?";
  if (!target.starts_with('/')) return false;
  for (size_t i = 0; i < target.size(); ++i) {
    if (target[i] == '%') {
      const std::string_view digits = target.substr(i + 1, 2);
      if (digits.size() != 2 || !std::ranges::all_of(digits, IsHexDigit)) return false;
      i += 2;
    } else if (!IsNameCharacter(target[i]) && kOthers.find(target[i]) == kOthers.npos) {
      return false;
    }
  }
  return true;
}

// HOST or HOST:PORT, the host an address in brackets or a name without percent signs.
bool IsHost(std::string_view value) {
  std::string_view port;
  if (value.starts_with('[')) {
    const size_t end = value.find(']');
    if (end == value.npos || end == 1) return false;
    const auto is_inside = [](char c) { return IsHexDigit(c) || c == ':' || c == '.'; };
    if (!std::ranges::all_of(value.substr(1, end - 1), is_inside)) return false;
    port = value.substr(end + 1);
  } else {
    const size_t end = std::min(value.find(':'), value.size());
    if (end == 0 || !std::ranges::all_of(value.substr(0, end), IsNameCharacter)) return false;
    port = value.substr(end);
  }
  if (port.empty()) return true;
  return port.starts_with(':') && std::ranges::all_of(port.substr(1), IsDigit);
}

// A header that the sender would have an intermediary remove.
bool DecidesAboutTheBody(std::string_view name) {
  return EqualsIgnoreCase(name, "Content-Length") || EqualsIgnoreCase(name, "Transfer-Encoding") ||
         EqualsIgnoreCase(name, "Host");
}

template <typename Value>
absl::Status SetOnce(std::string_view name, Value value, std::optional<Value>& out) {
  if (out.has_value()) return base::InvalidArgument("the header {} comes more than once", name);
  out = std::move(value);
  return absl::OkStatus();
}

absl::Status TooLong() { return base::OutOfRange("the request's head is too long"); }

}  // namespace

absl::StatusOr<std::optional<RequestHead>> RequestParser::Parse(std::span<const uint8_t> bytes) {
  const std::string_view text = base::AsText(bytes);
  for (size_t end = 0; (end = text.find('\n', used_)) != text.npos;) {
    const bool is_first = used_ == 0;
    const absl::StatusOr<std::string_view> line =
        WithoutLineEnd(text.substr(used_, end + 1 - used_));
    TACET_RETURN_IF_ERROR(line.status());
    used_ = end + 1;
    if (used_ > max_head_bytes_) return TooLong();
    if (line->empty() && !is_first) return Head();
    TACET_RETURN_IF_ERROR(is_first ? TakeRequestLine(*line) : TakeField(*line));
  }
  if (bytes.size() >= max_head_bytes_) return TooLong();
  return std::nullopt;
}

absl::Status RequestParser::TakeRequestLine(std::string_view line) {
  const size_t method = line.find(' ');
  const size_t target = method == line.npos ? line.npos : line.find(' ', method + 1);
  if (target == line.npos) return base::InvalidArgument("not an HTTP request");
  head_.method = line.substr(0, method);
  head_.target = line.substr(method + 1, target - method - 1);
  const std::string_view version = line.substr(target + 1);
  is_http_11_ = version == "HTTP/1.1";
  if (!is_http_11_ && version != "HTTP/1.0") return base::InvalidArgument("not HTTP/1.0 or 1.1");
  if (!IsToken(head_.method)) return base::InvalidArgument("the method is not a token");
  if (!IsOriginForm(head_.target)) return base::InvalidArgument("the target is not a path");
  return absl::OkStatus();
}

absl::Status RequestParser::TakeField(std::string_view line) {
  TACET_ASSIGN_OR_RETURN(const HeaderField field, ReadHeaderField(line));
  if (field.Is("Transfer-Encoding")) {
    return absl::UnimplementedError("a body needs a Content-Length here");
  }
  if (field.Is("Content-Length")) {
    const std::optional<uint64_t> length = ReadContentLength(field.value);
    if (!length.has_value()) return base::InvalidArgument("Content-Length is not a length");
    return SetOnce("Content-Length", *length, content_length_);
  }
  if (field.Is("Host")) {
    if (!IsHost(field.value)) return base::InvalidArgument("Host is not HOST or HOST:PORT");
    return SetOnce("Host", std::string(field.value), host_);
  }
  if (field.Is("Authorization")) {
    return SetOnce("Authorization", std::string(field.value), authorization_);
  }
  const auto take = [&field](std::string_view name, std::optional<std::string>& out) {
    return SetOnce(name, std::string(field.value), out);
  };
  if (field.Is("Content-Type")) return take("Content-Type", content_type_);
  if (field.Is("Origin")) return take("Origin", origin_);
  if (field.Is("Sec-Fetch-Site")) return take("Sec-Fetch-Site", fetch_site_);
  if (field.Is("Connection")) return TakeConnection(field.value);
  if (field.Is("Expect")) head_.expects_continue |= EqualsIgnoreCase(field.value, "100-continue");
  return absl::OkStatus();
}

absl::Status RequestParser::TakeConnection(std::string_view options) {
  while (!options.empty()) {
    const size_t end = std::min(options.find(','), options.size());
    const std::string_view option = WithoutBlanks(options.substr(0, end));
    options.remove_prefix(std::min(end + 1, options.size()));
    if (option.empty()) continue;
    if (!IsToken(option)) return base::InvalidArgument("an option of Connection is not a token");
    if (DecidesAboutTheBody(option)) {
      return base::InvalidArgument("Connection names a header that no recipient may leave out");
    }
    closes_ |= EqualsIgnoreCase(option, "close");
  }
  return absl::OkStatus();
}

absl::StatusOr<RequestHead> RequestParser::Head() const {
  if (is_http_11_ && !host_.has_value()) return base::InvalidArgument("the header Host is missing");
  RequestHead head = head_;
  head.host = host_.value_or("");
  head.authorization = authorization_.value_or("");
  head.content_type = content_type_.value_or("");
  head.origin = origin_.value_or("");
  head.fetch_site = fetch_site_.value_or("");
  head.content_length = content_length_.value_or(0);
  head.keep_alive = is_http_11_ && !closes_;
  head.expects_continue = head_.expects_continue && is_http_11_;
  head.bytes = used_;
  return head;
}

}  // namespace tacet::transport::http
