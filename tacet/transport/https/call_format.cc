#include "tacet/transport/https/call_format.h"

#include <charconv>

#include "fmt/core.h"

#include "tacet/base/plain_text.h"
#include "tacet/base/status.h"

namespace tacet::transport::https {
namespace {

constexpr size_t kMaxTextBytes = 1000;

std::string Plain(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  return base::PlainText(text, kMaxTextBytes);
}

}  // namespace

std::string CallPath() { return fmt::format("{}{}", kPathPrefix, kWireVersion); }

std::optional<uint32_t> VersionIn(std::string_view path) {
  if (!path.starts_with(kPathPrefix)) return std::nullopt;
  path.remove_prefix(kPathPrefix.size());
  uint32_t version = 0;
  const auto [end, error] = std::from_chars(path.data(), path.data() + path.size(), version);
  if (error != std::errc() || end != path.data() + path.size()) return std::nullopt;
  return version;
}

int HttpStatusOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kOk:
      return 200;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kDataLoss:
      return 400;
    case absl::StatusCode::kPermissionDenied:
      return 403;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kAborted:
      return 409;
    case absl::StatusCode::kOutOfRange:
      return 416;
    case absl::StatusCode::kResourceExhausted:
      return 429;
    case absl::StatusCode::kUnimplemented:
      return 501;
    case absl::StatusCode::kUnavailable:
      return 503;
    default:
      return 500;
  }
}

absl::Status StatusFrom(std::string_view word, std::string_view text) {
  constexpr int kLastCode = 16;
  for (int number = 1; number <= kLastCode; ++number) {
    const auto code = static_cast<absl::StatusCode>(number);
    if (absl::StatusCodeToString(code) != word) continue;
    return {code == absl::StatusCode::kUnauthenticated ? absl::StatusCode::kPermissionDenied : code,
            Plain(text)};
  }
  return base::Unavailable("the server's answer has a status that is none: {}", Plain(text));
}

}  // namespace tacet::transport::https
