#include "tacet/accounting/random_settings_for_test.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <string>

#include "fmt/format.h"
#include <gtest/gtest.h>

#include "tacet/accounting/contour_reference_for_test.h"
#include "tacet/accounting/pld_accountant.h"
#include "tacet/accounting/rdp_accountant.h"

namespace tacet::accounting {
namespace {

std::optional<double> TrueDelta(const SamplingEvent& event, double rounds, double epsilon) {
  const double c = event.clip_norm / event.noise_stddev;
  const double q = event.sampling_rate;
  if (event.neighbouring == Neighbouring::kReplaceOne) {
    return ContourDelta(ReferencePair::kOpposite, q, c, rounds, epsilon);
  }
  const auto forward = ContourDelta(ReferencePair::kMixtureFirst, q, c, rounds, epsilon);
  const auto backward = ContourDelta(ReferencePair::kNullFirst, q, c, rounds, epsilon);
  if (!forward) {
    return std::nullopt;
  }
  return std::max(*forward, backward.value_or(0));
}

}  // namespace

void CheckRandomSettings(int count, int seed) {
  std::mt19937_64 generator(static_cast<uint64_t>(seed));
  const auto log_uniform = [&](double low, double high) {
    return std::exp(
        std::uniform_real_distribution<double>(std::log(low), std::log(high))(generator));
  };
  int compared = 0;
  for (int i = 0; i < count; ++i) {
    SamplingEvent event;
    event.sampling = Sampling::kPoisson;
    event.neighbouring = generator() % 2 == 0 ? Neighbouring::kZeroOut : Neighbouring::kReplaceOne;
    event.noise_stddev = log_uniform(0.3, 100);
    event.sampling_rate = log_uniform(1e-5, 1);
    const auto rounds = static_cast<uint64_t>(log_uniform(1, 100'000));
    const double delta = log_uniform(1e-15, 1e-3);
    const std::string where = fmt::format("setting {}: {} q {} sigma {} T {} delta {}", i,
                                          NeighbouringName(event.neighbouring), event.sampling_rate,
                                          event.noise_stddev, rounds, delta);
    const auto stream = Repeated(event, rounds);
    const auto answer = PldEpsilon(stream, delta);
    ASSERT_TRUE(answer.ok()) << where;
    ASSERT_TRUE(std::isfinite(answer->epsilon)) << where;
    ASSERT_LE(answer->epsilon_lower, answer->epsilon) << where;
    ASSERT_LE(answer->epsilon, RdpEpsilon(stream, delta)->epsilon * (1 + 1e-3) + 1e-3) << where;
    if (answer->tight) {
      ASSERT_LE(answer->epsilon - answer->epsilon_lower, 1e-3 * std::max(1.0, answer->epsilon))
          << where;
    }
    const auto alone = PldUpperEpsilon(stream, delta);
    ASSERT_TRUE(alone.ok()) << where;
    EXPECT_GE(*alone, answer->epsilon_lower) << where;
    if (answer->tight) {
      EXPECT_LE(*alone, answer->epsilon + 1e-3 * std::max(1.0, answer->epsilon)) << where;
    }
    const auto t = static_cast<double>(rounds);
    const auto at_upper = TrueDelta(event, t, answer->epsilon);
    if (!at_upper) {
      continue;
    }
    ++compared;
    EXPECT_LE(*at_upper, delta * (1 + 1e-5)) << where << " epsilon " << answer->epsilon;
    if (answer->epsilon_lower > 0) {
      const auto at_lower = TrueDelta(event, t, answer->epsilon_lower);
      if (at_lower) {
        EXPECT_GE(*at_lower, delta * (1 - 1e-5)) << where << " lower " << answer->epsilon_lower;
      }
    }
  }
  EXPECT_GE(compared, count / 3);
}

void CheckRandomRdpSettings(int count, int seed) {
  std::mt19937_64 generator(static_cast<uint64_t>(seed));
  const auto log_uniform = [&](double low, double high) {
    return std::exp(
        std::uniform_real_distribution<double>(std::log(low), std::log(high))(generator));
  };
  for (int i = 0; i < count; ++i) {
    SamplingEvent event;
    event.sampling = i % 3 == 0 ? Sampling::kFixedSize : Sampling::kPoisson;
    event.neighbouring = i % 2 == 0 ? Neighbouring::kReplaceOne : Neighbouring::kZeroOut;
    event.sampling_rate = log_uniform(1e-6, 1);
    event.noise_stddev = log_uniform(0.3, 100);
    const auto rounds = static_cast<uint64_t>(log_uniform(1, 1e6));
    const double delta = log_uniform(1e-15, 0.5);
    const std::string where =
        fmt::format("setting {}: {} {} q {} sigma {} T {} delta {}", i,
                    SamplingName(event.sampling), NeighbouringName(event.neighbouring),
                    event.sampling_rate, event.noise_stddev, rounds, delta);
    const double real = RdpEpsilon(Repeated(event, rounds), delta)->epsilon;
    EXPECT_LE(real, SmallestOfIntegerOrders(event, rounds, delta)) << where;
    EXPECT_TRUE(std::isfinite(real)) << where;
  }
}

}  // namespace tacet::accounting
