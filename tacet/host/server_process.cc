#include "tacet/host/server_process.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>

#include <malloc.h>

#include "tacet/base/mutex.h"
#include "tacet/base/status.h"
#include "tacet/crypto/random.h"
#include "tacet/host/admin_site.h"
#include "tacet/host/certificate_watch.h"
#include "tacet/host/guarantee_worker.h"
#include "tacet/host/handshake_watch.h"
#include "tacet/host/hosted_rounds.h"
#include "tacet/host/operator_action.h"
#include "tacet/host/operator_tokens.h"
#include "tacet/host/page_token.h"
#include "tacet/host/problem_log.h"
#include "tacet/host/readiness.h"
#include "tacet/host/server_log.h"
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

constexpr std::string_view kTokenFile = "page.token";
constexpr std::chrono::seconds kBetweenCertificateChecks(5);
constexpr std::chrono::seconds kBetweenProblemLines(5);
constexpr std::chrono::seconds kForCallsInProgress(10);

// A server holds for a short time what a thousand members send: memory goes back to the system
// instead of staying with each thread that once read a request.
void ReturnMemory() {
  mallopt(M_MMAP_THRESHOLD, 128 << 10);
  mallopt(M_TRIM_THRESHOLD, 1 << 20);
  mallopt(M_ARENA_MAX, 2);
}

absl::Status CheckOperators(const ServerProcessSpec& spec) {
  if (!spec.operators_file.has_value()) return absl::OkStatus();
  if (!spec.page || !spec.admin.loopback()) {
    return base::InvalidArgument(
        "--operators needs the page (--page), and --admin on a loopback address such as "
        "127.0.0.1:9464: the page speaks plain HTTP, and a network would see the tokens");
  }
  return OperatorTokens::Read(*spec.operators_file).status();
}

// In the order in which they need each other.
class ServerProcess {
 public:
  ServerProcess(const ServerProcessSpec& spec, const crypto::Unlocker& unlocker,
                std::string_view version, Membership membership, crypto::TlsKey key,
                std::unique_ptr<ServerLog> log)
      : spec_(spec),
        version_(version),
        membership_(std::move(membership)),
        key_(std::move(key)),
        log_(std::move(log)),
        hosted_(
            {.home = spec.home, .state = spec.state, .rounds = spec.rounds, .limits = spec.limits},
            manifest(), *log_),
        following_(unlocker),
        guarantees_(manifest().manifest()),
        watches_{.handshakes = {manifest(), *log_, hosted_.metrics()},
                 .problems = {manifest(), *log_}} {}

  absl::Status Start(const SiteFolder& folder);
  // Until it is to end, or to continue to another epoch: true.
  bool Serve();
  void End(bool moves);

  // As `spec`, with the addresses and the token of this one.
  ServerProcessSpec SpecOfNext() const;

 private:
  const agreement::SignedManifest& manifest() const { return membership_.manifest; }

  // For the operators.
  struct Admin {
    std::optional<AdminSite> site;
    std::unique_ptr<PageServer> pages;
  };

  // For invitations that the coordinator gives to the running server.
  struct Following {
    explicit Following(const crypto::Unlocker& keys) : unlocker(keys) {}

    const crypto::Unlocker& unlocker;
    base::Mutex joins;
    std::atomic<bool> has_joined = false;  // since the folder was looked at
  };

  struct Watches {
    HandshakeWatch handshakes;
    ProblemLog problems;
    std::optional<CertificateWatch> certificate = std::nullopt;
    AtMostEvery certificate_check{kBetweenCertificateChecks};
    AtMostEvery problem_check{kBetweenProblemLines};
  };

  ServerParts Parts();
  absl::StatusOr<std::unique_ptr<PageToken>> OpenToken() const;
  absl::Status StartAdmin();
  absl::Status StartListening();

  void Work();
  void Tick();
  // Works until `is_done`, at most `seconds`. A server that `follows` also ends when it is asked
  // to.
  template <typename IsDone>
  void WorkUntil(IsDone is_done, uint64_t seconds, bool follows);
  // In the log: connected members that have not taken the last result.
  void NameWithoutResult();
  void LookAtCertificate();
  void LookAtProblems();
  // For this server, to a later epoch or with a renewed certificate.
  absl::Status TakeInvitation(std::span<const uint8_t> invitation);
  // By itself, or since an operator has started a prepared epoch.
  bool Moves() {
    return hosted_.desk().StartsEpoch() || (spec_.follow && watches_.certificate->has_new_epoch());
  }

  const ServerProcessSpec& spec_;
  std::string version_;
  Membership membership_;
  crypto::TlsKey key_;
  std::unique_ptr<ServerLog> log_;
  HostedRounds hosted_;
  Following following_;
  Readiness readiness_;
  GuaranteeWorker guarantees_;
  Watches watches_;
  Admin admin_;
  std::unique_ptr<HttpsServer> listener_;
};

