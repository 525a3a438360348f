// Largest true-positive rate of a membership test against an (epsilon, delta) guarantee.
#ifndef TACET_ACCOUNTING_TRUE_POSITIVE_RATE_H_
#define TACET_ACCOUNTING_TRUE_POSITIVE_RATE_H_

#include <vector>

#include "absl/status/statusor.h"

#include "tacet/accounting/privacy_event.h"

namespace tacet::accounting {

// A membership test decides between two neighbouring data sets. Its false-positive rate is the
// probability that it claims membership of a unit that is not in the data, its true-positive rate
// the probability that it claims membership of a unit that is.

// The largest true-positive rate that one pair (epsilon, delta), epsilon >= 0, allows at
// `false_positive_rate`: the lesser of
//   e^epsilon false_positive_rate + delta,
//   1 - e^-epsilon (1 - delta - false_positive_rate),
// the two sides of the trade-off (Wasserman, Zhou 2010; Kairouz, Oh, Viswanath 2015), and at
// most 1.
double TruePositiveRateAt(double epsilon, double delta, double false_positive_rate);

// The same for a stream of events, at `false_positive_rate` in (0, 1): the least
//   TruePositiveRateAt(epsilon(delta'), delta', false_positive_rate)
// on the way to the delta' that minimises its first side. An upper bound for every test; exact
// where epsilon is, and the first side is the smaller one (Dong, Roth, Su 2022, proposition 2.12).
absl::StatusOr<double> MaxTruePositiveRate(const std::vector<RepeatedEvent>& stream,
                                           double false_positive_rate);

}  // namespace tacet::accounting

#endif  // TACET_ACCOUNTING_TRUE_POSITIVE_RATE_H_
