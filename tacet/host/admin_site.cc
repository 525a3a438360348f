#include "tacet/host/admin_site.h"

#include "fmt/core.h"

#include "tacet/base/status.h"
#include "tacet/host/attendance_report.h"
#include "tacet/host/operator_action.h"
#include "tacet/host/operator_tokens.h"
#include "tacet/report/live_page.h"
#include "tacet/report/page_assets.h"

namespace tacet::host {

using transport::http::Page;
using transport::http::PageRequest;

namespace {

constexpr std::string_view kApi = "/api/";
constexpr std::string_view kAct = "/api/act";

Page NotFound() { return {.status = 404, .body = "there is no page of this name\n"}; }

Page NoToken(std::string_view text) {
  return {.status = 401, .body = std::string(text), .headers = {{"WWW-Authenticate", "Bearer"}}};
}

Page OnlyBy(std::string_view methods) {
  return {.status = 405,
          .body = fmt::format("only {}\n", methods),
          .headers = {{"Allow", std::string(methods)}}};
}

// A page of this server, or a program, asked; not a page of somebody else.
bool IsOwnOrigin(const PageRequest& request) {
  const bool is_own = request.origin.empty() || request.origin == "http://" + request.host;
  return is_own && (request.fetch_site.empty() || request.fetch_site == "same-origin");
}

int HttpStatusOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      return 400;
    case absl::StatusCode::kResourceExhausted:
      return 429;
    case absl::StatusCode::kUnavailable:
      return 503;
    default:
      return 409;
  }
}

// Words for the log: never a text of the request.
std::string_view RefusalOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      return "not-an-action";
    case absl::StatusCode::kResourceExhausted:
      return "too-many";
    case absl::StatusCode::kUnavailable:
      return "store-failed";
    case absl::StatusCode::kAborted:
      return "out-of-date";
    default:
      return "not-now";
  }
}

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
  const bool acts = operators_.has_value() && token_ != nullptr && request.path == kAct;
  if (acts) return Guarded(request.method == "POST" ? Act(request) : OnlyBy("POST"));
  if (request.method == "POST") return Guarded(OnlyBy("GET, HEAD"));
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

absl::StatusOr<std::optional<std::string>> AdminSite::OperatorOf(const PageRequest& request) const {
  if (!operators_.has_value() || request.authorization.empty()) return std::nullopt;
  TACET_ASSIGN_OR_RETURN(const OperatorTokens tokens, OperatorTokens::Read(*operators_));
  return tokens.NameOf(request.authorization);
}

Page AdminSite::Data(const PageRequest& request) const {
  std::optional<std::string> name;
  if (!token_->Admits(request.authorization)) {
    name = OperatorOf(request).value_or(std::nullopt);
    if (!name.has_value()) return NoToken("this needs the page's token\n");
  }
  if (request.path == "/api/status") {
    base::JsonValue status = ServerStatusJson(parts_);
    return Json(status.Set("you", name.has_value() ? base::JsonValue(*name) : base::JsonValue()));
  }
  if (request.path == "/api/agreement") return Json(ServerAgreementJson(parts_));
  return NotFound();
}

Page AdminSite::Refuse(int status, std::string_view reason, std::string_view text) const {
  parts_.desk.NoteRefused(reason);
  return {.status = status, .body = std::string(text) + "\n"};
}

// A page of somebody else cannot send a token that it does not know. Its requests are refused all
// the same, before a token is looked at.
Page AdminSite::Act(const PageRequest& request) const {
  if (!IsOwnOrigin(request)) {
    return Refuse(403, "other-page", "actions come from this server's own page");
  }
  if (request.content_type != "application/json") {
    return Refuse(415, "not-an-action", "an action is application/json");
  }
  // Also where a line of the operators' file repeats it: the sign-on proxy sends it for everybody.
  if (token_->Admits(request.authorization)) {
    return Refuse(403, "page-token", "this token may look, and an action needs an operator's");
  }
  const absl::StatusOr<std::optional<std::string>> name = OperatorOf(request);
  if (!name.ok()) {
    return Refuse(503, "operators-unreadable", "the server cannot read its file of operators");
  }
  if (!name->has_value()) {
    parts_.desk.NoteRefused("unknown-token");
    return NoToken("this needs an operator's token\n");
  }
  const absl::StatusOr<OperatorRequest> asked = ReadOperatorRequest(request.body);
  const absl::Status done =
      asked.ok() ? parts_.desk.Do(*asked, **name, ServerProblems(parts_)) : asked.status();
  if (done.ok()) return Json(parts_.desk.Json());
  parts_.desk.NoteRefused(RefusalOf(done), **name);
  return {.status = HttpStatusOf(done), .body = base::Message(done) + "\n"};
}

}  // namespace tacet::host
