// Probability laws of the number of members of a group that are drawn into a cohort.
#ifndef TACET_ACCOUNTING_COUNT_LAWS_H_
#define TACET_ACCOUNTING_COUNT_LAWS_H_

#include <cstdint>
#include <vector>

namespace tacet::accounting {

// P(first + i) = probability[i]. What the table leaves out has at most 1e-30 on the high side,
// counted in `above`; on the low side it is counted in the first entry. All add to 1 within 1e-12.
struct CountLaw {
  uint64_t first = 0;
  std::vector<double> probability = {};
  double above = 0;
};

// The number of heads among `trials` coins of probability q in [0, 1].
CountLaw BinomialLaw(uint64_t trials, double q);

// The number of `colluders` in a cohort of `cohort` drawn from `pool` without replacement.
CountLaw HypergeometricLaw(uint64_t pool, uint64_t colluders, uint64_t cohort);

// The largest k with P(fewer than k of `pool` coins of probability q) < `missed`; at least 1.
// `missed` in [1e-25, 1).
uint64_t PoissonMinParticipants(uint64_t pool, double q, double missed);

}  // namespace tacet::accounting

#endif  // TACET_ACCOUNTING_COUNT_LAWS_H_
