// Interface that connects the processes of one simulation, its ranks.
#ifndef TACET_SIMULATION_RANK_GROUP_H_
#define TACET_SIMULATION_RANK_GROUP_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/base/status.h"

namespace tacet::simulation {

// Ranks 0, ..., size() - 1, each with an object of its own that one thread uses. Messages between
// two ranks arrive whole and in the order in which they were sent. An error is final: the group
// cannot be used any more, and its client ends all ranks.
class RankGroup {
 public:
  virtual ~RankGroup() = default;

  virtual uint32_t rank() const = 0;
  virtual uint32_t size() const = 0;

  // May wait until the receiver takes the message.
  virtual absl::Status Send(uint32_t to, std::span<const uint8_t> bytes) = 0;
  // Waits for a message of `from`. DataLoss when it is longer than `max_bytes`.
  virtual absl::StatusOr<base::Bytes> Receive(uint32_t from, size_t max_bytes) = 0;
};

// One process that does all the work.
class SingleRank final : public RankGroup {
 public:
  uint32_t rank() const override { return 0; }
  uint32_t size() const override { return 1; }
  absl::Status Send(uint32_t to, std::span<const uint8_t>) override { return NoRank(to); }
  absl::StatusOr<base::Bytes> Receive(uint32_t from, size_t) override { return NoRank(from); }

 private:
  static absl::Status NoRank(uint32_t rank) {
    return base::InvalidArgument("there is no rank {} in a run of one process", rank);
  }
};

inline SingleRank& OneProcess() {
  static SingleRank single;  // it has no state
  return single;
}

}  // namespace tacet::simulation

#endif  // TACET_SIMULATION_RANK_GROUP_H_
