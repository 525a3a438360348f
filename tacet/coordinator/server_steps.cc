#include "tacet/coordinator/server_steps.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "fmt/core.h"

#include "tacet/base/status.h"
#include "tacet/coordinator/mailbox_steps.h"

namespace tacet::coordinator {
namespace {

using agreement::SignedManifest;
using protocol::MailClient;
using protocol::ServedEpoch;

constexpr uint32_t kCallSeconds = 60;
constexpr double kLongestPause = 5;

absl::StatusOr<ServedEpoch> Served(const CoordinatorParts& parts, const ChangeHooks& hooks) {
  ServedEpoch served;
  TACET_RETURN_IF_ERROR(AtMailbox(
      [&](const MailClient& mail) -> absl::Status {
        TACET_ASSIGN_OR_RETURN(served, EpochOfServer(mail));
        return absl::OkStatus();
      },
      parts, hooks));
  return served;
}

bool IsIn(const ServedEpoch& served, const SignedManifest& manifest) {
  return served.epoch == manifest.epoch() && served.manifest_hash == manifest.manifest().hash();
}

bool HasEnded(const ServedEpoch& served, const SignedManifest& manifest) {
  return IsIn(served, manifest) &&
         (served.stopped || served.finished >= manifest.manifest().spec().rounds);
}

}  // namespace

bool Polling::Wait() {
  const double left = hooks_.most_seconds - waited_.Seconds();
  if (left <= 0) return false;
  const double seconds = std::min(left, pause_);
  pause_ = std::min(2 * pause_, kLongestPause);
  is_ended_ = !hooks_.wait(seconds);
  return !is_ended_;
}

absl::Status AtMailbox(const std::function<absl::Status(const MailClient&)>& step,
                       const CoordinatorParts& parts, const ChangeHooks& hooks) {
  constexpr int kTold = 5;  // a server that continues to an epoch is offline for a second
  Polling polling(hooks);
  int failures = 0;
  while (true) {
    absl::StatusOr<std::unique_ptr<protocol::Wire>> wire = hooks.connect();
    TACET_RETURN_IF_ERROR(wire.status());
    const absl::Status done =
        step(MailClient(parts.folder.parts().identity, parts.keys.signing, **wire, kCallSeconds));
    if (!protocol::IsRetryable(done)) return done;
    if (++failures == kTold) {
      hooks.say(fmt::format("waiting     for the server: {}", base::Message(done)));
    }
    if (!polling.Wait()) return done;
  }
}

absl::StatusOr<std::optional<SignedManifest>> ManifestBefore(
    const SignedManifest& manifest, const storage::file::CoordinatorFolder& folder) {
  if (manifest.epoch() == 0) return std::nullopt;
  TACET_ASSIGN_OR_RETURN(const base::Bytes bytes, folder.SignedManifest(manifest.epoch() - 1));
  TACET_ASSIGN_OR_RETURN(SignedManifest before, SignedManifest::Read(bytes));
  return std::optional<SignedManifest>(std::move(before));
}

absl::Status AwaitEnd(const SignedManifest& present, const CoordinatorParts& parts,
                      const ChangeHooks& hooks) {
  const agreement::ManifestSpec& spec = present.manifest().spec();
  const std::string_view what = spec.model == agreement::kQueryModel ? "query" : "training";
  Polling polling(hooks);
  bool is_told = false;
  while (true) {
    TACET_ASSIGN_OR_RETURN(const ServedEpoch served, Served(parts, hooks));
    if (HasEnded(served, present)) return absl::OkStatus();
    // A server that is in another epoch tells nothing about this one.
    const std::string told =
        IsIn(served, present)
            ? fmt::format("{} of {} rounds are published", served.finished, spec.rounds)
            : fmt::format("the server is in epoch {} still", served.epoch);
    if (!std::exchange(is_told, true)) {
      hooks.say(fmt::format("waiting     for the end of the {} of epoch {}: {}", what,
                            spec.training, told));
    }
    if (polling.Wait()) continue;
    if (polling.is_ended()) {
      return absl::CancelledError("it was ended while it waited: no epoch was begun");
    }
    return base::FailedPrecondition(
        "the {} of epoch {} has not ended: {}, and what is not published would never be. Nothing "
        "was begun. Run the same command later, or with --give-up: it begins without waiting, and "
        "what is not published is lost",
        what, spec.training, told);
  }
}

absl::StatusOr<std::optional<HandedOut>> MoveServer(const SignedManifest& manifest,
                                                    UntilItHasItsFile until,
                                                    const CoordinatorParts& parts,
                                                    const ChangeHooks& hooks) {
  const agreement::ManifestServer& server = manifest.server();
  TACET_ASSIGN_OR_RETURN(const std::optional<SignedManifest> before,
                         ManifestBefore(manifest, parts.folder));
  HandedOut own{
      .name = server.name,
      .file = storage::file::InvitationPath(parts.folder.path(), manifest.epoch(), server.name)};
  if (before.has_value() && before->server().tls_key != server.tls_key) return own;
  const absl::Status given = AtMailbox(
      [&](const MailClient& mail) { return LeaveServerInvitation(manifest, mail, parts.folder); },
      parts, hooks);
  const bool goes_as_file = given.code() == absl::StatusCode::kFailedPrecondition;
  if (!goes_as_file) TACET_RETURN_IF_ERROR(given);
  Polling polling(hooks);
  bool is_told = false;
  while (true) {
    TACET_ASSIGN_OR_RETURN(const ServedEpoch served, Served(parts, hooks));
    if (IsIn(served, manifest)) return std::nullopt;
    if (goes_as_file && until == UntilItHasItsFile::kRefuse) {
      if (before.has_value() && HasEnded(served, *before)) return own;
      return base::FailedPrecondition(
          "the server is in epoch {} still, and a site that joins before it leaves an attempt "
          "that it has paid for. Give the server {} (tacet client join), and start it again",
          served.epoch, own.file.string());
    }
    if (!std::exchange(is_told, true)) {
      if (goes_as_file) {
        hooks.say("note        " + base::Message(given));
        hooks.say(FileLine(own));
      }
      hooks.say(
          fmt::format("waiting     for the server to end its attempt of epoch {}", served.epoch));
    }
    if (!polling.Wait()) {
      return base::Unavailable(
          "the server is in epoch {} still, and has the invitation to epoch {}. The same command "
          "continues when it has gone on",
          served.epoch, manifest.epoch());
    }
  }
}

}  // namespace tacet::coordinator
