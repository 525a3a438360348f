// Seats that are asked and say nothing while an attempt is unmasking.
#ifndef TACET_SERVER_SILENT_SEATS_H_
#define TACET_SERVER_SILENT_SEATS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tacet/server/round_protocol.h"

namespace tacet::server {

// Deadlines for which an attempt is unmasking while a quorum of seats answers. With that of
// collecting an attempt has three.
inline constexpr uint64_t kUnmaskingDeadlines = 2;

// Whether a seat says that it may have voted in the open attempt, and so says nothing in it. A vote
// that came is its vote.
bool IsSilenced(const RoundState& state, uint64_t member);

// Whether a seat has yet to say what it can say: its vote, or its unmask share once a quorum has
// voted. A refusal says all, and a silenced seat nothing.
bool OwesAnswer(const RoundState& state, const Unmasking& unmasking, uint64_t member);

// Seats that are here and owe nothing.
size_t CountAnswering(const RoundState& state, const Moment& moment, const Unmasking& unmasking);

// Whether seats were asked kUnmaskingDeadlines ago, as far as this process knows.
bool IsLongUnmasking(const RoundRules& rules, const Moment& moment, const Unmasking& unmasking);

// Members on seats that were asked so long ago, call and owe an answer, increasing by seat.
std::vector<uint64_t> SilentSeats(const RoundState& state, const Moment& moment);

}  // namespace tacet::server

#endif  // TACET_SERVER_SILENT_SEATS_H_
