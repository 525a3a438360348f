// Storage interface of a member's state that must survive a crash, so that the member never says
// two different things about one attempt.
#ifndef TACET_MEMBER_MEMBER_STATE_H_
#define TACET_MEMBER_MEMBER_STATE_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/secagg/attempt.h"
#include "tacet/secagg/journal.h"

namespace tacet::member {

// Belongs to one member of one federation and is held by one process at a time. Every call is
// durable when it returns OK, and happens wholly or not at all. Reading gives NotFound for what was
// never saved, DataLoss for what was damaged; Unavailable when the disk failed: the same call may
// succeed later.
//
// For each attempt number there is one upload, and one message a step: the same again is OK,
// AlreadyExists for another one, FailedPrecondition, also of reading, when the number was that of
// an attempt with another manifest or model.
class MemberState : public secagg::Journal {
 public:
  // The state with which the next round begins (checkpoint.h). The one that was kept until then
  // becomes the earlier one. An error keeps the last one, and may lose the earlier one.
  virtual absl::Status SaveCheckpoint(base::Bytes checkpoint) = 0;
  virtual absl::StatusOr<base::Bytes> LoadCheckpoint() const = 0;
  // The one before the last, until it is forgotten.
  virtual absl::StatusOr<base::Bytes> LoadEarlierCheckpoint() const = 0;
  virtual absl::Status ForgetEarlierCheckpoint() = 0;
  // The earlier one becomes the last one, which is forgotten; NotFound when there is no earlier
  // one.
  virtual absl::Status StepBack() = 0;

  // Memory of the last attempt announced (member_memory.h).
  virtual absl::Status SaveMemory(std::span<const uint8_t> memory) = 0;
  virtual absl::StatusOr<base::Bytes> LoadMemory() const = 0;

  // This seat's vote of an epoch's opening, with what it relied on (docs/formats/site-state.md);
  // KeepOnly does not touch it.
  virtual absl::Status SaveOpeningVote(std::span<const uint8_t> vote) = 0;
  virtual absl::StatusOr<base::Bytes> LoadOpeningVote() const = 0;

  // The sealed upload of an attempt.
  virtual absl::Status SaveUpload(const secagg::Attempt& attempt,
                                  std::span<const uint8_t> upload) = 0;
  virtual absl::StatusOr<base::Bytes> LoadUpload(const secagg::Attempt& attempt) const = 0;

  // Forgets uploads and journal entries of all other attempts, but for entries of the attempt's
  // epoch (secagg::kRoundOfEpoch).
  virtual absl::Status KeepOnly(const secagg::AttemptNumber& attempt) = 0;
};

}  // namespace tacet::member

#endif  // TACET_MEMBER_MEMBER_STATE_H_
