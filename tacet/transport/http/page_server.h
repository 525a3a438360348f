// Small HTTP server for the operators of a node: pages, figures, health, and requests of operators
// with a small body.
#ifndef TACET_TRANSPORT_HTTP_PAGE_SERVER_H_
#define TACET_TRANSPORT_HTTP_PAGE_SERVER_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/base/host_port.h"

namespace tacet::transport::http {

struct PageRequest {
  std::string method = "GET";      // or HEAD, or POST
  std::string path = {};           // without what follows a question mark
  std::string authorization = {};  // headers of these names
  std::string host = {}, content_type = {}, origin = {}, fetch_site = {};
  std::string body = {};  // of a POST
};

struct Page {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
};

struct PageServerSpec {
  base::HostPort listen = {};
  size_t threads = 2;
  size_t connections = 64;                                   // a further one replaces the oldest
  std::chrono::milliseconds time = std::chrono::seconds(5);  // for a request, and for a page
  size_t max_request_bytes = 4096;                           // line and headers
  size_t max_body_bytes = 0;                                 // of a POST; 0: there is none
};

// One request a connection. On a loopback address a request must name one in its
// Host header too: otherwise any web page could reach the server under a name of its own that leads
// here.
class PageServer {
 public:
  // Called on several threads at once; must not throw.
  using Handler = std::function<Page(const PageRequest&)>;

  // Unavailable when it cannot listen there.
  static absl::StatusOr<std::unique_ptr<PageServer>> Start(const PageServerSpec& spec,
                                                           Handler handler);
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;
  // Ends connections that are open.
  ~PageServer();

  // Where it listens, with the port that was found.
  const base::HostPort& listen() const;

 private:
  class Impl;
  explicit PageServer(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace tacet::transport::http

#endif  // TACET_TRANSPORT_HTTP_PAGE_SERVER_H_
