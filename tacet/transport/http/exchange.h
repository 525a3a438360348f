// Interface between the HTTP server and what it serves: a service begins an exchange for each
// request, the exchange takes the body and gives the response.
#ifndef TACET_TRANSPORT_HTTP_EXCHANGE_H_
#define TACET_TRANSPORT_HTTP_EXCHANGE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"

#include "tacet/base/bytes.h"
#include "tacet/transport/http/request_parser.h"

namespace tacet::transport::http {

// The other end of a connection.
struct Peer {
  std::string address;  // IPv4, or the first 64 bits of IPv6
  // In the client's certificate; nothing where clients show none.
  std::optional<std::string> certificate_name;
};

// Bytes of a response that are read when they are sent.
class BodySource {
 public:
  virtual ~BodySource() = default;
  virtual uint64_t size() const = 0;
  // The next bytes, as many as `out` has room for: never more than are left. An error ends the
  // connection.
  virtual absl::Status Read(std::span<uint8_t> out) = 0;
};

struct Response {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::vector<std::pair<std::string, std::string>> headers = {};
  base::Bytes body = {};
  std::unique_ptr<BodySource> more = nullptr;  // follows `body`
};

// One request. Its functions are called one at a time, in this order, until one of them gives the
// response; they may wait for disks and locks. An exchange that goes without a response has ended
// with its connection.
class Exchange {
 public:
  virtual ~Exchange() = default;

  // The next bytes of the body.
  virtual std::optional<Response> Receive(std::span<const uint8_t> bytes) = 0;
  // After the last one. Without a response the request is parked.
  virtual std::optional<Response> Finish() = 0;
  // For a parked request, once at first and with each HttpServer::Look: the response, if there is
  // one by now.
  virtual std::optional<Response> Look() = 0;
  // For a request that was parked for long enough.
  virtual Response GiveUp() = 0;
};

// Thread-safe.
class Service {
 public:
  virtual ~Service() = default;
  // For a request whose head was read, before any of its body.
  virtual std::variant<Response, std::unique_ptr<Exchange>> Begin(const RequestHead& head,
                                                                  const Peer& peer) = 0;
};

}  // namespace tacet::transport::http

#endif  // TACET_TRANSPORT_HTTP_EXCHANGE_H_
