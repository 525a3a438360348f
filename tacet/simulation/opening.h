// End of an attempt: closed sum to the openers, votes between them, results to the members.
#ifndef TACET_SIMULATION_OPENING_H_
#define TACET_SIMULATION_OPENING_H_

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/secagg/opened_sum.h"
#include "tacet/secagg/opener.h"
#include "tacet/secagg/result_collector.h"
#include "tacet/simulation/channel.h"

namespace tacet::simulation {

// An opener with the member it belongs to.
struct SeatedOpener {
  uint64_t member = 0;
  std::unique_ptr<secagg::OpenerJournal> journal;  // used by `opener`
  std::unique_ptr<secagg::Opener> opener;
};

// Receives what an opener notes in its own log. It stays with that member: the server is told no
// more than that the attempt was refused.
using MemberLog = std::function<void(uint64_t member, std::string_view text)>;

struct Opening {
  secagg::OpenedSum sum;
  uint64_t message_bytes = 0;  // of one OpenedSum message
};

// Plays the server's part between unmodified openers: distributes `closed_round`, passes the votes
// on, collects the results and offers them to `collector`. PermissionDenied "refused" when no
// majority of openers returned the same sum; the reasons are in `log`.
absl::StatusOr<Opening> RunOpening(std::span<const uint8_t> closed_round,
                                   std::span<const SeatedOpener> openers, Channel& channel,
                                   secagg::ResultCollector& collector, const MemberLog& log);

}  // namespace tacet::simulation

#endif  // TACET_SIMULATION_OPENING_H_
