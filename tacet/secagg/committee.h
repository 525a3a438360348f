// Committee of an epoch: the members that vote for a round's sum and answer with unmask shares.
#ifndef TACET_SECAGG_COMMITTEE_H_
#define TACET_SECAGG_COMMITTEE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "tacet/crypto/key_exchange.h"
#include "tacet/crypto/signing.h"

namespace tacet::secagg {

// One seat: the member on it and the keys that the manifest names.
struct CommitteeSeat {
  uint64_t member = 0;
  crypto::PublicKey signing_key{};
  crypto::ExchangePublicKey exchange_key{};
};

// By seat, no member twice. Its shape is that of AggregationParams::sharing().
using Committee = std::vector<CommitteeSeat>;

// Seat of a member; none for the others.
inline std::optional<uint32_t> SeatOf(const Committee& committee, uint64_t member) {
  for (uint32_t seat = 0; seat < committee.size(); ++seat) {
    if (committee[seat].member == member) return seat;
  }
  return std::nullopt;
}

}  // namespace tacet::secagg

#endif  // TACET_SECAGG_COMMITTEE_H_
