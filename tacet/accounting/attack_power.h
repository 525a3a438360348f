// What epsilon and delta mean to an attacker who must decide between two neighbouring data sets.
#ifndef TACET_ACCOUNTING_ATTACK_POWER_H_
#define TACET_ACCOUNTING_ATTACK_POWER_H_

#include <vector>

#include "absl/status/statusor.h"

#include "tacet/accounting/privacy_event.h"

namespace tacet::accounting {

// The largest probability with which a test that accuses wrongly with probability
// `false_accusations` in (0, 1) is right about the stream: the minimum over delta' of
//   e^{epsilon(delta')} false_accusations + delta',
// an upper bound that is exact where epsilon is (Dong, Roth, Su 2022, proposition 2.12). At most 1.
absl::StatusOr<double> AttackPower(const std::vector<RepeatedEvent>& stream,
                                   double false_accusations);

}  // namespace tacet::accounting

#endif  // TACET_ACCOUNTING_ATTACK_POWER_H_
