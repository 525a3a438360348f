#include "lab/load/load_instruments.h"

#include <algorithm>

#include "tacet/base/process_cost.h"
#include "tacet/base/status.h"
#include "tacet/protocol/announcement.h"
#include "tacet/protocol/member_request.h"

namespace tacet::app::load {
namespace {

constexpr float kUpdate = 1e-3F;

// The reason that makes a run's figures worthless; empty for everything else.
std::string_view Spoils(const member::NodeEvent& event) {
  switch (event.kind) {
    case member::NodeEventKind::kViolation:
      return "protocol violation";
    case member::NodeEventKind::kRefused:
      return "the member refused";
    case member::NodeEventKind::kNote:
      return event.what == "not-admitted" ? "the server refused" : "";
    default:
      return "";
  }
}

}  // namespace

void Turns::Take() {
  const base::MutexLock lock(mutex_);
  while (free_ == 0) given_.Wait(mutex_);
  --free_;
}

bool Turns::TryTake() {
  const base::MutexLock lock(mutex_);
  if (free_ == 0) return false;
  --free_;
  return true;
}

void Turns::Give() {
  {
    const base::MutexLock lock(mutex_);
    ++free_;
  }
  given_.SignalOne();
}

void Turn::Take() {
  if (!held_) turns_.Take();
  held_ = true;
}

void Turn::Give() {
  if (held_) turns_.Give();
  held_ = false;
}

void MemberTimes::Asks() {
  if (!std::exchange(has_asked_, true)) meter_.Connects();
}

void MemberTimes::IsAnswered(const absl::StatusOr<base::Bytes>& answer) {
  if (!answer.ok()) return;
  if (!std::exchange(is_connected_, true)) meter_.IsConnected();
  const absl::StatusOr<protocol::Announcement> told = protocol::ReadAnnouncement(*answer);
  if (!told.ok()) return;
  if (told->current.has_value()) meter_.Begun(told->current->attempt.number.round);
  meter_.Published(told->finished);
}

void MemberTimes::BeginsSealing() { sealing_from_ = base::ThreadCpuSeconds(); }

void MemberTimes::EndsSealing(uint32_t round) {
  meter_.Sealed(round, base::ThreadCpuSeconds() - sealing_from_);
}

void MemberTimes::EndsSending(uint32_t round, uint64_t bytes) {
  meter_.Uploaded(round, sending_.Seconds(), bytes);
}

void MemberTimes::AppliesSums(uint32_t round) {
  meter_.Fetched(since_announcement_.Restart());
  TakesState(round + 1);
}

void MemberTimes::TakesState(uint32_t next_round) {
  while (next_round_ < next_round) meter_.Applied(next_round_++);
}

absl::Status SyntheticUpdates::Update(const trainer::AttemptContext&, std::span<const float>,
                                      std::span<float> update) {
  std::ranges::fill(update, kUpdate);
  times_.BeginsSealing();
  return absl::OkStatus();
}

absl::Status MeasuredState::SaveUpload(const secagg::Attempt& attempt,
                                       std::span<const uint8_t> upload) {
  times_.EndsSealing(attempt.number.round);
  const absl::Status saved = state_->SaveUpload(attempt, upload);
  times_.BeginsSending();
  return saved;
}

// For an upload that was sealed before and is sent again.
absl::StatusOr<base::Bytes> MeasuredState::LoadUpload(const secagg::Attempt& attempt) const {
  absl::StatusOr<base::Bytes> upload = state_->LoadUpload(attempt);
  times_.BeginsSending();
  return upload;
}

absl::Status MeasuredLog::Write(const member::NodeEvent& event) {
  if (log_ != nullptr) TACET_RETURN_IF_ERROR(log_->Write(event));
  if (const std::string_view spoils = Spoils(event); !spoils.empty()) {
    return base::FailedPrecondition("{}: {}: {}", spoils, event.what, event.text);
  }
  if (!event.attempt.has_value()) return absl::OkStatus();
  const uint32_t round = event.attempt->round;
  if (event.kind == member::NodeEventKind::kSent && event.what == "upload") {
    times_.EndsSending(round, event.bytes.value_or(0));
  } else if (event.kind == member::NodeEventKind::kApplied && event.what == "sum") {
    times_.AppliesSums(round);
  } else if (event.kind == member::NodeEventKind::kApplied) {
    times_.TakesState(round);
  }
  return absl::OkStatus();
}

absl::StatusOr<base::Bytes> TurnWire::CallWithContent(std::span<const uint8_t> head,
                                                      std::span<const uint8_t> content,
                                                      uint32_t most_seconds) {
  if (protocol::RequestKindIn(head) != protocol::RequestKindName(0)) {
    return wire_->CallWithContent(head, content, most_seconds);
  }
  turn_.Give();
  times_.Asks();
  absl::StatusOr<base::Bytes> answer = wire_->CallWithContent(head, content, most_seconds);
  times_.IsAnswered(answer);
  turn_.Take();
  times_.Acts();
  return answer;
}

}  // namespace tacet::app::load
