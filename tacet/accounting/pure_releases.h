// Releases that are (epsilon, 0)-private by themselves, such as those with discrete Laplace noise,
// and their composition with Gaussian ones.
//
// Every such release is a post-processing of one randomized response (Kairouz, Oh, Viswanath 2015):
// a bit that is right with probability e^epsilon / (1 + e^epsilon), whose loss is epsilon or
// -epsilon. So bounds for that pair hold for all of them.
#ifndef TACET_ACCOUNTING_PURE_RELEASES_H_
#define TACET_ACCOUNTING_PURE_RELEASES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "tacet/accounting/privacy_event.h"

namespace tacet::accounting {

// log E[(P/Q)^l] of randomized response, l > 0: log((e^((l + 1) epsilon) + e^(-l epsilon)) /
// (1 + e^epsilon)).
double PureLogMoment(double epsilon, double order);

// mu = -2 Phi^-1(1 / (1 + e^epsilon)), rounded up: one Gaussian release with this mu loses at least
// as much. Both trade-off curves run from (0, 1) to (1, 0), meet where type I and II errors are
// equal, and the Gaussian one is convex, so it lies below the two chords that are randomized
// response's.
double GaussianMuOfPure(double epsilon);

// mu of one release of an event without sampling: sensitivity over noise, or of its pure_epsilon.
double GaussianMu(const SamplingEvent& event);
// `event` with Gaussian noise in the place of pure privacy, never of less loss.
SamplingEvent GaussianInPlaceOfPure(SamplingEvent event);

struct PureReleases {
  double epsilon = 0;
  uint64_t count = 0;
};

// The smallest epsilon >= 0 with delta(epsilon) <= delta for a Gaussian release with `mu` >= 0
// together with pure ones:
//   delta(epsilon) = sum_j P(j) delta_mu(epsilon - loss_j),
// over the losses of the bits, each with its probability. A bound from above: where there are many
// sums of losses they are rounded up to a lattice. Its time grows with the counts.
double EpsilonWithPure(double mu, std::span<const PureReleases> pure, double delta);

}  // namespace tacet::accounting

#endif  // TACET_ACCOUNTING_PURE_RELEASES_H_
