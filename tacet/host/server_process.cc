#include "tacet/host/server_process.h"

#include <chrono>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>

#include <malloc.h>

#include "tacet/base/status.h"
#include "tacet/crypto/random.h"
#include "tacet/host/admin_site.h"
#include "tacet/host/certificate_watch.h"
#include "tacet/host/guarantee_worker.h"
#include "tacet/host/page_token.h"
#include "tacet/host/readiness.h"
#include "tacet/host/request_watch.h"
#include "tacet/host/server_log.h"
#include "tacet/host/server_metrics.h"
#include "tacet/host/server_state.h"
#include "tacet/host/server_watch.h"
#include "tacet/server/request_handler.h"
#include "tacet/storage/file/blob_folder.h"
#include "tacet/storage/file/membership.h"
#include "tacet/storage/file/site_folder.h"
#include "tacet/transport/https/https_server.h"

namespace tacet::host {

using base::JsonValue;
using std::chrono::steady_clock;
using storage::file::Membership;
using storage::file::SiteFolder;
using transport::http::PageServer;
using transport::https::HttpsServer;

namespace {

constexpr std::string_view kStateFile = "server.sqlite";
constexpr std::string_view kBlobFolder = "blobs";
constexpr std::string_view kTokenFile = "page.token";
constexpr std::chrono::milliseconds kBetweenTicks(200);  // by which a phase may end late
constexpr std::chrono::seconds kBetweenProbes(5);        // of the store
constexpr std::chrono::minutes kEveryMinute(1);
constexpr std::chrono::seconds kForCallsInProgress(10);

double SteadySeconds() {
  return std::chrono::duration<double>(steady_clock::now().time_since_epoch()).count();
}

// True for the first call, and then at most once in `time`.
class AtMostEvery {
 public:
  explicit AtMostEvery(steady_clock::duration time) : time_(time) {}

  bool Now() {
    const auto now = steady_clock::now();
    if (last_.has_value() && now - *last_ < time_) return false;
    last_ = now;
    return true;
  }
  void Forget() { last_.reset(); }

 private:
  steady_clock::duration time_;
  std::optional<steady_clock::time_point> last_;
};

absl::StatusOr<Membership> ServerMembership(const SiteFolder& folder,
                                            const std::filesystem::path& home) {
  TACET_ASSIGN_OR_RETURN(Membership membership, storage::file::MembershipOf(folder, home));
  if (membership.member.has_value()) {
    return base::FailedPrecondition(
        "{} is a site's folder: a server is enrolled with `tacet client request --server-host`",
        home.string());
  }
  return membership;
}

// A server holds for a short time what a thousand members send: memory goes back to the system
// instead of staying with each thread that once read a request.
void ReturnMemory() {
  mallopt(M_MMAP_THRESHOLD, 128 << 10);
  mallopt(M_TRIM_THRESHOLD, 1 << 20);
  mallopt(M_ARENA_MAX, 2);
}

// In the order in which they need each other.
class ServerProcess {
 public:
  ServerProcess(const ServerProcessSpec& spec, std::string_view version, Membership membership,
                crypto::TlsKey key, std::unique_ptr<ServerLog> log)
      : spec_(spec),
        version_(version),
        membership_(std::move(membership)),
        key_(std::move(key)),
        log_(std::move(log)),
        watch_(manifest(), *log_, metrics_),
        requests_(*log_, metrics_),
        limits_(spec.limits, manifest().members().size(), SteadySeconds),
        guarantees_(manifest().manifest()) {}

  absl::Status Start(const SiteFolder& folder);
  void Serve();
  void End();

 private:
  const agreement::SignedManifest& manifest() const { return membership_.manifest; }

  absl::Status OpenState();
  absl::StatusOr<std::unique_ptr<PageToken>> OpenToken();
  absl::Status StartAdmin();
  absl::Status StartListening();
  void LogStart();

  void Work();
  absl::Status TickAndProbe();
  void Tick();
  void LookAtCertificate();

