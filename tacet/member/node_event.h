// One line of a member's own log.
#ifndef TACET_MEMBER_NODE_EVENT_H_
#define TACET_MEMBER_NODE_EVENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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

// It never holds updates, sums, models or keys: digests of what was sent, counts, and words.
struct NodeEvent {
  NodeEventKind kind = NodeEventKind::kNote;
  std::string what;  // upload, vote, unmask-share, ...; the name of a protocol violation
  std::optional<secagg::AttemptNumber> attempt = std::nullopt;  // that it is about
  std::optional<uint64_t> bytes = std::nullopt;                 // that were sent
  std::optional<crypto::Digest> digest = std::nullopt;          // SHA-256 of them
  std::string text = {};  // why; may hold words that the server chose
};

}  // namespace tacet::member

#endif  // TACET_MEMBER_NODE_EVENT_H_
