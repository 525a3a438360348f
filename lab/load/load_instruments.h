// A member's interfaces, wrapped so that a load test sees what its session does.
#ifndef TACET_LAB_LOAD_LOAD_INSTRUMENTS_H_
#define TACET_LAB_LOAD_LOAD_INSTRUMENTS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "lab/load/load_meter.h"
#include "tacet/base/mutex.h"
#include "tacet/base/stopwatch.h"
#include "tacet/member/member_state.h"
#include "tacet/member/node_log.h"
#include "tacet/protocol/wire.h"
#include "tacet/trainer/update_source.h"

namespace tacet::app::load {

// So many may act at one time; the others wait. A turn that becomes free wakes one of them: the
// counting semaphore of libstdc++ 12 wakes all.
class Turns {
 public:
  explicit Turns(uint64_t free) : free_(free) {}

  void Take();
  // False if none is free.
  bool TryTake();
  void Give();

 private:
  base::Mutex mutex_;
  base::CondVar given_;
  uint64_t free_ ABSL_GUARDED_BY(mutex_);
};

// A member's permission to act. A member that trains, seals, sends, fetches or applies holds
// updates, uploads and sums in memory: only so many do at one time.
class Turn {
 public:
  explicit Turn(Turns& turns) : turns_(turns) {}
  ~Turn() { Give(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  // Both do nothing when it is already so.
  void Take();
  void Give();

 private:
  Turns& turns_;
  bool held_ = false;
};

// Times of one member, which acts in one thread.
class MemberTimes {
 public:
  explicit MemberTimes(LoadMeter& meter) : meter_(meter) {}

  // It asks for an announcement, has the answer, and may act on it.
  void Asks();
  void IsAnswered(const absl::StatusOr<base::Bytes>& answer);
  void Acts() { since_announcement_.Restart(); }
  void BeginsSealing();
  void EndsSealing(uint32_t round);
  void BeginsSending() { sending_.Restart(); }
  void EndsSending(uint32_t round, uint64_t bytes);
  void AppliesSums(uint32_t round);
  // Takes the state with which `next_round` begins.
  void TakesState(uint32_t next_round);

 private:
  LoadMeter& meter_;
  bool has_asked_ = false;
  bool is_connected_ = false;
  uint32_t next_round_ = 0;
  double sealing_from_ = 0;  // processor time of this thread
  base::Stopwatch sending_;
  base::Stopwatch since_announcement_;
};

// All refer to what they are given, which must outlive them.

// The same small update in every round: what a server sees does not depend on it.
class SyntheticUpdates final : public trainer::UpdateSource {
 public:
  explicit SyntheticUpdates(MemberTimes& times) : times_(times) {}

  absl::Status Update(const trainer::AttemptContext& context, std::span<const float> model,
                      std::span<float> update) override;

 private:
  MemberTimes& times_;
};

// Sealing ends where the upload is saved, sending begins where it was.
class MeasuredState final : public member::MemberState {
 public:
  MeasuredState(std::unique_ptr<member::MemberState> state, MemberTimes& times)
      : state_(std::move(state)), times_(times) {}

  absl::Status SaveCheckpoint(base::Bytes checkpoint) override {
    return state_->SaveCheckpoint(std::move(checkpoint));
  }
  absl::StatusOr<base::Bytes> LoadCheckpoint() const override { return state_->LoadCheckpoint(); }
  absl::StatusOr<base::Bytes> LoadEarlierCheckpoint() const override {
    return state_->LoadEarlierCheckpoint();
  }
  absl::Status ForgetEarlierCheckpoint() override { return state_->ForgetEarlierCheckpoint(); }
  absl::Status StepBack() override { return state_->StepBack(); }
  absl::Status SaveMemory(std::span<const uint8_t> memory) override {
    return state_->SaveMemory(memory);
  }
  absl::StatusOr<base::Bytes> LoadMemory() const override { return state_->LoadMemory(); }
  absl::Status SaveOpeningVote(std::span<const uint8_t> vote) override {
    return state_->SaveOpeningVote(vote);
  }
  absl::StatusOr<base::Bytes> LoadOpeningVote() const override { return state_->LoadOpeningVote(); }
  absl::Status SaveUpload(const secagg::Attempt& attempt, std::span<const uint8_t> upload) override;
  absl::StatusOr<base::Bytes> LoadUpload(const secagg::Attempt& attempt) const override;
  absl::Status Record(const secagg::Attempt& attempt, secagg::JournalStep step,
                      std::span<const uint8_t> message) override {
    return state_->Record(attempt, step, message);
  }
  absl::StatusOr<base::Bytes> Find(const secagg::Attempt& attempt,
                                   secagg::JournalStep step) const override {
    return state_->Find(attempt, step);
  }
  absl::Status KeepOnly(const secagg::AttemptNumber& attempt) override {
    return state_->KeepOnly(attempt);
  }

 private:
  std::unique_ptr<member::MemberState> state_;
  MemberTimes& times_;
};

// FailedPrecondition for what spoils a measurement: a protocol violation, a refusal of the member's
// own, a member that the server does not admit.
class MeasuredLog final : public member::NodeLog {
 public:
  // `log` may be null.
  MeasuredLog(std::unique_ptr<member::NodeLog> log, MemberTimes& times)
      : log_(std::move(log)), times_(times) {}

  absl::Status Write(const member::NodeEvent& event) override;

 private:
  std::unique_ptr<member::NodeLog> log_;
  MemberTimes& times_;
};

// Gives the turn back as long as the member waits for an announcement, and notes what it says
// before the member waits for its turn.
class TurnWire final : public protocol::Wire {
 public:
  TurnWire(std::unique_ptr<protocol::Wire> wire, Turn& turn, MemberTimes& times)
      : wire_(std::move(wire)), turn_(turn), times_(times) {}

  absl::StatusOr<base::Bytes> Call(std::span<const uint8_t> request,
                                   uint32_t most_seconds) override {
    return CallWithContent(request, {}, most_seconds);
  }
  absl::StatusOr<base::Bytes> CallWithContent(std::span<const uint8_t> head,
                                              std::span<const uint8_t> content,
                                              uint32_t most_seconds) override;
  void Stop() override { wire_->Stop(); }

 private:
  std::unique_ptr<protocol::Wire> wire_;
  Turn& turn_;
  MemberTimes& times_;
};

}  // namespace tacet::app::load

#endif  // TACET_LAB_LOAD_LOAD_INSTRUMENTS_H_
