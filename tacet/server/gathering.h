// Gathering: the members whose presence decides whether the next attempt begins.
#ifndef TACET_SERVER_GATHERING_H_
#define TACET_SERVER_GATHERING_H_

#include <cstdint>
#include <optional>
#include <string>

#include "tacet/secagg/attempt.h"
#include "tacet/server/round_protocol.h"

namespace tacet::server {

struct Gathering {
  uint64_t here = 0;  // of those that are not left out
  // That attempts succeed so often that the spare ones suffice; all that are not left out, if
  // fewer.
  uint64_t needed = 0;
  uint64_t seats_here = 0;
  uint64_t seats_needed = 0;  // votes

  bool enough() const { return here >= needed && seats_here >= seats_needed; }

  friend bool operator==(const Gathering&, const Gathering&) = default;
};

Gathering CountGathering(const RoundState& state, const Moment& moment);
// While no attempt is open and one is to follow: nothing where it waits for more than members.
std::optional<Gathering> GatheringFor(const RoundState& state, const Moment& moment);

// For an opened epoch: the attempt that comes next, as soon as the model that it starts from is
// known.
std::optional<secagg::Attempt> NextAttempt(const RoundState& state);
// Why `next` does not begin, nor any other; empty if it may.
std::string WhyStop(const RoundState& state, const secagg::Attempt& next);

}  // namespace tacet::server

#endif  // TACET_SERVER_GATHERING_H_
