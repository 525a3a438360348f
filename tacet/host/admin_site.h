// HTTP site for a server's operators: health, metrics, and the page.
#ifndef TACET_HOST_ADMIN_SITE_H_
#define TACET_HOST_ADMIN_SITE_H_

#include <memory>
#include <utility>

#include "tacet/host/page_token.h"
#include "tacet/host/server_status.h"
#include "tacet/transport/http/page_server.h"

namespace tacet::host {

// Thread-safe.
//   /healthz            the process is alive
//   /readyz             200 when it can serve, else 503 and why not
//   /metrics            docs/formats/metrics.md
//   /, /live.js, ...    the page; without data, so without a token
//   /api/status, /api/agreement   its data, for those who have the token
class AdminSite {
 public:
  // Without a token there is no page.
  AdminSite(ServerParts parts, std::unique_ptr<const PageToken> token)
      : parts_(std::move(parts)), token_(std::move(token)) {}

  transport::http::Page Handle(const transport::http::PageRequest& request) const;

 private:
  transport::http::Page Ready() const;
  transport::http::Page Frame(const transport::http::PageRequest& request) const;
  transport::http::Page Data(const transport::http::PageRequest& request) const;

  ServerParts parts_;
  std::unique_ptr<const PageToken> token_;
};

}  // namespace tacet::host

#endif  // TACET_HOST_ADMIN_SITE_H_
