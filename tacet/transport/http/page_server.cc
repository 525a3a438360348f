#include "tacet/transport/http/page_server.h"

#include <memory>
#include <utility>
#include <variant>

#include "tacet/base/status.h"
#include "tacet/transport/http/http_server.h"

namespace tacet::transport::http {
namespace {

bool NamesLoopback(const std::string& host) {
  const absl::StatusOr<base::HostPort> named = base::ParseHostPort(host);
  if (named.ok()) return named->loopback();
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  return base::HostPort{.host = bracketed ? host.substr(1, host.size() - 2) : host}.loopback();
}

HttpServerSpec ServerSpec(const PageServerSpec& spec) {
  return {.listen = spec.listen,
          .threads = spec.threads,
          .places = {.all = spec.connections, .of_address = spec.connections},
          .limits = {.max_head_bytes = spec.max_request_bytes,
                     .hello = spec.time,
                     .head = spec.time,
                     .idle = spec.time,
                     .stall = spec.time,
                     .transfer = spec.time,
                     .keep_alive = false}};
}

}  // namespace

class PageServer::Impl final : public Service {
 public:
  Impl(const PageServerSpec& spec, Handler handler)
      : loopback_(spec.listen.loopback()), handler_(std::move(handler)) {}

  absl::Status Start(const PageServerSpec& spec) {
    TACET_ASSIGN_OR_RETURN(server_, HttpServer::Start(ServerSpec(spec), nullptr, *this));
    return absl::OkStatus();
  }
  const HttpServer& server() const { return *server_; }

 private:
  std::variant<Response, std::unique_ptr<Exchange>> Begin(const RequestHead& head,
                                                          const Peer&) override {
    Page page = PageFor(head);
    return Response{.status = page.status,
                    .content_type = std::move(page.content_type),
                    .headers = std::move(page.headers),
                    .body = base::Bytes(page.body.begin(), page.body.end())};
  }

  Page PageFor(const RequestHead& head) const {
    if (head.method != "GET" && head.method != "HEAD") {
      return {.status = 405, .body = "only GET and HEAD\n", .headers = {{"Allow", "GET, HEAD"}}};
    }
    if (loopback_ && !NamesLoopback(head.host)) {
      return {.status = 421, .body = "this server answers to a loopback address only\n"};
    }
    return handler_({.path = head.target.substr(0, head.target.find('?')),
                     .authorization = head.authorization});
  }

  const bool loopback_;
  const Handler handler_;
  std::unique_ptr<HttpServer> server_;  // ends first
};

absl::StatusOr<std::unique_ptr<PageServer>> PageServer::Start(const PageServerSpec& spec,
                                                              Handler handler) {
  auto impl = std::make_unique<Impl>(spec, std::move(handler));
  TACET_RETURN_IF_ERROR(impl->Start(spec));
  return std::unique_ptr<PageServer>(new PageServer(std::move(impl)));
}

PageServer::PageServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PageServer::~PageServer() = default;

const base::HostPort& PageServer::listen() const { return impl_->server().listen(); }

}  // namespace tacet::transport::http
