// Interface of a member's log: what it was asked, what left it, and what it refused.
#ifndef TACET_MEMBER_NODE_LOG_H_
#define TACET_MEMBER_NODE_LOG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

#include "tacet/crypto/hash.h"
#include "tacet/secagg/attempt.h"

namespace tacet::member {

enum class NodeEventKind : uint8_t {
  kAsked,      // what the server wants of this member
  kSent,       // what left the site
  kApplied,    // a state that was taken over
  kRefused,    // what was not done, and why
  kViolation,  // what an honest server does not do
  kNote,       // what its operator should know of this site itself
};
std::string_view NodeEventKindName(NodeEventKind kind);  // asked, sent, applied, ...

// One line of a member's own log. It never holds updates, sums, models or keys: digests of what
// was sent, counts, and words.
struct NodeEvent {
  NodeEventKind kind = NodeEventKind::kNote;
  std::string what;  // upload, vote, unmask-share, ...; the name of a protocol violation
  std::optional<secagg::AttemptNumber> attempt;  // that it is about
  std::optional<uint64_t> bytes;                 // that were sent
  std::optional<crypto::Digest> digest;          // SHA-256 of them
  std::string text;                              // why; may hold words that the server chose
};

class NodeLog {
 public:
  virtual ~NodeLog() = default;

  // Durable when it returns OK for violations and refusals; others may be lost with the machine.
  virtual absl::Status Write(const NodeEvent& event) = 0;
};

}  // namespace tacet::member

#endif  // TACET_MEMBER_NODE_LOG_H_
