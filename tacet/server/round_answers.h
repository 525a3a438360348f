// Answers about the state of a server's rounds, for its members.
#ifndef TACET_SERVER_ROUND_ANSWERS_H_
#define TACET_SERVER_ROUND_ANSWERS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/protocol/announcement.h"
#include "tacet/server/round_state.h"
#include "tacet/server/statements.h"

namespace tacet::server {

// For `member`: `listed_from` as AwaitRequest says, the revision of everything that a seat
// waits for where `unmasking`.
protocol::Announcement AnnouncementOf(const RoundState& state, uint64_t member,
                                      uint64_t listed_from, bool unmasking);

// Statements that a request asks for. Errors as RoundServer::Listed.
absl::StatusOr<std::vector<base::Bytes>> List(const RoundState& state,
                                              const protocol::FetchVotesRequest& request);
absl::StatusOr<std::vector<base::Bytes>> List(const RoundState& state,
                                              const protocol::FetchAttestationsRequest& request);
absl::StatusOr<std::vector<base::Bytes>> List(const RoundState& state,
                                              const protocol::FetchOpeningRequest& request);

// A seat, and the members whose key packets it is given now.
struct PacketsToGive {
  uint32_t seat = 0;
  std::vector<uint64_t> members;  // increasing
};
// For an attempt with this roster. Errors as RoundServer::Listed.
absl::StatusOr<PacketsToGive> PacketsToGiveTo(const RoundState& state,
                                              const PacketsForSeat& packets,
                                              std::span<const uint8_t> roster);

}  // namespace tacet::server

#endif  // TACET_SERVER_ROUND_ANSWERS_H_
