// HTTP/1.1 server, plain or over TLS, for clients that nobody trusts.
#ifndef TACET_TRANSPORT_HTTP_HTTP_SERVER_H_
#define TACET_TRANSPORT_HTTP_HTTP_SERVER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/host_port.h"
#include "tacet/transport/http/connection.h"
#include "tacet/transport/http/exchange.h"
#include "tacet/transport/http/places.h"
#include "tacet/transport/http/tls_identity.h"

namespace tacet::transport::http {

struct HttpServerSpec {
  base::HostPort listen = {};
  size_t threads = 0;  // on which the service is called; 0: two a core, 4 to 16
  // `places.all` is bounded further by the process's limit of descriptors.
  PlacesSpec places = {};
  ConnectionLimits limits = {};
};

// Connections and requests now, and what was refused since the start.
struct HttpServerLoad {
  size_t connections = 0;
  size_t strangers = 0;  // of them, that have shown no certificate
  size_t working = 0;    // requests whose body or response is on its way
  size_t parked = 0;     // requests that wait for a response
  uint64_t failed_handshakes = 0;
  uint64_t replaced = 0;  // connections that had to go for others, or were refused
};

// Thread-safe.
class HttpServer {
 public:
  // Serves from now on. `service` must outlive it, and `tls`, whose Set was called; without it the
  // server speaks plain HTTP. InvalidArgument for limits of zero; Unavailable when the address
  // cannot be listened at.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const HttpServerSpec& spec,
                                                           const TlsIdentity* tls,
                                                           Service& service);
  ~HttpServer();  // drains without waiting
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Where it listens, with the port that was found.
  const base::HostPort& listen() const;

  // Parked requests look for a response. Returns at once.
  void Look();

  // Accepts nothing more, gives up what is parked, and gives the requests in progress `most` to end
  // before they are cut off. Returns when there are no connections.
  void Drain(std::chrono::milliseconds most);

  HttpServerLoad Load() const;

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace tacet::transport::http

#endif  // TACET_TRANSPORT_HTTP_HTTP_SERVER_H_
