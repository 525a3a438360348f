#include "tacet/transport/http/request_parser.h"

#include <limits>

#include <boost/beast/core/string.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>

#include "tacet/base/status.h"

namespace tacet::transport::http {
namespace {

namespace beast = boost::beast::http;

constexpr unsigned kHttp10 = 10, kHttp11 = 11;

std::string Text(boost::beast::string_view text) { return {text.data(), text.size()}; }

}  // namespace

struct RequestParser::State {
  explicit State(size_t max) : max_head_bytes(max) {
    parser.header_limit(static_cast<uint32_t>(max_head_bytes));
    parser.body_limit(std::numeric_limits<uint64_t>::max());  // it is the server's to bound
  }
  beast::request_parser<beast::empty_body> parser;
  size_t max_head_bytes;
  size_t used = 0;  // by the parser, which takes whole lines
};

RequestParser::RequestParser(size_t max_head_bytes)
    : state_(std::make_unique<State>(max_head_bytes)) {}
RequestParser::~RequestParser() = default;
RequestParser::RequestParser(RequestParser&&) noexcept = default;
RequestParser& RequestParser::operator=(RequestParser&&) noexcept = default;

absl::StatusOr<std::optional<RequestHead>> RequestParser::Parse(std::span<const uint8_t> bytes) {
  auto& [parser, max_head_bytes, used] = *state_;
  const auto rest = bytes.subspan(used);
  boost::system::error_code error;
  used += parser.put(boost::asio::const_buffer(rest.data(), rest.size()), error);
  const bool more = error == beast::error::need_more;
  const bool is_long = error == beast::error::header_limit ||
                       (more ? bytes.size() >= max_head_bytes : !error && used > max_head_bytes);
  if (is_long) return base::OutOfRange("the request's head is too long");
  if (error && !more) return base::InvalidArgument("not an HTTP request: {}", error.message());
  if (!parser.is_header_done()) return std::nullopt;

  const auto& request = parser.get();
  if (request.version() != kHttp10 && request.version() != kHttp11) {
    return base::InvalidArgument("not HTTP/1.0 or 1.1");
  }
  for (const beast::field once : {beast::field::host, beast::field::authorization}) {
    if (request.count(once) > 1) {
      return base::InvalidArgument("the header {} comes more than once",
                                   Text(beast::to_string(once)));
    }
  }
  if (request.count(beast::field::transfer_encoding) > 0) {
    return absl::UnimplementedError("a body needs a Content-Length here");
  }
  RequestHead head{.method = Text(request.method_string()),
                   .target = Text(request.target()),
                   .host = Text(request[beast::field::host]),
                   .authorization = Text(request[beast::field::authorization]),
                   .content_length = parser.content_length().value_or(0),
                   .keep_alive = request.version() == kHttp11 && request.keep_alive(),
                   .bytes = used};
  head.expects_continue = request.version() == kHttp11 &&
                          boost::beast::iequals(request[beast::field::expect], "100-continue");
  return head;
}

}  // namespace tacet::transport::http
