// Interface of a member's log: what it was asked, what left it, and what it refused.
#ifndef TACET_MEMBER_NODE_LOG_H_
#define TACET_MEMBER_NODE_LOG_H_

#include "absl/status/status.h"

#include "tacet/member/node_event.h"

namespace tacet::member {

class NodeLog {
 public:
  virtual ~NodeLog() = default;

  // Durable when it returns OK for violations and refusals; others may be lost with the machine.
  virtual absl::Status Write(const NodeEvent& event) = 0;
};

}  // namespace tacet::member

#endif  // TACET_MEMBER_NODE_LOG_H_
