// Anchor of a committee seat in the memory of a test: the machine on which the seat's processes
// run.
#ifndef TACET_MEMBER_MEMORY_SEAT_ANCHOR_FOR_TEST_H_
#define TACET_MEMBER_MEMORY_SEAT_ANCHOR_FOR_TEST_H_

#include <optional>

#include "tacet/base/status.h"
#include "tacet/member/seat_anchor.h"

namespace tacet::member::testing {

class MemorySeatAnchor final : public SeatAnchor {
 public:
  absl::StatusOr<std::optional<SeatWords>> Load() const override { return words; }
  absl::Status Save(const SeatWords& next) override {
    if (full) return base::Unavailable("the anchor's disk is full");
    words = next;
    return absl::OkStatus();
  }

  // Nothing after the machine was started again, and on another one.
  std::optional<SeatWords> words;
  bool full = false;
};

}  // namespace tacet::member::testing

#endif  // TACET_MEMBER_MEMORY_SEAT_ANCHOR_FOR_TEST_H_
