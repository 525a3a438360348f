#include "tacet/federation/member_loop.h"

#include <algorithm>
#include <cmath>

#include "tacet/federation/member_parts.h"

namespace tacet::federation {
namespace {

// After a step that was acted on: an honest server has news a few times a round, one that makes
// them up with every answer shall not keep a member busy.
constexpr double kBetweenNewsSeconds = 0.05;

}  // namespace

Backoff::Backoff(const BackoffSpec& spec, base::Entropy& entropy)
    : spec_(spec), random_(base::Random::FromEntropy(entropy)), span_(spec.first_seconds) {}

double Backoff::NextSeconds() {
  const double uniform = std::ldexp(static_cast<double>(random_.NextU64() >> 11), -53);
  const double seconds = span_ * (0.5 + 0.5 * uniform);
  span_ = std::min(2 * span_, spec_.most_seconds);
  return seconds;
}

absl::Status RunMember(MemberSession& session, const BackoffSpec& spec, base::Entropy& entropy,
                       const MemberLoopHooks& hooks) {
  Backoff backoff(spec, entropy);
  // A server answers without news after half a minute: one that does so at once is slowed down.
  Backoff pause({.first_seconds = spec.first_seconds, .most_seconds = spec.first_seconds}, entropy);
  bool was_limited = false;
  while (true) {
    const absl::StatusOr<MemberSession::Progress> progress = session.Step();
    double seconds = 0;
    if (progress.ok()) {
      backoff.Reset();
      was_limited = false;
      if (*progress == MemberSession::Progress::kDone) return absl::OkStatus();
      if (*progress == MemberSession::Progress::kUnchanged) {
        seconds = pause.NextSeconds();
      } else {
        if (hooks.on_progress) hooks.on_progress(session);
        seconds = kBetweenNewsSeconds;
      }
    } else {
      if (!MayPass(progress.status())) return progress.status();
      const bool limited = progress.status().code() == absl::StatusCode::kResourceExhausted;
      if (hooks.on_trouble && !(limited && was_limited)) hooks.on_trouble(progress.status());
      // Over the limits of one member there is room again soon: a large object goes on at their
      // pace.
      seconds = limited ? pause.NextSeconds() : backoff.NextSeconds();
      was_limited = limited;
    }
    if (!hooks.wait(seconds)) return absl::CancelledError("the member was asked to stop");
  }
}

}  // namespace tacet::federation
