#include "tacet/accounting/rdp_accountant.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "fmt/format.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/accounting/fixed_size_loss.h"
#include "tacet/accounting/gaussian_mechanism.h"
#include "tacet/accounting/log_math.h"
#include "tacet/accounting/log_moments.h"
#include "tacet/accounting/loss_lattice.h"
#include "tacet/accounting/random_settings_for_test.h"
#include "tacet/accounting/reference_values_for_test.h"
#include "tacet/base/status.h"

namespace tacet::accounting {
namespace {

using ::testing::HasSubstr;

SamplingEvent SampledEvent(Sampling sampling, Neighbouring neighbouring, double q, double sigma) {
  return {.neighbouring = neighbouring,
          .sampling = sampling,
          .sampling_rate = q,
          .noise_stddev = sigma,
          .clip_norm = 1};
}

// The paper's pair is that of Poisson sampling with twice the clip norm.
SamplingEvent PaperPair(double q, double sigma) {
  SamplingEvent event = SampledEvent(Sampling::kPoisson, Neighbouring::kZeroOut, q, sigma);
  event.clip_norm = 2;
  return event;
}

// The bound by one integer order of Poisson sampling.
double EpsilonAtOrder(const SamplingEvent& event, uint64_t rounds, double delta, int order) {
  const int l = order - 1;
  return EpsilonOfLogMoment(static_cast<double>(rounds) * LogMoment(event, l), l, std::log(delta));
}

TEST(RdpAccountantTest, ReproducesThePaperSetting) {
  const SamplingEvent event = PaperPair(1000.0 / 3596, 6);
  double integer = kInfinity;
  for (int order = 2; order < 100; ++order) {
    integer = std::min(integer, EpsilonAtOrder(event, 100, 1e-5, order));
  }
  EXPECT_NEAR(integer,
              Reference("/tight_at_paper_setting/same + improved conversion, integer orders"),
              5e-9);
  const auto stream = Repeated(event, 100);
  const auto real = RdpEpsilon(stream, 1e-5);
  ASSERT_TRUE(real.ok());
  EXPECT_NEAR(real->epsilon,
              Reference("/tight_at_paper_setting/same + improved conversion, real order"), 5e-9);
}

TEST(RdpAccountantTest, ReproducesTheIntegerOrdersOfTheGrid) {
  for (size_t i = 0; i < ReferenceSize("/tight_grid"); ++i) {
    const std::string at = fmt::format("/tight_grid/{}/", i);
    const auto rounds = static_cast<uint64_t>(Reference(at + "T"));
    const double delta = Reference(at + "delta");
    for (const auto& [name, event] :
         {std::pair("poisson_add_remove",
                    SampledEvent(Sampling::kPoisson, Neighbouring::kZeroOut, Reference(at + "q"),
                                 Reference(at + "sigma"))),
          std::pair("paper_pair_shift_2S",
                    PaperPair(Reference(at + "q"), Reference(at + "sigma")))}) {
      const std::string row = at + name + "/rdp_integer_orders_improved_conversion/";
      const int order = static_cast<int>(Reference(row + "order"));
      const double epsilon = EpsilonAtOrder(event, rounds, delta, order);
      EXPECT_NEAR(epsilon / Reference(row + "eps"), 1, 1e-9) << row;
      EXPECT_LE(epsilon, EpsilonAtOrder(event, rounds, delta, order + 1)) << row;
      const double below = order > 2 ? EpsilonAtOrder(event, rounds, delta, order - 1) : kInfinity;
      EXPECT_LE(epsilon, below) << row;
      EXPECT_LE(RdpEpsilon(Repeated(event, rounds), delta)->epsilon, epsilon) << row;
    }
  }
}

TEST(RdpAccountantTest, RealOrdersAreNeverWorseThanIntegerOnes) {
  for (const Sampling sampling : {Sampling::kPoisson, Sampling::kFixedSize}) {
    for (const Neighbouring neighbouring : {Neighbouring::kReplaceOne, Neighbouring::kZeroOut}) {
      for (const double q : {1e-4, 0.05, 0.8}) {
        for (const double sigma : {0.5, 5.0, 50.0}) {
          for (const uint64_t rounds : {1u, 1000u}) {
            const SamplingEvent event = SampledEvent(sampling, neighbouring, q, sigma);
            const double real = RdpEpsilon(Repeated(event, rounds), 1e-6)->epsilon;
            const double integer = SmallestOfIntegerOrders(event, rounds, 1e-6);
            EXPECT_LE(real, integer * (1 + 1e-7) + 1e-12) << q << " " << sigma << " " << rounds;
          }
        }
      }
    }
  }
}

// Rare sampling: the moments of tiny orders are lost in quadrature, those of larger ones are not.
TEST(RdpAccountantTest, GoesOnPastOrdersThatCannotBeIntegrated) {
  const auto stream =
      Repeated(SampledEvent(Sampling::kPoisson, Neighbouring::kReplaceOne, 0.001, 2), 100);
  EXPECT_LE(RdpEpsilon(stream, 1e-5)->epsilon, 0.13);  // it was 734,283
}

// Fixed size: the moment of the envelope, here added up over its lattice.
TEST(RdpAccountantTest, TheEnvelopesMomentIsThatOfItsLoss) {
  for (const double q : {0.01, 0.3, 0.9}) {
    for (const double c : {0.1, 1.0, 3.0}) {
      for (const double order : {0.5, 3.0, 12.0}) {
        if (order * c > 12) continue;  // beyond the range of double
        const auto loss = FixedSizeReplaceLoss(q, c);
        // Far into the tail of e^{l L}, and fine: the mean of e^{l L} over a cell is near its
        // middle's value.
        const LossRange range{.low = -60, .high = (order + 9 / c + 1) * c * c + 9 * c};
        const double step = 1e-3 * std::min(1.0, c);
        double moment = loss->AtomAtZero();
        LossSides left = loss->At(range.low);
        for (double t = range.low; t < range.high; t += step) {
          const LossSides right = loss->At(t + step);
          const double mass = left.p_above < right.p_below ? left.p_above - right.p_above
                                                           : right.p_below - left.p_below;
          moment += mass * std::exp(order * (t + step / 2));
          left = right;
        }
        EXPECT_NEAR(LogMomentEnvelope(order, q, c), std::log(moment), 1e-4 * (1 + std::log(moment)))
            << q << " " << c << " " << order;
        // Never below the paper's pair, one of those that it stands for.
        EXPECT_GE(LogMomentEnvelope(order, q, c) * (1 + 1e-9),
                  LogMomentMixtureFirstReal(order, q, c));
      }
    }
  }
}

TEST(RdpAccountantTest, StaysAboveTheClosedForm) {
  for (const double mu : {0.01, 0.3, 3.0, 30.0}) {
    const auto stream =
        Repeated(SampledEvent(Sampling::kNone, Neighbouring::kZeroOut, 1, 1 / mu), 1);
    const double renyi = RdpEpsilon(stream, 1e-5)->epsilon;
    EXPECT_GE(renyi, GaussianEpsilon(mu, 1e-5)) << mu;
  }
}

// High orders have narrow peaks far out: a quadrature that starts too coarse misses them and says
// that nothing is lost.
TEST(RdpAccountantTest, HighOrdersAreNotMissed) {
  const double q = 0.0019526425829402;
  for (const double order : {50.0, 500.0, 3000.0}) {
    const double c = 1 / 23.266667;
    const double opposite = LogMomentOpposite(order, q, c);
    EXPECT_GE(opposite, LogMomentMixtureFirst(static_cast<int>(order), q, c)) << order;
    EXPECT_LE(opposite, LogMomentMixtureFirst(static_cast<int>(order), q, 2 * c) * (1 + 1e-9))
        << order;
    EXPECT_NEAR(LogMomentMixtureFirstReal(order, q, c) /
                    LogMomentMixtureFirst(static_cast<int>(order), q, c),
                1, 1e-8)
        << order;
  }
}

TEST(RdpAccountantTest, Extremes) {
  EXPECT_EQ(RdpEpsilon({}, 1e-5)->epsilon, 0);
  const auto silent =
      Repeated(SampledEvent(Sampling::kPoisson, Neighbouring::kZeroOut, 0.1, 0), 10);
  EXPECT_EQ(RdpEpsilon(silent, 1e-5)->epsilon, kInfinity);
  EXPECT_THAT(base::Message(RdpEpsilon({}, 1).status()), HasSubstr("delta is 1"));
}

}  // namespace
}  // namespace tacet::accounting
