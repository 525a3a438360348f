// Form of a call over HTTP: path, version, headers, statuses (docs/formats/transport.md).
#ifndef TACET_TRANSPORT_HTTPS_CALL_FORMAT_H_
#define TACET_TRANSPORT_HTTPS_CALL_FORMAT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace tacet::transport::https {

// Version of the protocol on the wire: of this page and of everything inside of calls.
inline constexpr uint32_t kWireVersion = 1;

// POST kPathPrefix ‖ version.
inline constexpr std::string_view kPathPrefix = "/tacet/";
std::string CallPath();
// The version in a path; nothing when it is not that of a call.
std::optional<uint32_t> VersionIn(std::string_view path);

inline constexpr std::string_view kCallType = "application/octet-stream";

// In every answer that a server of ours makes itself: the version that it speaks. An answer without
// it was made on the way.
inline constexpr std::string_view kWireHeader = "Tacet-Wire";
// In every error: its code, as absl::StatusCodeToString writes it. The text is the body.
inline constexpr std::string_view kStatusHeader = "Tacet-Status";

int HttpStatusOf(absl::StatusCode code);
// The error of that code; Unavailable for a word that is none. A server does not speak for a
// client's own wire: UNAUTHENTICATED becomes PermissionDenied.
absl::Status StatusFrom(std::string_view word, std::string_view text);

}  // namespace tacet::transport::https

#endif  // TACET_TRANSPORT_HTTPS_CALL_FORMAT_H_
