// What epsilon and delta mean to an attacker who must decide between two neighbouring data sets.
#ifndef TACET_ACCOUNTING_ATTACK_POWER_H_
#define TACET_ACCOUNTING_ATTACK_POWER_H_

#include <vector>

#include "absl/status/statusor.h"

#include "tacet/accounting/privacy_event.h"

namespace tacet::accounting {

// The same from one (epsilon, delta), epsilon >= 0: the lesser of
//   e^epsilon false_accusations + delta,
//   1 - e^-epsilon (1 - delta - false_accusations),
// the two sides of the trade-off between wrong and missed accusations (Wasserman, Zhou 2010;
// Kairouz, Oh, Viswanath 2015), and at most 1.
double AttackPowerAt(double epsilon, double delta, double false_accusations);

// The largest probability with which a test that accuses wrongly with probability
// `false_accusations` in (0, 1) is right about the stream: the least
//   AttackPowerAt(epsilon(delta'), delta', false_accusations)
// on the way to the delta' that minimises its first side; an upper bound, exact where epsilon is
// and fewer are wrongly accused than missed (Dong, Roth, Su 2022, proposition 2.12).
absl::StatusOr<double> AttackPower(const std::vector<RepeatedEvent>& stream,
                                   double false_accusations);

}  // namespace tacet::accounting

#endif  // TACET_ACCOUNTING_ATTACK_POWER_H_
