#include "tacet/accounting/pure_releases.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/accounting/epsilon_bounds.h"
#include "tacet/accounting/gaussian_mechanism.h"
#include "tacet/accounting/log_math.h"
#include "tacet/accounting/privacy_filter.h"

namespace tacet::accounting {
namespace {

constexpr double kDelta = 1e-5;

SamplingEvent PureEvent(double epsilon) {
  return {.unit = Unit::kRecord,
          .sampling = Sampling::kNone,
          .noise_stddev = 1,
          .clip_norm = 1,
          .pure_epsilon = epsilon};
}
SamplingEvent GaussianEvent(double noise) {
  return {
      .unit = Unit::kRecord, .sampling = Sampling::kNone, .noise_stddev = noise, .clip_norm = 1};
}
double Headline(const std::vector<RepeatedEvent>& stream) {
  const auto bounds = BoundEpsilon(stream, kDelta);
  EXPECT_TRUE(bounds.ok()) << bounds.status();
  return bounds->epsilon();
}

// delta at epsilon of bits by enumeration of all their outcomes.
double DeltaOfBits(const std::vector<double>& bits, double epsilon) {
  double total = 0;
  for (uint32_t right = 0; right < 1u << bits.size(); ++right) {
    double loss = 0, mass = 1;
    for (size_t i = 0; i < bits.size(); ++i) {
      const bool is_right = (right >> i & 1) == 1;
      loss += is_right ? bits[i] : -bits[i];
      mass /= 1 + std::exp(is_right ? -bits[i] : bits[i]);
    }
    total += mass * std::max(0.0, -std::expm1(epsilon - loss));
  }
  return total;
}

TEST(PureReleasesTest, OneReleaseIsRandomizedResponse) {
  for (const double epsilon : {0.01, 0.5, 1.0, 4.0, 30.0}) {
    const double answer = EpsilonWithPure(0, {{{epsilon, 1}}}, kDelta);
    EXPECT_LE(answer, epsilon);
    EXPECT_NEAR(DeltaOfBits({epsilon}, answer), kDelta, 1e-9) << epsilon;
    EXPECT_LE(Headline(Repeated(PureEvent(epsilon), 1)), epsilon);
  }
}

TEST(PureReleasesTest, ManyReleasesAreTheSumOverTheirOutcomes) {
  const std::vector<std::vector<double>> all = {
      std::vector<double>(12, 0.2), std::vector<double>(5, 2.0), {0.1, 0.1, 0.5, 0.7, 0.7, 0.7, 2}};
  for (const std::vector<double>& bits : all) {
    std::vector<PureReleases> releases;
    for (const double bit : bits) {
      if (releases.empty() || releases.back().epsilon != bit) releases.push_back({bit, 0});
      ++releases.back().count;
    }
    const double answer = EpsilonWithPure(0, releases, kDelta);
    EXPECT_NEAR(DeltaOfBits(bits, answer) / kDelta, 1, 1e-6);
    EXPECT_LT(DeltaOfBits(bits, answer), kDelta * (1 + 1e-9));
  }
}

// More sums than are told apart: never below their exact answer, and near it.
TEST(PureReleasesTest, ManySumsAreRoundedUp) {
  const std::vector<PureReleases> releases = {{0.1, 60}, {0.123, 50}, {0.0771, 40}};
  double exact_low = 0, exact_high = 20;
  const auto log_binomial = [](const PureReleases& r, int j) {
    const auto n = static_cast<double>(r.count);
    return std::lgamma(n + 1) - std::lgamma(j + 1.0) - std::lgamma(n - j + 1) -
           j * std::log1p(std::exp(-r.epsilon)) - (n - j) * std::log1p(std::exp(r.epsilon));
  };
  const auto delta_at = [&](double epsilon) {
    double total = 0;
    for (int a = 0; a <= 60; ++a) {
      for (int b = 0; b <= 50; ++b) {
        for (int c = 0; c <= 40; ++c) {
          const double loss = (2 * a - 60) * 0.1 + (2 * b - 50) * 0.123 + (2 * c - 40) * 0.0771;
          if (loss <= epsilon) continue;
          total += std::exp(log_binomial(releases[0], a) + log_binomial(releases[1], b) +
                            log_binomial(releases[2], c)) *
                   -std::expm1(epsilon - loss);
        }
      }
    }
    return total;
  };
  for (int turn = 0; turn < 40; ++turn) {
    const double middle = 0.5 * (exact_low + exact_high);
    (delta_at(middle) > kDelta ? exact_low : exact_high) = middle;
  }
  const double answer = EpsilonWithPure(0, releases, kDelta);
  EXPECT_GE(answer, exact_low);
  EXPECT_LE(answer, exact_high * 1.002);
}

TEST(PureReleasesTest, TheGaussianInPlaceOfOneLosesAtLeastAsMuch) {
  for (const double epsilon : {1e-3, 0.1, 1.0, 3.0, 10.0, 100.0}) {
    const double mu = GaussianMuOfPure(epsilon);
    for (double t = 0; t < epsilon; t += epsilon / 64) {
      const double pure = DeltaOfBits({epsilon}, t);
      EXPECT_GE(std::exp(GaussianLogDelta(mu, t)), pure * (1 - 1e-9)) << epsilon << " " << t;
    }
    // No smaller one does: at 0 both have the same total variation.
    EXPECT_NEAR(std::exp(GaussianLogDelta(mu, 0)) / std::tanh(epsilon / 2), 1, 1e-9);
  }
  EXPECT_EQ(GaussianMuOfPure(800), kInfinity);
}

TEST(PureReleasesTest, MomentsAreThoseOfTheBit) {
  for (const double epsilon : {0.1, 1.0, 5.0}) {
    for (const double order : {0.5, 1.0, 8.0}) {
      const double p = 1 / (1 + std::exp(-epsilon)), q = 1 - p;
      EXPECT_NEAR(std::exp(PureLogMoment(epsilon, order)),
                  p * std::pow(p / q, order) + q * std::pow(q / p, order),
                  1e-9 * std::exp(PureLogMoment(epsilon, order)));
    }
  }
  EXPECT_TRUE(std::isfinite(PureLogMoment(700, 1000)));
}

// A Gaussian release and bits: by integration over the Gaussian's loss, N(mu^2 / 2, mu^2).
TEST(PureReleasesTest, GaussianAndPureReleasesCompose) {
  const double mu = 0.7, bit = 0.4;
  const double answer = EpsilonWithPure(mu, {{{bit, 3}}}, kDelta);
  double delta = 0;
  constexpr double kStep = 1e-4;
  for (double z = -9; z < 9; z += kStep) {
    const double density = std::exp(-z * z / 2) / std::sqrt(2 * M_PI) * kStep;
    const double loss = mu * mu / 2 + mu * z;
    delta += density * DeltaOfBits({bit, bit, bit}, answer - loss);
  }
  EXPECT_NEAR(delta / kDelta, 1, 1e-4);
  EXPECT_NEAR(Headline({{{{1, GaussianEvent(2 / mu)}}, 1}, {{{1, PureEvent(bit)}}, 3}}), answer,
              1e-9);
}

TEST(PureReleasesTest, SampledAndPureReleasesAreChargedTogether) {
  SamplingEvent sampled = GaussianEvent(2);
  sampled.sampling = Sampling::kPoisson;
  sampled.sampling_rate = 0.05;
  const double one = Headline(Repeated(sampled, 100));
  const double other = Headline(Repeated(PureEvent(0.5), 1));
  const double both = Headline({{{{1, sampled}}, 100}, {{{1, PureEvent(0.5)}}, 1}});
  EXPECT_GT(both, one + 0.05);
  EXPECT_GT(both, other);
  EXPECT_LT(both, one + 2 * other);
  const auto bounds = BoundEpsilon({{{{1, sampled}}, 100}, {{{1, PureEvent(0.5)}}, 1}}, kDelta);
  for (const EpsilonBound& row : bounds->rows) {
    EXPECT_LE(row.epsilon_lower.value_or(0), both) << AccountantName(row.accountant);
  }
}

TEST(PureReleasesTest, AFilterTakesThem) {
  auto filter = *PrivacyFilter::Create(
      {.budget_epsilon = 2, .delta = kDelta, .composition = Composition::kAnyEvents});
  ASSERT_TRUE(filter.Add(PureEvent(0.5)).ok());
  ASSERT_TRUE(filter.Add(PureEvent(0.3)).ok());
  ASSERT_TRUE(filter.Add(GaussianEvent(20)).ok());
  const double spent = filter.JudgedBound().epsilon;
  EXPECT_GE(spent, Headline({{{{1, PureEvent(0.5)}}, 1}, {{{1, PureEvent(0.3)}}, 1}}));
  EXPECT_TRUE(std::isfinite(spent));
  EXPECT_FALSE(filter.CheckRoomFor(PureEvent(3)).ok());
}

TEST(PureReleasesTest, SampledUnitsHaveNoPureRelease) {
  SamplingEvent event = PureEvent(1);
  event.sampling = Sampling::kPoisson;
  event.sampling_rate = 0.5;
  EXPECT_EQ(CheckEvent(event).code(), absl::StatusCode::kInvalidArgument);
  event.sampling_rate = 1;
  EXPECT_TRUE(CheckEvent(event).ok());
  event.pure_epsilon = -1;
  EXPECT_FALSE(CheckEvent(event).ok());
}

}  // namespace
}  // namespace tacet::accounting
