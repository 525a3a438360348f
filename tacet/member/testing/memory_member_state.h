// Member state in memory, for tests: a session that "restarts" is given the same object.
#ifndef TACET_MEMBER_TESTING_MEMORY_MEMBER_STATE_H_
#define TACET_MEMBER_TESTING_MEMORY_MEMBER_STATE_H_

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tacet/base/status.h"
#include "tacet/member/member_state.h"
#include "tacet/member/node_log.h"
#include "tacet/secagg/attempt.h"

namespace tacet::member::testing {

class MemoryMemberState final : public MemberState {
 public:
  absl::Status SaveCheckpoint(std::span<const uint8_t> checkpoint) override {
    files_["checkpoint"].assign(checkpoint.begin(), checkpoint.end());
    return absl::OkStatus();
  }
  absl::StatusOr<base::Bytes> LoadCheckpoint() const override { return Load("checkpoint"); }
  absl::Status SaveMemory(std::span<const uint8_t> memory) override {
    files_["memory"].assign(memory.begin(), memory.end());
    return absl::OkStatus();
  }
  absl::StatusOr<base::Bytes> LoadMemory() const override { return Load("memory"); }

  absl::Status SaveUpload(const secagg::Attempt& attempt,
                          std::span<const uint8_t> upload) override {
    return Record(attempt, "upload", upload);
  }
  absl::StatusOr<base::Bytes> LoadUpload(const secagg::Attempt& attempt) const override {
    return Find(attempt, "upload");
  }

  absl::Status Record(const secagg::Attempt& attempt, std::string_view step,
                      std::span<const uint8_t> message) override {
    const absl::StatusOr<base::Bytes> said = Find(attempt, step);
    if (said.ok()) {
      return std::ranges::equal(*said, message) ? absl::OkStatus()
                                                : base::AlreadyExists("another one was kept");
    }
    if (said.status().code() != absl::StatusCode::kNotFound) return said.status();
    entries_[{attempt.number, std::string(step)}] = {attempt, {message.begin(), message.end()}};
    return absl::OkStatus();
  }
  absl::StatusOr<base::Bytes> Find(const secagg::Attempt& attempt,
                                   std::string_view step) const override {
    const auto found = entries_.find({attempt.number, std::string(step)});
    if (found == entries_.end()) return base::NotFound("nothing was kept");
    TACET_RETURN_IF_ERROR(secagg::CheckAttempt(attempt, found->second.first, "site state"));
    return found->second.second;
  }
  absl::Status KeepOnly(const secagg::AttemptNumber& attempt) override {
    std::erase_if(entries_, [&](const auto& entry) { return entry.first.first != attempt; });
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<base::Bytes> Load(const std::string& name) const {
    const auto found = files_.find(name);
    if (found == files_.end()) return base::NotFound("nothing was kept");
    return found->second;
  }

  std::map<std::string, base::Bytes> files_;
  std::map<std::pair<secagg::AttemptNumber, std::string>, std::pair<secagg::Attempt, base::Bytes>>
      entries_;
};

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

#endif  // TACET_MEMBER_TESTING_MEMORY_MEMBER_STATE_H_
