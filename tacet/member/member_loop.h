// Loop that keeps a member's session going while servers and disks are unavailable.
#ifndef TACET_MEMBER_MEMBER_LOOP_H_
#define TACET_MEMBER_MEMBER_LOOP_H_

#include <functional>

#include "absl/status/status.h"

#include "tacet/crypto/random.h"
#include "tacet/member/backoff.h"
#include "tacet/member/member_session.h"

namespace tacet::member {

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
absl::Status RunMember(MemberSession& session, const BackoffSpec& spec, crypto::Entropy& entropy,
                       const MemberLoopHooks& hooks);

}  // namespace tacet::member

#endif  // TACET_MEMBER_MEMBER_LOOP_H_
