// Selection of the participants of a round.
#ifndef TACET_AGREEMENT_COHORT_H_
#define TACET_AGREEMENT_COHORT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "tacet/accounting/privacy_event.h"
#include "tacet/crypto/random.h"

namespace tacet::agreement {

// The participants of one attempt, increasing, out of 0, ..., clients - 1; `cohort` <= `clients`,
// which are below 2^32.
// Fixed-size: `cohort` of them without replacement. Poisson: each on its own with probability
// cohort / clients.
// Cohorts are privacy randomness: in a real run `random` is keyed by the operating system, and the
// result is neither logged nor stored.
std::vector<uint64_t> DrawCohort(accounting::Sampling sampling, uint64_t clients, uint64_t cohort,
                                 crypto::Random& random);

// The clients 0, ..., clients - 1 that are not in `cohort`; both increasing.
std::vector<uint64_t> NotIn(std::span<const uint64_t> cohort, uint64_t clients);

// Range of the number of participants: [smallest, largest] such that a Poisson-sampled cohort falls
// below `smallest`, or above `largest`, with probability < 1e-9 each; exactly `cohort` for fixed
// size.
struct CohortRange {
  uint32_t smallest = 0;
  uint32_t largest = 0;
};
CohortRange ExpectedCohortRange(accounting::Sampling sampling, uint64_t clients, uint64_t cohort);

// Probability that at least `enough` of the chosen clients are among `here` <= `clients` of them,
// when the cohort is drawn as in DrawCohort.
double ChanceOfEnough(accounting::Sampling sampling, uint64_t clients, uint64_t cohort,
                      uint64_t here, uint64_t enough);

// P[Bin(attempts, cohort / clients) >= invitations]: how often an honest draw of fixed-size cohorts
// invites one client so many times or more.
double ChanceOfInvitations(uint64_t attempts, uint64_t invitations, uint64_t clients,
                           uint64_t cohort);

}  // namespace tacet::agreement

#endif  // TACET_AGREEMENT_COHORT_H_
