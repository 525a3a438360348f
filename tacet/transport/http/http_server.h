// Small HTTP server for the operators of a node: pages, figures, health. It answers GET and HEAD
// and stores nothing from a request; everything from outside is bounded in bytes, time and number.
#ifndef TACET_TRANSPORT_HTTP_HTTP_SERVER_H_
#define TACET_TRANSPORT_HTTP_HTTP_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/base/host_port.h"

namespace tacet::transport::http {

struct Request {
  std::string path = {};           // without what follows a question mark
  std::string authorization = {};  // the header of that name
};

struct Answer {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
};

struct HttpServerSpec {
  base::HostPort listen = {};
  uint32_t threads = 16;
  uint32_t waiting = 32;               // accepted connections without a thread; more wait outside
  uint32_t milliseconds = 5000;        // for one connection, from its first byte to its last
  uint32_t most_request_bytes = 4096;  // all of a request: line, headers, what follows
};

// One request a connection. On a loopback address a request must name one in its Host header too:
// otherwise any web page could reach the server under a name of its own that leads here.
class HttpServer {
 public:
  // Called on several threads at once; must not throw.
  using Handler = std::function<Answer(const Request&)>;

  // Unavailable when it cannot listen there.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const HttpServerSpec& spec,
                                                           Handler handler);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  // Ends connections that are open.
  ~HttpServer();

  // Where it listens, with the port that was found.
  const base::HostPort& listen() const { return listen_; }

 private:
  class Impl;
  HttpServer(base::HostPort listen, std::unique_ptr<Impl> impl);

  base::HostPort listen_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tacet::transport::http

#endif  // TACET_TRANSPORT_HTTP_HTTP_SERVER_H_
