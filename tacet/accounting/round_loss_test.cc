#include "tacet/accounting/round_loss.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tacet/accounting/adaptive_composition.h"
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

// log of sum of mass e^{theta t}.
double LogMoment(const LossLattice& lattice, double theta) {
  double sum = 0;
  for (size_t i = 0; i < lattice.mass.size(); ++i) {
    sum += lattice.mass[i] * std::exp(theta * lattice.LossAt(i));
  }
  return std::log(sum);
}

// Pairs of the accountant for cohorts of fixed size: two corners and an atom.
std::unique_ptr<RoundLoss> TwoCorners(std::mt19937_64& generator, double q, double longest) {
  const auto uniform = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(generator);
  };
  const double moved = uniform(0.1, longest);
  const auto corner = [&](double cosine) -> std::shared_ptr<const RoundLoss> {
    return CornerLoss(q, {.rest = moved * cosine, .moved = moved, .cosine = cosine});
  };
  // rest cos + rest cos >= moved: the atom is not negative.
  return TwoHalvesLoss(corner(uniform(0.75, 1)), corner(uniform(0.75, 1)));
}

// Fewer dots lie above all dots at every lattice point, and cost a moment what they may.
TEST(LossLatticeTest, FewerDotsLieAboveAndAddLittle) {
  std::mt19937_64 generator(5);
  const auto uniform = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(generator);
  };
  std::vector<Named> losses = AllLosses();
  for (int i = 0; i < 30; ++i) {
    losses.push_back(
        {"corners " + std::to_string(i), TwoCorners(generator, uniform(0.01, 0.9), 1.5)});
  }
  size_t all_dots = 0;
  size_t fewer_dots = 0;
  for (const Named& named : losses) {
    const LossRange range = FindLossRange(*named.loss, 1e-12, 1e-13);
    const double step = (range.high - range.low) / uniform(100, 600);
    const LossLattice all = PessimisticLattice(*named.loss, range, step);
    const double theta = uniform(0.3, 3) / range.high;
    const double tolerance = std::exp(uniform(std::log(1e-7), std::log(1e-2)));
    const std::vector<int64_t> dots = SparseDots(all, theta, tolerance);
    ASSERT_TRUE(std::ranges::is_sorted(dots, std::less_equal())) << named.name;
    ASSERT_TRUE(std::ranges::binary_search(dots, 0)) << named.name;
    const LossLattice fewer = PessimisticLattice(*named.loss, dots, step);
    ASSERT_EQ(fewer.origin, all.origin) << named.name;
    ASSERT_EQ(fewer.mass.size(), all.mass.size()) << named.name;
    for (size_t i = 0; i < all.mass.size(); ++i) {
      const double delta = LatticeDelta(all, all.LossAt(i));
      EXPECT_GE(LatticeDelta(fewer, all.LossAt(i)), delta * (1 - 1e-9) - 1e-14)
          << named.name << " at " << all.LossAt(i);
    }
    EXPECT_LE(LogMoment(fewer, theta) - LogMoment(all, theta), 2 * tolerance) << named.name;
    all_dots += all.mass.size();
    fewer_dots += dots.size();
  }
  EXPECT_LT(fewer_dots, all_dots / 2);
}

TEST(LossLatticeTest, OnlyDominatedLatticesAreLeftOut) {
  const LossRange range{.low = -2, .high = 2};
  const auto lattice = [&](double q, bool first) {
    return PessimisticLattice(*SampledGaussianLoss(q, 1, first), range, 0.02);
  };
  const auto rest = WithoutDominated({lattice(0.2, true), lattice(0.3, true), lattice(0.1, false),
                                      lattice(0.3, false), lattice(0.3, true)});
  ASSERT_EQ(rest.size(), 2u);
  EXPECT_EQ(rest[0].mass, lattice(0.3, true).mass);
  EXPECT_EQ(rest[1].mass, lattice(0.3, false).mass);
}

// Pairs that are left out are nobody's best choice, whatever was lost before.
TEST(LossLatticeTest, AnAdversaryMissesNoPairThatIsLeftOut) {
  std::mt19937_64 generator(6);
  const LossRange range{.low = -4.5, .high = 4.5};
  size_t given = 0;
  size_t left = 0;
  for (int i = 0; i < 20; ++i) {
    const double q = std::uniform_real_distribution<double>(0.05, 0.6)(generator);
    std::vector<LossLattice> pairs;
    for (int k = 0; k < 12; ++k) {
      pairs.push_back(PessimisticLattice(*TwoCorners(generator, q, 0.8), range, 0.03));
    }
    const std::vector<LossLattice> rest = WithoutDominated(pairs);
    const CompositionWindow window{.theta = 2, .lowest = -20, .highest = 4};
    for (const double delta : {1e-2, 1e-4}) {
      const auto of_all = AdaptiveEpsilon(pairs, 12, delta, window, Side::kAbove);
      const auto of_rest = AdaptiveEpsilon(rest, 12, delta, window, Side::kAbove);
      ASSERT_TRUE(of_all.has_value() && of_rest.has_value()) << i;
      EXPECT_GT(*of_all, 0) << i;
      EXPECT_NEAR(*of_rest, *of_all, 1e-7) << i;
    }
    given += pairs.size();
    left += rest.size();
  }
  EXPECT_LT(left, given * 3 / 4);
}

}  // namespace
}  // namespace tacet::accounting
