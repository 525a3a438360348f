// Parser of the heads of HTTP/1 requests.
#ifndef TACET_TRANSPORT_HTTP_REQUEST_PARSER_H_
#define TACET_TRANSPORT_HTTP_REQUEST_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tacet::transport::http {

// Request line and headers, as far as a server of ours looks at them.
struct RequestHead {
  std::string method;
  std::string target;  // path and query
  std::string host;
  std::string authorization;
  std::string content_type;
  std::string origin;      // of the page whose script asks, as a browser says
  std::string fetch_site;  // Sec-Fetch-Site: how that origin relates to this one
  uint64_t content_length = 0;
  bool keep_alive = false;
  bool expects_continue = false;  // the client waits with its body until it is asked for it
  size_t bytes = 0;               // of the head
};

// For one request. It reads what RFC 9112 lets a client send, and refuses what other recipients
// repair, each in its own way: docs/formats/transport.md has the list.
class RequestParser {
 public:
  explicit RequestParser(size_t max_head_bytes) : max_head_bytes_(max_head_bytes) {}

  // `bytes` is everything that has come of the request. The head, or nothing as long as it is not
  // complete. OutOfRange when it is too long, Unimplemented for a body without Content-Length,
  // InvalidArgument for everything else that is not a request.
  absl::StatusOr<std::optional<RequestHead>> Parse(std::span<const uint8_t> bytes);

 private:
  absl::Status TakeRequestLine(std::string_view line);
  absl::Status TakeField(std::string_view line);
  absl::Status TakeConnection(std::string_view options);
  absl::StatusOr<RequestHead> Head() const;

  size_t max_head_bytes_;
  size_t used_ = 0;  // by whole lines
  RequestHead head_;
  bool is_http_11_ = false;
  bool closes_ = false;
  std::optional<std::string> host_, authorization_, content_type_, origin_, fetch_site_;
  std::optional<uint64_t> content_length_;
};

}  // namespace tacet::transport::http

#endif  // TACET_TRANSPORT_HTTP_REQUEST_PARSER_H_