ServerParts ServerProcess::Parts() {
  static const uint64_t started_at = base::SystemUnixSeconds();
  return {.manifest = manifest(),
          .rounds = hosted_.rounds(),
          .log = *log_,
          .metrics = hosted_.metrics(),
          .readiness = readiness_,
          .store = hosted_.health(),
          .mailbox = hosted_.mailbox(),
          .desk = hosted_.desk(),
          .guarantees = guarantees_,
          .clock = base::SystemUnixSeconds,
          .version = version_,
          .started_at = started_at};
}

absl::StatusOr<std::unique_ptr<PageToken>> ServerProcess::OpenToken() const {
  if (!spec_.page) return nullptr;
  crypto::SystemEntropy entropy;
  absl::StatusOr<PageToken> token = spec_.page_token_file.has_value()
                                        ? PageToken::Read(*spec_.page_token_file)
                                        : PageToken::Make(spec_.home / kTokenFile, entropy);
  TACET_RETURN_IF_ERROR(token.status());
  return std::make_unique<PageToken>(*std::move(token));
}

absl::Status ServerProcess::StartAdmin() {
  TACET_ASSIGN_OR_RETURN(std::unique_ptr<PageToken> token, OpenToken());
  admin_.site.emplace(Parts(), std::move(token), spec_.operators_file);
  TACET_ASSIGN_OR_RETURN(
      admin_.pages,
      PageServer::Start({.listen = spec_.admin, .max_body_bytes = kMaxOperatorRequestBytes},
                        [this](const auto& request) { return admin_.site->Handle(request); }));
  JsonValue fields = JsonValue::MakeObject().Set("address", admin_.pages->listen().text());
  if (spec_.page) {
    const std::filesystem::path token_file =
        spec_.page_token_file.value_or(spec_.home / kTokenFile);
    fields.Set("page", fmt::format("http://{}/", admin_.pages->listen().text()))
        .Set("token_file", token_file.string());
  }
  log_->Write(LogLevel::kInfo, "admin-listening", std::move(fields));
  return absl::OkStatus();
}

absl::Status ServerProcess::StartListening() {
  transport::https::HttpsServerSpec spec{.listen = spec_.listen,
                                         .authority = manifest().authority(),
                                         .client_certificates = spec_.client_certificates,
                                         .mailbox = &hosted_.mailbox(),
                                         .on_refused_handshake = [this](const auto& refused) {
                                           watches_.handshakes.OnRefused(refused, hosted_.rounds());
                                         }};
  for (const auto& member : manifest().members()) spec.members.push_back(member.name);
  TACET_ASSIGN_OR_RETURN(
      listener_, HttpsServer::Start(spec, key_, membership_.certificate, hosted_.handler()));
  hosted_.rounds().OnNotification([this] { listener_->News(); });
  readiness_.SetListening(true);
  log_->Write(LogLevel::kInfo, "listening",
              JsonValue::MakeObject()
                  .Set("address", spec_.listen)
                  .Set("port", listener_->port())
                  .Set("client_certificates", spec_.client_certificates));
  return absl::OkStatus();
}

absl::Status ServerProcess::Start(const SiteFolder& folder) {
  TACET_RETURN_IF_ERROR(hosted_.Open(version_));
  TACET_ASSIGN_OR_RETURN(watches_.certificate,
                         CertificateWatch::Create(folder, membership_, *log_, hosted_.metrics(),
                                                  base::SystemUnixSeconds));
  if (spec_.follow) {
    watches_.certificate->Follow();
    hosted_.mailbox().OnInvitation(
        [this](std::span<const uint8_t> invitation) { return TakeInvitation(invitation); });
  }
  TACET_RETURN_IF_ERROR(StartAdmin());
  return StartListening();
}

absl::Status ServerProcess::TakeInvitation(std::span<const uint8_t> invitation) {
  const base::MutexLock lock(following_.joins);
  TACET_ASSIGN_OR_RETURN(SiteFolder folder, SiteFolder::Open(spec_.home));
  TACET_RETURN_IF_ERROR(
      folder.Join(invitation, manifest().coordinator(), following_.unlocker).status());
  following_.has_joined = true;
  return absl::OkStatus();
}

void ServerProcess::Tick() {
  (void)hosted_.Tick();  // what failed is in its health
  readiness_.NoteTick(base::SystemUnixSeconds());
  hosted_.metrics().SetLoad(listener_->Load());
}

void ServerProcess::LookAtCertificate() {
  if (const std::optional<base::Bytes> renewed = watches_.certificate->Renewed();
      renewed.has_value()) {
    const absl::Status set = listener_->SetCertificate(key_, *renewed);
    if (set.ok()) {
      watches_.certificate->Adopt(*renewed);
      log_->Write(LogLevel::kInfo, "certificate-replaced");
    } else {
      log_->Write(LogLevel::kError, "invitation-unreadable",
                  JsonValue::MakeObject().Set("message", base::Message(set)));
    }
  }
  hosted_.desk().SetPrepared(watches_.certificate->prepared());
  watches_.certificate->WarnOfEnd();
}

void ServerProcess::LookAtProblems() {
  watches_.problems.Note(ServerProblems(Parts()));
  watches_.problems.NoteObjections(hosted_.rounds().Status().objections);
}

