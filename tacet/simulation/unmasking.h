// End of an attempt: closed round to the committee, votes and unmask shares back, decryption.
#ifndef TACET_SIMULATION_UNMASKING_H_
#define TACET_SIMULATION_UNMASKING_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/secagg/aggregator.h"
#include "tacet/secagg/committee_member.h"
#include "tacet/simulation/channel.h"

namespace tacet::simulation {

// A committee seat with the member on it.
struct SeatedMember {
  uint64_t member = 0;
  secagg::CommitteeMember* seat = nullptr;
};

// Receives what a member notes in its own log. It stays with that member: the server is told no
// more than that the attempt was refused.
using MemberLog = std::function<void(uint64_t member, std::string_view text)>;

// Votes and unmask shares that reached the server.
struct CommitteeAnswers {
  std::vector<base::Bytes> votes;
  std::vector<base::Bytes> unmask_shares;
};

// Plays the server's part between unmodified committee members: distributes the closed round and
// the roster, passes the votes on and collects the unmask shares. What members refuse is in `log`.
CommitteeAnswers AskCommittee(const secagg::Aggregator::Closed& closed,
                              std::span<const SeatedMember> committee, Channel& channel,
                              const MemberLog& log);

}  // namespace tacet::simulation

#endif  // TACET_SIMULATION_UNMASKING_H_
