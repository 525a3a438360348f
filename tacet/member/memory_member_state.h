// Member state in memory, for members that live no longer than the process.
#ifndef TACET_MEMBER_MEMORY_MEMBER_STATE_H_
#define TACET_MEMBER_MEMORY_MEMBER_STATE_H_

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "tacet/base/shared_values.h"
#include "tacet/base/status.h"
#include "tacet/member/member_state.h"
#include "tacet/secagg/attempt.h"

namespace tacet::member {

// For synthetic data and tests: a real member's state must survive a crash, or the member may say
// two things about one attempt. A session that starts again is given the same object. Not
// thread-safe.
class MemoryMemberState : public MemberState {
 public:
  // For the states in one process: equal checkpoints are in memory once.
  using Checkpoints = base::SharedValues<base::Bytes>;

  // `shared` must outlive it; null: this state has a copy of its own.
  explicit MemoryMemberState(Checkpoints* shared = nullptr) : shared_(shared) {}

  absl::Status SaveCheckpoint(base::Bytes checkpoint) override {
    earlier_ = std::move(checkpoint_);
    checkpoint_ = shared_ != nullptr ? shared_->Share(std::move(checkpoint))
                                     : std::make_shared<const base::Bytes>(std::move(checkpoint));
    return absl::OkStatus();
  }
  absl::StatusOr<base::Bytes> LoadCheckpoint() const override {
    if (checkpoint_ == nullptr) return base::NotFound("nothing was kept");
    return *checkpoint_;
  }
  absl::StatusOr<base::Bytes> LoadEarlierCheckpoint() const override {
    if (earlier_ == nullptr) return base::NotFound("nothing was kept");
    return *earlier_;
  }
  absl::Status ForgetEarlierCheckpoint() override {
    earlier_.reset();
    return absl::OkStatus();
  }
  absl::Status StepBack() override {
    if (earlier_ == nullptr) return base::NotFound("nothing was kept");
    checkpoint_ = std::move(earlier_);
    earlier_.reset();
    return absl::OkStatus();
  }
  absl::Status SaveMemory(std::span<const uint8_t> memory) override {
    memory_.assign(memory.begin(), memory.end());
    return absl::OkStatus();
  }
  absl::StatusOr<base::Bytes> LoadMemory() const override {
    if (memory_.empty()) return base::NotFound("nothing was kept");
    return memory_;
  }
  absl::Status SaveOpeningVote(std::span<const uint8_t> vote) override {
    opening_vote_.assign(vote.begin(), vote.end());
    return absl::OkStatus();
  }
  absl::StatusOr<base::Bytes> LoadOpeningVote() const override {
    if (opening_vote_.empty()) return base::NotFound("nothing was kept");
    return opening_vote_;
  }

  absl::Status SaveUpload(const secagg::Attempt& attempt,
                          std::span<const uint8_t> upload) override {
    return SaveEntry(attempt, "upload", upload);
  }
  absl::StatusOr<base::Bytes> LoadUpload(const secagg::Attempt& attempt) const override {
    return LoadEntry(attempt, "upload");
  }

  absl::Status Record(const secagg::Attempt& attempt, secagg::JournalStep step,
                      std::span<const uint8_t> message) override {
    return SaveEntry(attempt, secagg::JournalStepName(step), message);
  }
  absl::StatusOr<base::Bytes> Find(const secagg::Attempt& attempt,
                                   secagg::JournalStep step) const override {
    return LoadEntry(attempt, secagg::JournalStepName(step));
  }
  absl::Status KeepOnly(const secagg::AttemptNumber& attempt) override {
    std::erase_if(entries_, [&](const auto& entry) {
      const secagg::AttemptNumber& of = entry.first.first;
      return of != attempt && (of.epoch != attempt.epoch || of.round != secagg::kRoundOfEpoch);
    });
    return absl::OkStatus();
  }

 private:
  absl::Status SaveEntry(const secagg::Attempt& attempt, std::string_view kind,
                         std::span<const uint8_t> message) {
    const absl::StatusOr<base::Bytes> said = LoadEntry(attempt, kind);
    if (said.ok()) {
      return std::ranges::equal(*said, message) ? absl::OkStatus()
                                                : base::AlreadyExists("another one was kept");
    }
    if (said.status().code() != absl::StatusCode::kNotFound) return said.status();
    entries_[{attempt.number, std::string(kind)}] = {attempt, {message.begin(), message.end()}};
    return absl::OkStatus();
  }
  absl::StatusOr<base::Bytes> LoadEntry(const secagg::Attempt& attempt,
                                        std::string_view kind) const {
    const auto found = entries_.find({attempt.number, std::string(kind)});
    if (found == entries_.end()) return base::NotFound("nothing was kept");
    TACET_RETURN_IF_ERROR(secagg::CheckAttempt(attempt, found->second.first, "site state"));
    return found->second.second;
  }

  Checkpoints* shared_;
  std::shared_ptr<const base::Bytes> checkpoint_, earlier_;
  base::Bytes memory_, opening_vote_;
  std::map<std::pair<secagg::AttemptNumber, std::string>, std::pair<secagg::Attempt, base::Bytes>>
      entries_;
};

}  // namespace tacet::member

#endif  // TACET_MEMBER_MEMORY_MEMBER_STATE_H_
