// Random selection of the participants of an attempt.
#ifndef TACET_COHORT_DRAW_H_
#define TACET_COHORT_DRAW_H_

#include <cstdint>
#include <vector>

#include "tacet/agreement.h"

namespace tacet {

// Cohorts are secrets as far as epsilon counts on sampling: never log or store them. Both functions
// use the operating system's randomness.

// Members of the next attempt's cohort, increasing, for the party that draws. With
// Sampling::kPoisson the number of them varies; with kNone they are all members.
std::vector<uint64_t> DrawCohort(const Agreement& agreement);

// A client's own coin with Sampling::kPoisson: true with probability K / M. Otherwise true.
bool TossOwnCoin(const Agreement& agreement);

}  // namespace tacet

#endif  // TACET_COHORT_DRAW_H_
