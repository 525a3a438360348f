#include "tacet/host/hosted_rounds.h"

#include <system_error>
#include <utility>

#include "tacet/base/failure_cause.h"
#include "tacet/base/status.h"
#include "tacet/base/unix_clock.h"
#include "tacet/storage/file/blob_folder.h"

namespace tacet::host {
namespace {

using base::JsonValue;
using std::chrono::steady_clock;

constexpr std::string_view kStateFile = "server.sqlite";
constexpr std::string_view kBlobFolder = "blobs";
constexpr std::string_view kMailFolder = "mail";
constexpr std::string_view kInvitation = "invitation";  // says which epoch this is
constexpr std::chrono::seconds kBetweenProbes(5);       // of the store
constexpr std::chrono::minutes kBetweenTroubles(1);
constexpr std::chrono::hours kBetweenMailChecks(1);

double SteadySeconds() {
  return std::chrono::duration<double>(steady_clock::now().time_since_epoch()).count();
}

}  // namespace

bool AtMostEvery::Now() {
  const auto now = steady_clock::now();
  if (last_.has_value() && now - *last_ < time_) return false;
  last_ = now;
  return true;
}

absl::StatusOr<storage::file::Membership> ServerMembership(const storage::file::SiteFolder& folder,
                                                           const std::filesystem::path& home) {
  TACET_ASSIGN_OR_RETURN(storage::file::Membership membership,
                         storage::file::MembershipOf(folder, home));
  if (membership.member.has_value()) {
    return base::FailedPrecondition(
        "{} is a site's folder: a server is enrolled with `tacet client request --server-host`",
        home.string());
  }
  return membership;
}

HostedRounds::HostedRounds(HostedRoundsSpec spec, const agreement::SignedManifest& manifest,
                           ServerLog& log)
    : spec_(std::move(spec)),
      manifest_(manifest),
      log_(log),
      watch_(manifest, log, metrics_),
      pulse_{.probe = AtMostEvery(kBetweenProbes), .trouble = AtMostEvery(kBetweenTroubles)},
      requests_(log, metrics_, pulse_.health),
      doors_{.limits = {spec_.limits, manifest.members().size(), SteadySeconds},
             .mail_check = AtMostEvery(kBetweenMailChecks)} {}

absl::Status HostedRounds::Open(std::string_view version) {
  const std::string where = spec_.state.empty()
                                ? fmt::format("sqlite:{}", (spec_.home / kStateFile).string())
                                : spec_.state;
  TACET_ASSIGN_OR_RETURN(storage_.state, OpenServerState(where, entropy_));
  TACET_ASSIGN_OR_RETURN(storage_.blobs, storage::file::BlobFolder::Open(spec_.home / kBlobFolder));
  auto rounds =
      tacet::server::RoundServer::Create(manifest_, spec_.rounds, *storage_.state.store,
                                         *storage_.blobs, base::SystemUnixSeconds, entropy_);
  if (rounds.status().code() == absl::StatusCode::kFailedPrecondition) {
    return base::Annotate(rounds.status(), (spec_.home / kInvitation).string());
  }
  TACET_RETURN_IF_ERROR(rounds.status());
  rounds_ = *std::move(rounds);
  desk_.emplace(manifest_, *storage_.state.store, *rounds_, log_, base::SystemUnixSeconds);
  doors_.handler.emplace(manifest_, *rounds_, doors_.limits, requests_);
  TACET_ASSIGN_OR_RETURN(storage_.mail, storage::file::BlobFolder::Open(spec_.home / kMailFolder));
  TACET_ASSIGN_OR_RETURN(
      doors_.mailbox,
      tacet::server::Mailbox::Open(manifest_, *storage_.mail, doors_.limits, requests_,
                                   base::SystemUnixSeconds, [this]() -> protocol::ServedEpoch {
                                     const tacet::server::ServerStatus status = rounds_->Status();
                                     return {.finished = status.finished,
                                             .stopped = !status.stopped.empty()};
                                   }));
  LogStart(version);
  TACET_RETURN_IF_ERROR(desk_->Refresh());
  Look();
  return absl::OkStatus();
}

void HostedRounds::LogStart(std::string_view version) {
  const tacet::server::ServerStatus status = rounds_->Status();
  log_.Write(LogLevel::kInfo, "server-started",
             JsonValue::MakeObject()
                 .Set("version", version)
                 .Set("federation", manifest_.federation())
                 .Set("epoch", manifest_.epoch())
                 .Set("training", manifest_.training())
                 .Set("manifest", base::ToHex(manifest_.manifest().hash()))
                 .Set("members", manifest_.members().size())
                 .Set("state", storage_.state.kind)
                 .Set("finished_rounds", status.finished)
                 .Set("attempts_so_far", status.attempts));
}

absl::Status HostedRounds::TickAndProbe() {
  TACET_RETURN_IF_ERROR(desk_->Refresh());
  TACET_RETURN_IF_ERROR(rounds_->Tick());
  // Most ticks need nothing of the store: whether it is still there shows by asking.
  if (!pulse_.failed && !pulse_.probe.Now()) return absl::OkStatus();
  TACET_RETURN_IF_ERROR(storage_.state.store->Cohort().status());
  if (doors_.mail_check.Now()) SweepMail();
  return CheckRoom();
}

// Expired mail costs room and nothing else, so the training does not stop for it.
void HostedRounds::SweepMail() {
  const absl::Status swept = doors_.mailbox->ForgetExpired();
  if (swept.ok()) return;
  log_.Write(LogLevel::kWarning, "mail-not-swept",
             JsonValue::MakeObject().Set("message", base::Message(swept)));
}

absl::Status HostedRounds::CheckRoom() const {
  std::error_code error;
  const std::filesystem::space_info room = std::filesystem::space(spec_.home / kBlobFolder, error);
  if (error || room.available >= protocol::kMaxPartBytes) return absl::OkStatus();
  return base::WithCause(
      base::Unavailable("{} has {} bytes left, and a part of an object may have {}",
                        (spec_.home / kBlobFolder).string(), room.available,
                        protocol::kMaxPartBytes),
      base::FailureCause::kNoRoom);
}

absl::Status HostedRounds::Tick() {
  const absl::Status done = TickAndProbe();
  pulse_.health.NoteTick(done);
  Look();
  requests_.Flush();
  if (done.ok()) {
    if (std::exchange(pulse_.failed, false)) log_.Write(LogLevel::kInfo, "store-works-again");
    pulse_.trouble.Forget();
    return done;
  }
  pulse_.failed = true;
  metrics_.CountStoreError();
  if (pulse_.trouble.Now()) {
    log_.Write(LogLevel::kError, "store-failed",
               JsonValue::MakeObject().Set("message", base::Message(done)));
  }
  return done;
}

}  // namespace tacet::host
