#include "tacet/transport/https/call_format.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "fmt/core.h"

namespace tacet::transport::https {
namespace {

constexpr size_t kMaxTextBytes = 1000;

// Texts come from the other end, and go to a terminal or a log.
std::string Printable(std::string_view text) {
  std::string printable(text.substr(0, kMaxTextBytes));
  while (!printable.empty() && printable.back() == '\n') printable.pop_back();
  std::ranges::replace_if(
      printable, [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; }, '?');
  return printable;
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
            Printable(text)};
  }
  return absl::UnknownError(Printable(text));
}

}  // namespace tacet::transport::https
