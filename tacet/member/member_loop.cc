#include "tacet/member/member_loop.h"

#include "tacet/protocol/wire.h"

namespace tacet::member {
namespace {

// After a step that was acted on: an honest server has a notification a few times a round, one that
// makes them up with every answer shall not keep a member busy.
constexpr double kBetweenNewsSeconds = 0.05;

}  // namespace

absl::Status RunMember(MemberSession& session, const BackoffSpec& spec, crypto::Entropy& entropy,
                       const MemberLoopHooks& hooks) {
  Backoff backoff(spec, entropy);
  // A server answers without a notification after 15 s: one that does so at once is slowed
  // down.
  Backoff pause = Backoff::Steady(spec.first_seconds, entropy);
  while (true) {
    const absl::StatusOr<MemberSession::Progress> progress = session.Step();
    double seconds = 0;
    if (progress.ok()) {
      backoff.Reset();
      if (*progress == MemberSession::Progress::kDone) return absl::OkStatus();
      if (*progress == MemberSession::Progress::kUnchanged) {
        seconds = pause.NextSeconds();
      } else {
        if (hooks.on_progress) hooks.on_progress(session);
        seconds = kBetweenNewsSeconds;
      }
    } else {
      if (!protocol::IsRetryable(progress.status())) return progress.status();
      if (hooks.on_trouble) hooks.on_trouble(progress.status());
      seconds = backoff.NextSeconds();
    }
    if (!hooks.wait(seconds)) return absl::CancelledError("the member was asked to stop");
  }
}

}  // namespace tacet::member