void ServerProcess::Work() {
  Tick();
  if (spec_.reload && spec_.reload()) {
    if (const absl::Status reopened = log_->Reopen(); !reopened.ok()) {
      log_->Write(LogLevel::kError, "log-not-reopened",
                  JsonValue::MakeObject().Set("message", base::Message(reopened)));
    }
    watches_.certificate_check.Forget();
  }
  if (following_.has_joined.exchange(false)) watches_.certificate_check.Forget();
  if (watches_.certificate_check.Now()) LookAtCertificate();
  if (watches_.problem_check.Now()) LookAtProblems();
}

bool ServerProcess::Serve() {
  while (!spec_.stop()) {
    Work();
    if (Moves()) return true;
    std::this_thread::sleep_for(kBetweenTicks);
  }
  return false;
}

ServerProcessSpec ServerProcess::SpecOfNext() const {
  ServerProcessSpec next = spec_;
  next.listen =
      fmt::format("{}:{}", spec_.listen.substr(0, spec_.listen.rfind(':')), listener_->port());
  next.admin = admin_.pages->listen();
  if (spec_.page && !spec_.page_token_file) next.page_token_file = spec_.home / kTokenFile;
  return next;
}

template <typename IsDone>
void ServerProcess::WorkUntil(IsDone is_done, uint64_t seconds, bool follows) {
  const auto end = steady_clock::now() + std::chrono::seconds(seconds);
  while (!(follows && spec_.stop()) && !is_done() && steady_clock::now() < end) {
    Work();
    std::this_thread::sleep_for(kBetweenTicks);
  }
}

void ServerProcess::NameWithoutResult() {
  JsonValue names = JsonValue::MakeArray();
  for (const uint64_t member : hosted_.rounds().Status().without_result) {
    names.Append(manifest().members()[member].name);
  }
  if (names.items().empty()) return;
  log_->Write(LogLevel::kWarning, "result-not-taken",
              JsonValue::MakeObject().Set("names", std::move(names)));
}

void ServerProcess::End(bool moves) {
  // The cost of an attempt is charged: one that is open is not lost to the next epoch, unless its
  // members stay away. Nor is what it has published: the server stays until each member that is
  // here has it, at most as long as seats have to answer. Where an operator starts the epoch, none
  // is open, or the operator gives it up.
  const bool follows = moves && !hosted_.desk().StartsEpoch();
  const uint64_t seconds = follows
                               ? std::max(spec_.drain_seconds, spec_.rounds.collecting_seconds +
                                                                   spec_.rounds.unmasking_seconds)
                           : moves ? 0
                                   : spec_.drain_seconds;
  log_->Write(LogLevel::kInfo, "draining", JsonValue::MakeObject().Set("seconds", seconds));
  readiness_.SetDraining();
  hosted_.rounds().Obey(tacet::server::DrainAsked());
  WorkUntil([this] { return hosted_.rounds().Idle(); }, seconds, follows);
  if (follows) {
    WorkUntil([this] { return hosted_.rounds().Status().without_result.empty(); },
              spec_.rounds.unmasking_seconds, follows);
    NameWithoutResult();
  }
  readiness_.SetListening(false);
  listener_->Drain(kForCallsInProgress);
  hosted_.rounds().OnNotification(nullptr);
  hosted_.Look();
  log_->Write(LogLevel::kInfo, "server-stopped");
}

}  // namespace

namespace {

// Serves in the epoch that the folder has joined; the spec of the next one, or nothing when it is
// to end.
absl::StatusOr<std::optional<ServerProcessSpec>> ServeEpoch(const ServerProcessSpec& spec,
                                                            const crypto::Unlocker& unlocker,
                                                            std::string_view version) {
  TACET_ASSIGN_OR_RETURN(SiteFolder folder, SiteFolder::Open(spec.home));
  TACET_ASSIGN_OR_RETURN(Membership membership, ServerMembership(folder, spec.home));
  TACET_ASSIGN_OR_RETURN(agreement::MemberKeys keys, folder.UnlockKeys(unlocker));
  TACET_ASSIGN_OR_RETURN(std::unique_ptr<ServerLog> log, ServerLog::Open(spec.log, spec.out));
  ServerProcess process(spec, unlocker, version, std::move(membership), std::move(keys.tls),
                        std::move(log));
  TACET_RETURN_IF_ERROR(process.Start(folder));
  const bool moves = process.Serve();
  process.End(moves);
  if (!moves || spec.stop()) return std::nullopt;
  return process.SpecOfNext();
}

}  // namespace

absl::Status RunServerProcess(const ServerProcessSpec& spec, const crypto::Unlocker& unlocker,
                              std::string_view version) {
  ReturnMemory();
  TACET_RETURN_IF_ERROR(CheckOperators(spec));
  std::optional<ServerProcessSpec> next = spec;
  while (next.has_value()) {
    const ServerProcessSpec now = *std::move(next);
    TACET_ASSIGN_OR_RETURN(next, ServeEpoch(now, unlocker, version));
  }
  return absl::OkStatus();
}

}  // namespace tacet::host
