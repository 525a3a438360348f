// Privacy loss distribution (PLD) accountant: lower and upper bounds of epsilon, as tight as double
// arithmetic allows.
#ifndef TACET_ACCOUNTING_PLD_ACCOUNTANT_H_
#define TACET_ACCOUNTING_PLD_ACCOUNTANT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/accounting/privacy_event.h"

namespace tacet::accounting {

struct PldResult {
  double epsilon = 0;        // an upper bound of the true one; infinity without a guarantee
  double epsilon_lower = 0;  // a lower bound
  // Whether the upper bound is within 1e-3 max(1, epsilon) of the exact epsilon of the pair of laws
  // it was computed for. Otherwise `note` says which bound replaces it.
  bool tight = false;
  std::string note = {};
  size_t points = 0;  // of the largest transform
  // Where the number of clients here is anybody's choice: the constant one with which
  // `epsilon_lower` is attained.
  std::optional<uint64_t> attained_here = {};
};

// epsilon at delta in (0, 1) for a stream of rounds whose numbers, rates and noises do not depend
// on earlier outputs.
//   no sampling                closed form
//   Poisson                    the two bounds bracket the truth to about 1e-4
//   fixed-size, replace-one    upper: the symmetrised envelope; lower: the paper's pair
//   fixed-size, zero-out       upper: its symmetrised envelope; lower: the pair N(0, 1) against
//                              (1 - q) N(0, 1) + q N(S / sigma, 1)
//   Poisson of known size      as fixed-size, mixed over the number drawn
//   with a pool                the largest over the numbers here; lower: a constant number
absl::StatusOr<PldResult> PldEpsilon(const std::vector<RepeatedEvent>& stream, double delta);

// The upper bound alone, in about a tenth of the time; not always the same number.
absl::StatusOr<double> PldUpperEpsilon(const std::vector<RepeatedEvent>& stream, double delta);

}  // namespace tacet::accounting

#endif  // TACET_ACCOUNTING_PLD_ACCOUNTANT_H_
