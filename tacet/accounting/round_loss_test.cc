#include "tacet/accounting/round_loss.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tacet/accounting/fixed_size_loss.h"
#include "tacet/accounting/loss_lattice.h"

namespace tacet::accounting {
namespace {

struct Named {
  std::string name;
  std::unique_ptr<RoundLoss> loss;
};

std::vector<Named> AllLosses() {
  std::vector<Named> all;
  for (const double q : {1e-3, 0.3, 1.0}) {
    for (const double c : {0.1, 2.0}) {
      const std::string at = std::to_string(q) + " " + std::to_string(c);
      all.push_back({"mixture first " + at, SampledGaussianLoss(q, c, true)});
      all.push_back({"null first " + at, SampledGaussianLoss(q, c, false)});
      all.push_back({"opposite " + at, OppositeGaussianLoss(q, c)});
      all.push_back({"replace " + at, FixedSizeReplaceLoss(q, c)});
      all.push_back({"zero-out " + at, FixedSizeZeroOutLoss(q, c)});
    }
  }
  return all;
}

TEST(RoundLossTest, SidesAddUpAndTheRatioIsTheLoss) {
  for (const Named& named : AllLosses()) {
    const RoundLoss& loss = *named.loss;
    const double atom = loss.AtomAtZero();
    EXPECT_GE(atom, 0);
    LossSides last = loss.At(-3.0);
    for (double t = -3; t <= 3.001; t += 0.05) {
      const LossSides here = loss.At(t);
      EXPECT_NEAR(here.p_below + here.p_above + atom, 1, 1e-12) << named.name << " " << t;
      EXPECT_NEAR(here.q_below + here.q_above + atom, 1, 1e-12) << named.name << " " << t;
      // In the cell (t - 0.05, t] the ratio of masses lies between the ends' exponentials.
      const double p = here.p_below - last.p_below;
      const double q = here.q_below - last.q_below;
      if (p > 1e-9 && q > 1e-9 && t > -2.99) {
        EXPECT_LE(std::log(p / q), t + 1e-5) << named.name << " " << t;
        EXPECT_GE(std::log(p / q), t - 0.05 - 1e-5) << named.name << " " << t;
      }
      last = here;
    }
  }
}

TEST(RoundLossTest, SymmetricPairsAreTheirOwnMirrorImage) {
  for (const Named& named : AllLosses()) {
    if (named.name.starts_with("mixture") || named.name.starts_with("null")) {
      continue;
    }
    for (const double t : {0.01, 0.3, 1.0}) {
      const LossSides right = named.loss->At(t);
      const LossSides left = named.loss->At(-t);
      EXPECT_NEAR(right.p_above, left.q_below, 1e-14) << named.name;
      EXPECT_NEAR(right.q_above, left.p_below, 1e-14) << named.name;
    }
  }
}

// The two orders of one pair.
TEST(RoundLossTest, OrdersExchangePAndQ) {
  const auto forward = SampledGaussianLoss(0.2, 1.5, true);
  const auto backward = SampledGaussianLoss(0.2, 1.5, false);
  for (const double t : {-0.2, 0.1, 2.0}) {
    EXPECT_DOUBLE_EQ(forward->At(t).p_above, backward->At(-t).q_below);
    EXPECT_DOUBLE_EQ(forward->At(t).q_below, backward->At(-t).p_above);
  }
}

// sup over events of P - a Q for P = (1-q) N(w) + q N(u), Q = (1-q) N(w) + q N(v) in the plane, by
// quadrature. The unit's contribution is u, v replaces it, w takes its place in other rounds.
double PlaneProfile(double q, double a, const double (&u)[2], const double (&v)[2],
                    const double (&w)[2]) {
  const double step = 0.05;
  double total = 0;
  for (double x = -7; x <= 7; x += step) {
    for (double y = -7; y <= 7; y += step) {
      const auto density = [&](const double(&m)[2]) {
        return std::exp(-0.5 * ((x - m[0]) * (x - m[0]) + (y - m[1]) * (y - m[1])));
      };
      const double rest = (1 - q) * density(w);
      total += std::max(0.0, rest + q * density(u) - a * (rest + q * density(v)));
    }
  }
  return total * step * step / (2 * M_PI);
}

// Fixed-size zero-out: no direction of the third contribution beats the opposite one.
TEST(RoundLossTest, TheWorstZeroOutContributionsAreCollinear) {
  const double q = 0.3;
  const double c = 1;
  const auto envelope = FixedSizeZeroOutLoss(q, c);
  for (const double t : {0.05, 0.3}) {
    const LossSides sides = envelope->At(t);
    const double bound = sides.p_above - std::exp(t) * sides.q_above;
    double largest = 0;
    for (double angle = 0; angle <= M_PI + 0.01; angle += M_PI / 8) {
      for (const double length : {0.5, 1.0}) {
        const double value =
            PlaneProfile(q, std::exp(t), {c, 0}, {0, 0},
                         {length * c * std::cos(angle), length * c * std::sin(angle)});
        EXPECT_LE(value, bound * (1 + 1e-3)) << t << " " << angle << " " << length;
        largest = std::max(largest, value);
      }
      // The neighbours exchanged.
      EXPECT_LE(
          PlaneProfile(q, std::exp(t), {0, 0}, {c, 0}, {c * std::cos(angle), c * std::sin(angle)}),
          bound * (1 + 1e-3));
    }
    EXPECT_NEAR(largest / bound, 1, 1e-3);
  }
}

// delta(epsilon) of a lattice.
double LatticeDelta(const LossLattice& lattice, double epsilon) {
  double delta = lattice.infinite;
  for (size_t i = 0; i < lattice.mass.size(); ++i) {
    if (lattice.LossAt(i) > epsilon) {
      delta += lattice.mass[i] * -std::expm1(epsilon - lattice.LossAt(i));
    }
  }
  return delta;
}

TEST(LossLatticeTest, ProfilesBracketTheTruth) {
  for (const Named& named : AllLosses()) {
    const RoundLoss& loss = *named.loss;
    const LossRange range = FindLossRange(loss, 1e-13, 1e-13);
    const double step = (range.high - range.low) / 400;
    const LossLattice above = PessimisticLattice(loss, range, step);
    const LossLattice below = OptimisticLattice(loss, range, step);
    double above_gap = 0;
    for (double t = range.low; t < range.high; t += 3.7 * step) {
      const LossSides sides = loss.At(t);
      const double atom = t < 0 ? loss.AtomAtZero() * -std::expm1(t) : 0;
      const double truth = sides.p_above - std::exp(t) * sides.q_above + atom;
      EXPECT_GE(LatticeDelta(above, t), truth - 1e-12) << named.name << " " << t;
      EXPECT_LE(LatticeDelta(below, t), truth + 1e-12) << named.name << " " << t;
      above_gap = std::max(above_gap, LatticeDelta(above, t) - LatticeDelta(below, t));
    }
    EXPECT_LT(above_gap, 2e-2) << named.name;
  }
}

TEST(LossLatticeTest, TheErrorFallsWithTheSquareOfTheStep) {
  const auto loss = SampledGaussianLoss(0.3, 1, true);
  const LossRange range = FindLossRange(*loss, 1e-13, 1e-13);
  const auto gap = [&](double step) {
    const LossLattice above = PessimisticLattice(*loss, range, step);
    const LossLattice below = OptimisticLattice(*loss, range, step);
    double largest = 0;
    for (double t = 0.1; t < 1; t += 0.0137) {
      largest = std::max(largest, LatticeDelta(above, t) - LatticeDelta(below, t));
    }
    return largest;
  };
  const double coarse = gap(0.02);
  EXPECT_GT(coarse, 0);
  EXPECT_LT(gap(0.005), coarse / 6);
}

}  // namespace
}  // namespace tacet::accounting
