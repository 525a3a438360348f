#include "tacet/transport/http/page_server.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
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

Response ResponseOf(Page page) {
  return {.status = page.status,
          .content_type = std::move(page.content_type),
          .headers = std::move(page.headers),
          .body = base::Bytes(page.body.begin(), page.body.end())};
}

// A request with a body, on its way in.
class PostedRequest final : public Exchange {
 public:
  PostedRequest(PageRequest request, const PageServer::Handler& handler)
      : request_(std::move(request)), handler_(handler) {}

  std::optional<Response> Receive(std::span<const uint8_t> bytes) override {
    request_.body.append(base::AsText(bytes));
    return std::nullopt;
  }
  std::optional<Response> Finish() override { return ResponseOf(handler_(request_)); }
  std::optional<Response> Look() override { return std::nullopt; }  // never parked
  Response GiveUp() override { return {.status = 503}; }

 private:
  PageRequest request_;
  const PageServer::Handler& handler_;
};

}  // namespace

class PageServer::Impl final : public Service {
 public:
  Impl(const PageServerSpec& spec, Handler handler)
      : loopback_(spec.listen.loopback()),
        max_body_bytes_(spec.max_body_bytes),
        handler_(std::move(handler)) {}

  absl::Status Start(const PageServerSpec& spec) {
    TACET_ASSIGN_OR_RETURN(server_, HttpServer::Start(ServerSpec(spec), nullptr, *this));
    return absl::OkStatus();
  }
  const HttpServer& server() const { return *server_; }

 private:
  std::variant<Response, std::unique_ptr<Exchange>> Begin(const RequestHead& head,
                                                          const Peer&) override {
    const bool posts = head.method == "POST" && max_body_bytes_ > 0;
    if (!posts && head.method != "GET" && head.method != "HEAD") {
      return ResponseOf(
          {.status = 405, .body = "only GET and HEAD\n", .headers = {{"Allow", "GET, HEAD"}}});
    }
    if (loopback_ && !NamesLoopback(head.host)) {
      return ResponseOf(
          {.status = 421, .body = "this server answers to a loopback address only\n"});
    }
    PageRequest request{.method = head.method,
                        .path = head.target.substr(0, head.target.find('?')),
                        .authorization = head.authorization,
                        .host = head.host,
                        .content_type = head.content_type,
                        .origin = head.origin,
                        .fetch_site = head.fetch_site};
    if (!posts) return ResponseOf(handler_(request));
    if (head.content_length > max_body_bytes_) {
      return ResponseOf({.status = 413, .body = "the request is too large\n"});
    }
    return std::make_unique<PostedRequest>(std::move(request), handler_);
  }

  const bool loopback_;
  const size_t max_body_bytes_;
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
