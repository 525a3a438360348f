// Composition of rounds in each of which an adversary chooses, from the losses so far, one of
// several pairs of laws. With V_0(l) = (1 - e^-l)^+ and
//   V_{t+1}(l) = max over the pairs of E_P[V_t(l + L)],
// delta(epsilon) after T rounds is V_T(-epsilon) (docs/security/fixed-size-accounting.md).
#ifndef TACET_ACCOUNTING_ADAPTIVE_COMPOSITION_H_
#define TACET_ACCOUNTING_ADAPTIVE_COMPOSITION_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tacet/accounting/loss_composition.h"
#include "tacet/accounting/loss_lattice.h"

namespace tacet::accounting {

// The part of the lattice of accumulated losses that is followed, and the tilt under which it is:
// V_t(l) e^{-theta l} varies little enough there for a Fourier transform in double.
struct CompositionWindow {
  double theta = 0;   // >= 0
  double lowest = 0;  // V below it is taken at it (upper bound) or as 0 (lower bound)
  // V above it is taken by the slope that it has at most (upper bound), or at it.
  double highest = 0;
};

// The smallest epsilon >= 0 with delta(epsilon) <= delta after `rounds` rounds, from above
// (Side::kAbove: pairs from PessimisticLattice) or from below (Side::kBelow: from
// OptimisticLattice). All lattices have the same step, and origins that are multiples of it. Ends
// of the window, the transforms' rounding and the masses' are charged to the side asked for. No
// value when epsilon is not inside the window or values leave double's range.
std::optional<double> AdaptiveEpsilon(const std::vector<LossLattice>& pairs, uint64_t rounds,
                                      double delta, const CompositionWindow& window, Side side);

// One pair that dominates `rounds` rounds together, whichever of `pairs` (from PessimisticLattice)
// the adversary chooses in each: its profile in a is V_rounds(-log a), or above it. Independent
// blocks of it dominate several such blocks. Losses are `window`'s, every `stride`-th point of the
// lattice; those beyond it are infinite or 0 in likelihood ratio. No value as above.
std::optional<LossLattice> DominatingBlock(const std::vector<LossLattice>& pairs, uint64_t rounds,
                                           const CompositionWindow& window, size_t stride);

}  // namespace tacet::accounting

#endif  // TACET_ACCOUNTING_ADAPTIVE_COMPOSITION_H_
