// Writer of a member's log: each event once, protocol violations by name.
#ifndef TACET_MEMBER_MEMBER_NOTES_H_
#define TACET_MEMBER_MEMBER_NOTES_H_

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/status/status.h"

#include "tacet/member/node_event.h"
#include "tacet/member/node_log.h"
#include "tacet/member/suspicion.h"
#include "tacet/secagg/attempt.h"

namespace tacet::member {

class MemberNotes {
 public:
  // `log` must outlive it.
  explicit MemberNotes(NodeLog& log) : log_(log) {}

  // Writes an event that was sent or applied every time; any other once for the same attempt (and,
  // where there are several of a thing, its index).
  absl::Status Write(NodeEvent event, uint32_t index = 0);
  absl::Status Violation(const Suspicion& suspicion, const secagg::AttemptNumber& at,
                         uint32_t index = 0);
  absl::Status Note(std::string_view what, const secagg::AttemptNumber& at, std::string_view text);

  // After `bytes` were sent: notes whether the server took them. An error that IsRetryable is
  // returned. `digest` is the SHA-256 of `bytes`: large ones are not hashed again.
  absl::Status Settle(std::string_view what, const secagg::AttemptNumber& at,
                      const absl::Status& sent, std::span<const uint8_t> bytes);
  absl::Status Settle(std::string_view what, const secagg::AttemptNumber& at,
                      const absl::Status& sent, std::span<const uint8_t> bytes,
                      const crypto::Digest& digest);

  // Violations and refusals so far, in this process.
  const std::vector<NodeEvent>& violations() const { return violations_; }
  const std::vector<NodeEvent>& refusals() const { return refusals_; }

 private:
  NodeLog& log_;
  std::set<std::tuple<NodeEventKind, std::string, secagg::AttemptNumber, uint32_t>> written_;
  std::vector<NodeEvent> violations_;
  std::vector<NodeEvent> refusals_;
};

}  // namespace tacet::member

#endif  // TACET_MEMBER_MEMBER_NOTES_H_
