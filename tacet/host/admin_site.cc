#include "tacet/host/admin_site.h"

#include "fmt/core.h"

#include "tacet/host/attendance_report.h"
#include "tacet/report/live_page.h"
#include "tacet/report/page_assets.h"

namespace tacet::host {

using transport::http::Page;
using transport::http::PageRequest;

namespace {

constexpr std::string_view kApi = "/api/";

Page NotFound() { return {.status = 404, .body = "there is no page of this name\n"}; }

Page Json(const base::JsonValue& value) {
  return {.content_type = "application/json", .body = value.Dump() + "\n"};
}

// For everything, also what no browser shows: nobody frames it, keeps it, guesses its type, or is
// told where a reader came from.
Page Guarded(Page page) {
  page.headers.insert(page.headers.end(),
                      {{"Content-Security-Policy", std::string(tacet::report::LivePagePolicy())},
                       {"X-Content-Type-Options", "nosniff"},
                       {"X-Frame-Options", "DENY"},
                       {"Referrer-Policy", "no-referrer"},
                       {"Cross-Origin-Resource-Policy", "same-origin"},
                       {"Cross-Origin-Opener-Policy", "same-origin"},
                       {"Cache-Control", "no-store"}});
  return page;
}

}  // namespace

Page AdminSite::Handle(const PageRequest& request) const {
  if (request.path == "/healthz") return Guarded({.body = "alive\n"});
  if (request.path == "/readyz") return Guarded(Ready());
  if (request.path == "/metrics") {
    parts_.metrics.SetProblems(ServerProblems(parts_));
    return Guarded({.content_type = "text/plain; version=0.0.4; charset=utf-8",
                    .body = parts_.metrics.Text(parts_.clock())});
  }
  if (token_ == nullptr) return Guarded(NotFound());
  return Guarded(request.path.starts_with(kApi) ? Data(request) : Frame(request));
}

Page AdminSite::Ready() const {
  const std::vector<Problem> problems = ServerProblems(parts_);
  const bool stops = AnyStops(problems);
  const std::string waiting = WaitingText(parts_.rounds.Status(), parts_.manifest, parts_.clock());
  Page page{.status = stops ? 503 : 200,
            .body = fmt::format("{}\nepoch {} of {}\n{}{}", stops ? "not ready" : "ready",
                                parts_.manifest.epoch(), parts_.manifest.federation(), waiting,
                                waiting.empty() ? "" : "\n")};
  for (const Problem& problem : problems) {
    page.body += ProblemText(problem, parts_.manifest) + "\n";
  }
  return page;
}

Page AdminSite::Frame(const PageRequest& request) const {
  if (request.path == "/") {
    return {.content_type = "text/html; charset=utf-8",
            .body = std::string(tacet::report::LivePage())};
  }
  if (request.path == "/live.js") {
    return {.content_type = "text/javascript; charset=utf-8",
            .body = std::string(tacet::report::LiveScript())};
  }
  if (request.path == "/page.css") {
    return {.content_type = "text/css; charset=utf-8",
            .body = std::string(tacet::report::PageStyle())};
  }
  return NotFound();
}

Page AdminSite::Data(const PageRequest& request) const {
  if (!token_->Admits(request.authorization)) {
    return {.status = 401,
            .body = "this needs the page's token\n",
            .headers = {{"WWW-Authenticate", "Bearer"}}};
  }
  if (request.path == "/api/status") return Json(ServerStatusJson(parts_));
  if (request.path == "/api/agreement") return Json(ServerAgreementJson(parts_));
  return NotFound();
}

}  // namespace tacet::host
