// Storage interface of a server's facts, which must survive a crash.
#ifndef TACET_SERVER_SERVER_STORE_H_
#define TACET_SERVER_SERVER_STORE_H_

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/hash.h"
#include "tacet/protocol/announcement.h"
#include "tacet/secagg/attempt.h"

namespace tacet::server {

// Permanent record of an attempt: counts and outcomes, never a cohort.
struct AttemptRecord {
  secagg::Attempt attempt;
  protocol::AttemptPhase phase = protocol::AttemptPhase::kCollecting;
  uint64_t begun = 0;     // Unix seconds
  uint64_t deadline = 0;  // of the phase
  // By the clock of `deadline`: when the server last noted that it runs while the attempt collects;
  // then when it closed.
  uint64_t noted = 0;
  uint32_t participants = 0;  // K', once closed
  std::string failure;        // a word; empty unless failed

  friend bool operator==(const AttemptRecord&, const AttemptRecord&) = default;
};

// Kind of submission to an attempt, to the beginning of a round (attempt number 0), or to the
// opening of an epoch (round kOpeningRound, of which only key packets are forgotten), or an action
// of the server's operators (kOperatorsPlace). Of large objects, which are in the blob store, the
// SHA-256 is kept; a key packet is kept whole. The numbers are part of the schema.
enum class ItemKind : uint8_t {
  kAccepted = 1,     // digest of an upload that is in the sum
  kClosedRound = 2,  // digest; of the server itself (member 0)
  kVote = 3,
  kUnmaskShare = 4,   // digest
  kRefusal = 5,       // empty
  kAttestation = 6,   // of the round that begins
  kCheckpoint = 7,    // digest; of the round that begins
  kRoster = 8,        // digest; of the server itself (member 0)
  kConfirmation = 9,  // empty
  kCheckRow = 10,     // digest
  kShares = 11,       // digest; of the server itself (member 0)
  // Empty: this participant's shares were wrong. kInDispute: they, or several seats' rows.
  // kInDisputeOfOneSeat: they, or the row of one seat. Never forgotten.
  kLeftOut = 12,
  kOpeningVote = 13,  // of the epoch's opening
  kKeyPacket = 14,    // of the epoch, with the votes of its opening
  kAbstention = 20,   // signed: this member's upload holds none of its data
  kAbstained = 21,    // the same, of a participant of the attempt that closed
  kOperator = 30,     // an action of an operator; `member` is its number, from 0
};

// Value of kLeftOut.
inline constexpr uint8_t kInDispute = 1;
inline constexpr uint8_t kInDisputeOfOneSeat = 2;
// In no store: they follow from the attempts (exclusions.h).
inline constexpr uint8_t kOnTrial = 3;
inline constexpr uint8_t kSuspected = 4;  // on trial, and a sum was sound without it
inline constexpr uint8_t kLastSuspect = 5;
inline bool IsOnTrial(const base::Bytes& left_out) {
  return left_out == base::Bytes{kOnTrial} || left_out == base::Bytes{kSuspected};
}

inline constexpr uint32_t kOpeningRound = std::numeric_limits<uint32_t>::max();
// Where actions of operators are: no opening has this number.
inline constexpr secagg::AttemptNumber kOperatorsPlace{
    .epoch = 0, .round = kOpeningRound, .attempt = 1};

struct Item {
  ItemKind kind = ItemKind::kAccepted;
  uint64_t member = 0;
  base::Bytes bytes;

  friend bool operator==(const Item&, const Item&) = default;
};

// Facts of one federation. Every call is durable when it returns OK, and happens wholly or not at
// all: a process killed at any later moment finds it again. Unavailable when the store failed (a
// full disk, a lost connection): whether the call happened is then known only by reading; the same
// call may succeed later. Thread-safe.
class ServerStore {
 public:
  virtual ~ServerStore() = default;

  // Makes the store this federation's when it is nobody's; FailedPrecondition when it is
  // another's. `federation` is Manifest::federation().
  virtual absl::Status Claim(const crypto::Digest& federation) = 0;

  // All attempts ever begun, in order.
  virtual absl::StatusOr<std::vector<AttemptRecord>> Attempts() const = 0;
  // Begins an attempt with its cohort (increasing; empty when members decide). FailedPrecondition
  // when the last one has not ended; AlreadyExists when its number was begun before.
  virtual absl::Status Begin(const AttemptRecord& record, std::span<const uint64_t> cohort) = 0;
  // For the attempt that has not ended; empty when none is.
  virtual absl::StatusOr<std::vector<uint64_t>> Cohort() const = 0;
  // The last attempt's new phase, times or count, together with `items` of it.
  // FailedPrecondition when `record.attempt` is not the last one begun, or has ended.
  virtual absl::Status Update(const AttemptRecord& record, std::span<const Item> items = {}) = 0;
  // The same for its end, published or failed: its cohort is forgotten, and its items of the kinds
  // in `forgotten`. The very same end again is OK.
  virtual absl::Status Finish(const AttemptRecord& record, std::span<const ItemKind> forgotten) = 0;

  // AlreadyExists when the member gave another item of this kind here; the same again is OK and
  // changes nothing.
  virtual absl::Status PutItem(const secagg::AttemptNumber& at, const Item& item) = 0;
  // All items there, in the order in which they were put.
  virtual absl::StatusOr<std::vector<Item>> Items(const secagg::AttemptNumber& at) const = 0;
  // Forgets one item; OK where it is not there.
  virtual absl::Status ForgetItem(const secagg::AttemptNumber& at, ItemKind kind,
                                  uint64_t member) = 0;
  // Those of one kind and of members from `from` on, by member: `most` of them at most.
  virtual absl::StatusOr<std::vector<Item>> ItemsOf(const secagg::AttemptNumber& at, ItemKind kind,
                                                    uint64_t from, size_t most) const = 0;
  // Forgets all items of rounds before `round`, except those of kLeftOut, and the key packets of
  // epochs before `epoch`.
  virtual absl::Status ForgetBefore(uint32_t round, uint32_t epoch) = 0;
};

}  // namespace tacet::server

#endif  // TACET_SERVER_SERVER_STORE_H_