  const ServerProcessSpec& spec_;
  std::string version_;
  Membership membership_;
  crypto::TlsKey key_;
  std::unique_ptr<ServerLog> log_;
  ServerMetrics metrics_;
  Readiness readiness_;
  ServerWatch watch_;
  RequestWatch requests_;
  tacet::server::RequestLimits limits_;
  GuaranteeWorker guarantees_;
  crypto::SystemEntropy entropy_;
  ServerState state_;
  std::unique_ptr<tacet::server::BlobStore> blobs_;
  std::unique_ptr<tacet::server::RoundServer> rounds_;
  std::optional<tacet::server::RequestHandler> handler_;
  std::optional<CertificateWatch> certificate_;
  std::optional<AdminSite> site_;
  std::unique_ptr<PageServer> admin_;
  std::unique_ptr<HttpsServer> listener_;

  bool store_failed_ = false;
  AtMostEvery probe_{kBetweenProbes};
  AtMostEvery trouble_{kEveryMinute};
  AtMostEvery certificate_check_{kEveryMinute};
};

absl::Status ServerProcess::OpenState() {
  const std::string where = spec_.state.empty()
                                ? fmt::format("sqlite:{}", (spec_.home / kStateFile).string())
                                : spec_.state;
  TACET_ASSIGN_OR_RETURN(state_, OpenServerState(where, entropy_));
  TACET_ASSIGN_OR_RETURN(blobs_, storage::file::BlobFolder::Open(spec_.home / kBlobFolder));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<PageToken>> ServerProcess::OpenToken() {
  if (!spec_.page) return nullptr;
  absl::StatusOr<PageToken> token = spec_.page_token_file.has_value()
                                        ? PageToken::Read(*spec_.page_token_file)
                                        : PageToken::Make(spec_.home / kTokenFile, entropy_);
  TACET_RETURN_IF_ERROR(token.status());
  return std::make_unique<PageToken>(*std::move(token));
}

absl::Status ServerProcess::StartAdmin() {
  TACET_ASSIGN_OR_RETURN(std::unique_ptr<PageToken> token, OpenToken());
  site_.emplace(ServerParts{.manifest = manifest(),
                            .rounds = *rounds_,
                            .log = *log_,
                            .metrics = metrics_,
                            .readiness = readiness_,
                            .guarantees = guarantees_,
                            .clock = base::SystemUnixSeconds,
                            .version = version_,
                            .started_at = base::SystemUnixSeconds()},
                std::move(token));
  TACET_ASSIGN_OR_RETURN(
      admin_, PageServer::Start({.listen = spec_.admin},
                                [this](const auto& request) { return site_->Handle(request); }));
  JsonValue fields = JsonValue::MakeObject().Set("address", admin_->listen().text());
  if (spec_.page) {
    const std::filesystem::path token_file =
        spec_.page_token_file.value_or(spec_.home / kTokenFile);
    fields.Set("page", fmt::format("http://{}/", admin_->listen().text()))
        .Set("token_file", token_file.string());
  }
  log_->Write(LogLevel::kInfo, "admin-listening", std::move(fields));
  return absl::OkStatus();
}

absl::Status ServerProcess::StartListening() {
  transport::https::HttpsServerSpec spec{.listen = spec_.listen,
                                         .authority = manifest().authority(),
                                         .client_certificates = spec_.client_certificates};
  for (const auto& member : manifest().members()) spec.members.push_back(member.name);
  TACET_ASSIGN_OR_RETURN(listener_,
                         HttpsServer::Start(spec, key_, membership_.certificate, *handler_));
  rounds_->OnNotification([this] { listener_->News(); });
  readiness_.SetListening(true);
  log_->Write(LogLevel::kInfo, "listening",
              JsonValue::MakeObject()
                  .Set("address", spec_.listen)
                  .Set("port", listener_->port())
                  .Set("client_certificates", spec_.client_certificates));
  return absl::OkStatus();
}

void ServerProcess::LogStart() {
  const tacet::server::ServerStatus status = rounds_->Status();
  log_->Write(LogLevel::kInfo, "server-started",
              JsonValue::MakeObject()
                  .Set("version", version_)
                  .Set("federation", manifest().federation())
                  .Set("epoch", manifest().epoch())
                  .Set("training", manifest().training())
                  .Set("manifest", base::ToHex(manifest().manifest().hash()))
                  .Set("members", manifest().members().size())
                  .Set("state", state_.kind)
                  .Set("finished_rounds", status.finished)
                  .Set("attempts_so_far", status.attempts));
}

absl::Status ServerProcess::Start(const SiteFolder& folder) {
  TACET_RETURN_IF_ERROR(OpenState());
  TACET_ASSIGN_OR_RETURN(
      rounds_, tacet::server::RoundServer::Create(manifest(), spec_.rounds, *state_.store, *blobs_,
                                                  base::SystemUnixSeconds, entropy_));
  handler_.emplace(manifest(), *rounds_, limits_, requests_);
  TACET_ASSIGN_OR_RETURN(certificate_, CertificateWatch::Create(folder, membership_, *log_,
                                                                metrics_, base::SystemUnixSeconds));
  LogStart();
  watch_.Look(*rounds_);
  TACET_RETURN_IF_ERROR(StartAdmin());
  return StartListening();
}

absl::Status ServerProcess::TickAndProbe() {
  TACET_RETURN_IF_ERROR(rounds_->Tick());
  // Most ticks need nothing of the store: whether it is still there shows by asking.
  if (!store_failed_ && !probe_.Now()) return absl::OkStatus();
  return state_.store->Cohort().status();
}

void ServerProcess::Tick() {
  const absl::Status done = TickAndProbe();
  readiness_.NoteTick(done.ok());
  watch_.Look(*rounds_);
  requests_.Flush();
  metrics_.SetLoad(listener_->Load());
  if (done.ok()) {
    if (std::exchange(store_failed_, false)) log_->Write(LogLevel::kInfo, "store-works-again");
    trouble_.Forget();
    return;
  }
  store_failed_ = true;
  metrics_.CountStoreError();
  if (trouble_.Now()) {
    log_->Write(LogLevel::kError, "store-failed",
                JsonValue::MakeObject().Set("message", base::Message(done)));
  }
}

void ServerProcess::LookAtCertificate() {
  if (const std::optional<base::Bytes> renewed = certificate_->Renewed(); renewed.has_value()) {
    const absl::Status set = listener_->SetCertificate(key_, *renewed);
    if (set.ok()) {
      certificate_->Adopt(*renewed);
      log_->Write(LogLevel::kInfo, "certificate-replaced");
    } else {
      log_->Write(LogLevel::kError, "invitation-unreadable",
                  JsonValue::MakeObject().Set("message", base::Message(set)));
    }
  }
  certificate_->WarnOfEnd();
}

void ServerProcess::Work() {
  Tick();
  if (spec_.reload && spec_.reload()) {
    if (const absl::Status reopened = log_->Reopen(); !reopened.ok()) {
      log_->Write(LogLevel::kError, "log-not-reopened",
                  JsonValue::MakeObject().Set("message", base::Message(reopened)));
    }
    certificate_check_.Forget();
  }
  if (certificate_check_.Now()) LookAtCertificate();
}

void ServerProcess::Serve() {
  while (!spec_.stop()) {
    Work();
    std::this_thread::sleep_for(kBetweenTicks);
  }
}

void ServerProcess::End() {
  log_->Write(LogLevel::kInfo, "draining",
              JsonValue::MakeObject().Set("seconds", spec_.drain_seconds));
  readiness_.SetDraining();
  rounds_->Drain();
  const auto end = steady_clock::now() + std::chrono::seconds(spec_.drain_seconds);
  while (!rounds_->Idle() && steady_clock::now() < end) {
    Work();
    std::this_thread::sleep_for(kBetweenTicks);
  }
  readiness_.SetListening(false);
  listener_->Drain(kForCallsInProgress);
  rounds_->OnNotification(nullptr);
  watch_.Look(*rounds_);
  log_->Write(LogLevel::kInfo, "server-stopped");
}

}  // namespace

absl::Status RunServerProcess(const ServerProcessSpec& spec, const crypto::Unlocker& unlocker,
                              std::string_view version) {
  ReturnMemory();
  TACET_ASSIGN_OR_RETURN(SiteFolder folder, SiteFolder::Open(spec.home));
  TACET_ASSIGN_OR_RETURN(Membership membership, ServerMembership(folder, spec.home));
  TACET_ASSIGN_OR_RETURN(agreement::MemberKeys keys, folder.UnlockKeys(unlocker));
  TACET_ASSIGN_OR_RETURN(std::unique_ptr<ServerLog> log, ServerLog::Open(spec.log, spec.out));
  ServerProcess process(spec, version, std::move(membership), std::move(keys.tls), std::move(log));
  TACET_RETURN_IF_ERROR(process.Start(folder));
  process.Serve();
  process.End();
  return absl::OkStatus();
}

}  // namespace tacet::host
