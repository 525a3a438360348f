// Parser of the heads of HTTP/1 requests.
#ifndef TACET_TRANSPORT_HTTP_REQUEST_PARSER_H_
#define TACET_TRANSPORT_HTTP_REQUEST_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/statusor.h"

namespace tacet::transport::http {

// Request line and headers, as far as a server of ours looks at them.
struct RequestHead {
  std::string method;
  std::string target;
  std::string host;
  std::string authorization;
  uint64_t content_length = 0;
  bool keep_alive = false;
  bool expects_continue = false;  // the client waits with its body until it is asked for it
  size_t bytes = 0;               // of the head
};

// Of one request. Hostile bytes are its business: lengths are bounded, numbers and lines are
// checked, and a body without a length is refused.
class RequestParser {
 public:
  explicit RequestParser(size_t max_head_bytes);
  ~RequestParser();
  RequestParser(RequestParser&&) noexcept;
  RequestParser& operator=(RequestParser&&) noexcept;

  // `bytes` is everything that has come of the request. The head, or nothing as long as it is not
  // complete. OutOfRange when it is too long, Unimplemented for a body without Content-Length,
  // InvalidArgument for everything else that is not a request.
  absl::StatusOr<std::optional<RequestHead>> Parse(std::span<const uint8_t> bytes);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tacet::transport::http

#endif  // TACET_TRANSPORT_HTTP_REQUEST_PARSER_H_
