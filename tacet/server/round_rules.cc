#include "tacet/server/round_rules.h"

#include <algorithm>

#include "tacet/base/status.h"

namespace tacet::server {

absl::Status CheckOptions(const RoundServerOptions& options) {
  if (options.collecting_seconds > 0 && options.unmasking_seconds > 0 &&
      options.abandon_seconds > 0 && options.kept_rounds > 0 && options.most_rounds_left_out > 0) {
    return absl::OkStatus();
  }
  return base::InvalidArgument(
      "a server collects for {} s, waits {} s for the committee, abandons an attempt after {} s, "
      "keeps {} rounds and leaves a participant out of {} rounds: each must be at least 1",
      options.collecting_seconds, options.unmasking_seconds, options.abandon_seconds,
      options.kept_rounds, options.most_rounds_left_out);
}

absl::Status RoundRules::CheckSeat(uint64_t member) const {
  if (HasSeat(member)) return absl::OkStatus();
  return base::PermissionDenied("only members of the committee vote, unmask and confirm");
}

size_t RoundRules::FinalQuorum() const {
  const size_t majority = members() / 2 + 1;
  return std::min(majority, std::max<size_t>(min_participants(), committee().size() / 2 + 1));
}

}  // namespace tacet::server
