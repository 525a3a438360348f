// Choice of the records, or persons, that a site uses in one attempt.
#ifndef TACET_TRAINER_UNIT_SAMPLING_H_
#define TACET_TRAINER_UNIT_SAMPLING_H_

#include <cstdint>
#include <vector>

#include "tacet/crypto/random.h"

namespace tacet::trainer {

// The units drawn out of 0, ..., units - 1, increasing: each on its own by a coin that falls with
// probability floor(rate 2^64) / 2^64, never more than `rate` in [0, 1].
//
// The draw is privacy randomness and amplifies against everybody outside the site: in a real run
// `coins` is keyed by the operating system, again for every attempt, and the result neither leaves
// the site nor is logged or stored.
std::vector<uint32_t> DrawUnits(uint64_t units, double rate, crypto::Random& coins);

}  // namespace tacet::trainer

#endif  // TACET_TRAINER_UNIT_SAMPLING_H_
