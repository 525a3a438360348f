// Keeps a member's session going through servers and disks that are away for a while.
#ifndef TACET_FEDERATION_MEMBER_LOOP_H_
#define TACET_FEDERATION_MEMBER_LOOP_H_

#include <functional>

#include "absl/status/status.h"

#include "tacet/base/random.h"
#include "tacet/federation/backoff.h"
#include "tacet/federation/member_session.h"

namespace tacet::federation {

struct MemberLoopHooks {
  // Waits; false when the loop is to end.
  std::function<bool(double seconds)> wait;
  // After a step that failed and will be tried again.
  std::function<void(const absl::Status& trouble)> on_trouble;
  // After a step that was acted on.
  std::function<void(const MemberSession& session)> on_progress;
};

// Steps until the federation is done (OK), `wait` says that it is enough (Cancelled), or the site
// itself fails (that error).
absl::Status RunMember(MemberSession& session, const BackoffSpec& spec, base::Entropy& entropy,
                       const MemberLoopHooks& hooks);

}  // namespace tacet::federation

#endif  // TACET_FEDERATION_MEMBER_LOOP_H_
