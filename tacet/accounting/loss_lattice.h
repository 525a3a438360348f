// Privacy loss of a round on a lattice of step h, rounded up (pessimistic) or down (optimistic).
#ifndef TACET_ACCOUNTING_LOSS_LATTICE_H_
#define TACET_ACCOUNTING_LOSS_LATTICE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tacet/accounting/round_loss.h"

namespace tacet::accounting {

// P-mass `mass[i]` at loss origin + i step, `infinite` at infinity.
struct LossLattice {
  double step = 0;
  double origin = 0;
  std::vector<double> mass = {};
  double infinite = 0;

  double LossAt(size_t i) const { return origin + static_cast<double>(i) * step; }
};

// Q-mass that counts for nothing next to P-mass: it nears the least number there is, where digits
// are lost, and the e^loss that it is to be multiplied with may be infinite.
inline constexpr double kLeastMass = 1e-290;

// The losses that get cells of their own, low < 0 < high.
struct LossRange {
  double low = 0;
  double high = 0;
};

// Losses above this are taken for infinite, those below its negative do not count.
inline constexpr double kBeyondAnyLoss = 1e6;

// The range outside of which P has at most `above` and `below` on the two sides; at most
// kBeyondAnyLoss wide on either side.
LossRange FindLossRange(const RoundLoss& loss, double above, double below);

// Connect the dots (Doroshenko et al. 2022): the mass of each cell [a, a + h] is split between its
// ends so that both its P-mass and its Q-mass are kept. The profile becomes the piecewise linear
// interpolation, in e^t, of the true one, which lies above it. What is above the range goes to
// infinity, what is below it to its lower end; 0 is a lattice point.
LossLattice PessimisticLattice(const RoundLoss& loss, const LossRange& range, double step);

// The same with some lattice points for dots: those at dots[i] step, ascending, 0 among them. The
// first and the last take the place of the range's ends. Points between two dots get no mass. With
// fewer dots the profile is larger, since it is convex in e^t: a chord lies above it.
LossLattice PessimisticLattice(const RoundLoss& loss, const std::vector<int64_t>& dots,
                               double step);

// Dots for losses with a profile of at most that of `law`, a lattice from below -step to above
// step. They are fewer where the law, tilted by theta, has little mass. As many at -t as at t, up
// to the ends of the range. Connecting them adds to the log of the law's moment of order theta at
// most about `tolerance`.
std::vector<int64_t> SparseDots(const LossLattice& law, double theta, double tolerance);

// Leaves out each lattice whose profile is nowhere above that of one that stays: it is dominated,
// after any number of rounds. Profiles that differ by less than 1e-10 of themselves count as equal.
// All lattices have the same step, origin and number of points.
std::vector<LossLattice> WithoutDominated(std::vector<LossLattice> lattices);

// Merged cells, a post-processing of the pair, so the profile lies below. The boundaries of the
// cells are chosen one after the other, outwards from the heaviest, such that the loss log(p / q)
// of a merged cell is a multiple of the step; where that is not possible it is rounded down to one.
// Mass above the range is merged with the last cell, mass below it is dropped.
LossLattice OptimisticLattice(const RoundLoss& loss, const LossRange& range, double step);

}  // namespace tacet::accounting

#endif  // TACET_ACCOUNTING_LOSS_LATTICE_H_
