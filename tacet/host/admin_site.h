// HTTP site for a server's operators: health, metrics, and the page.
#ifndef TACET_HOST_ADMIN_SITE_H_
#define TACET_HOST_ADMIN_SITE_H_

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"

#include "tacet/host/page_token.h"
#include "tacet/host/server_status.h"
#include "tacet/transport/http/page_server.h"

namespace tacet::host {

// Thread-safe.
//   /healthz            the process is alive
//   /readyz             200 when it can serve, else 503 and why not
//   /metrics            docs/formats/metrics.md
//   /, /live.js, ...    the page; without data, so without a token
//   /api/status, /api/agreement   its data, for those who have the token, and for operators
//   /api/act            POST: an operator's action
class AdminSite {
 public:
  // Without a token there is no page. `operators`: the file of OperatorTokens, which is read with
  // each request, so that a token ends with its line; without it there are no actions.
  AdminSite(ServerParts parts, std::unique_ptr<const PageToken> token,
            std::optional<std::filesystem::path> operators)
      : parts_(std::move(parts)), token_(std::move(token)), operators_(std::move(operators)) {}

  transport::http::Page Handle(const transport::http::PageRequest& request) const;

 private:
  transport::http::Page Ready() const;
  transport::http::Page Frame(const transport::http::PageRequest& request) const;
  transport::http::Page Data(const transport::http::PageRequest& request) const;
  transport::http::Page Act(const transport::http::PageRequest& request) const;
  // Nothing where the request has no operator's token; an error where the file cannot be read.
  absl::StatusOr<std::optional<std::string>> OperatorOf(
      const transport::http::PageRequest& request) const;
  transport::http::Page Refuse(int status, std::string_view reason, std::string_view text) const;

  ServerParts parts_;
  std::unique_ptr<const PageToken> token_;
  std::optional<std::filesystem::path> operators_;
};

}  // namespace tacet::host

#endif  // TACET_HOST_ADMIN_SITE_H_
