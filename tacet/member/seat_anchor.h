// Anchor of a committee seat: its last words in an attempt, kept outside its site's folder. A
// folder that is put back from a copy, or is lost, has forgotten them; the anchor has not.
#ifndef TACET_MEMBER_SEAT_ANCHOR_H_
#define TACET_MEMBER_SEAT_ANCHOR_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/hash.h"
#include "tacet/secagg/attempt.h"

namespace tacet::member {

// The seat's progress in an attempt. The numbers are part of the format.
enum class SeatProgress : uint8_t {
  kNothing = 0,  // it heard of the attempt; zeros: none was open when the anchor was made
  kSilent = 1,   // it may have spoken before the anchor was made, and says nothing in it
  kVoted = 2,
  kUnmasked = 3,  // and gave its unmask share
};

// The seat has said nothing of a later attempt than `attempt`. A memory of a later one is another
// machine's, or of another anchor's time.
struct SeatWords {
  secagg::Attempt attempt = {};
  SeatProgress progress = SeatProgress::kNothing;
  crypto::Digest vote{}, share{};  // SHA-256 of the messages; zeros of what was not said

  friend bool operator==(const SeatWords&, const SeatWords&) = default;
};

// For one member of one federation, held by one process at a time.
class SeatAnchor {
 public:
  virtual ~SeatAnchor() = default;
  // Nothing when none were kept, or not where this process can rely on them. Errors that
  // IsRetryable.
  virtual absl::StatusOr<std::optional<SeatWords>> Load() const = 0;
  // Another process that Loads has them once this returns OK. Errors that IsRetryable.
  virtual absl::Status Save(const SeatWords& words) = 0;
};

// Identifies one start of a machine; zeros: the words hold beyond it.
using MachineStart = std::array<uint8_t, 16>;

// An anchor as it lies in a file (docs/formats/site-state.md).
struct AnchoredWords {
  MachineStart start{};
  SeatWords words;

  friend bool operator==(const AnchoredWords&, const AnchoredWords&) = default;
};
base::Bytes WriteSeatAnchor(const AnchoredWords& anchored);
// DataLoss when cut short or damaged.
absl::StatusOr<AnchoredWords> ReadSeatAnchor(std::span<const uint8_t> bytes);

}  // namespace tacet::member

#endif  // TACET_MEMBER_SEAT_ANCHOR_H_
