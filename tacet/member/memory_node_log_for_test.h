// Node log in memory, for tests.
#ifndef TACET_MEMBER_MEMORY_NODE_LOG_FOR_TEST_H_
#define TACET_MEMBER_MEMORY_NODE_LOG_FOR_TEST_H_

#include <algorithm>
#include <string_view>
#include <vector>

#include "tacet/member/node_log.h"

namespace tacet::member::testing {

class MemoryNodeLog final : public NodeLog {
 public:
  absl::Status Write(const NodeEvent& event) override {
    events_.push_back(event);
    return absl::OkStatus();
  }
  const std::vector<NodeEvent>& events() const { return events_; }
  size_t Count(NodeEventKind kind, std::string_view what) const {
    return static_cast<size_t>(std::ranges::count_if(
        events_, [&](const NodeEvent& event) { return event.kind == kind && event.what == what; }));
  }

 private:
  std::vector<NodeEvent> events_;
};

}  // namespace tacet::member::testing

#endif  // TACET_MEMBER_MEMORY_NODE_LOG_FOR_TEST_H_
