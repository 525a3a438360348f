#include "tacet/accounting/moments_accountant.h"

#include <chrono>
#include <cmath>
#include <string>
#include <utility>

#include "fmt/format.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/accounting/log_math.h"
#include "tacet/accounting/log_moments.h"
#include "tacet/accounting/reference_values_for_test.h"
#include "tacet/base/status.h"

namespace tacet::accounting {
namespace {

using ::testing::HasSubstr;

SamplingEvent PaperEvent() {
  return {.sampling = Sampling::kFixedSize,
          .sampling_rate = 1000.0 / 3596,
          .noise_stddev = 6,
          .clip_norm = 1};
}

void ExpectRelative(double value, double expected, const std::string& where) {
  EXPECT_NEAR(value / expected, 1, 1e-9) << where << ": " << value << " for " << expected;
}

TEST(MomentsAccountantTest, ReproducesThePublishedSetting) {
  const auto result = MomentsEpsilon(Repeated(PaperEvent(), 100), 1e-5);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->order, 5);
  ExpectRelative(result->epsilon, Reference("/paper_setting/eps_end_user"), "external");

  SamplingEvent event = PaperEvent();
  event.noise_stddev = 6.0 * 999 / 1000;
  ExpectRelative(MomentsEpsilon(Repeated(event, 100), 1e-5)->epsilon,
                 Reference("/paper_setting/eps_participant_sigma_(K-1)~1K"), "published");
  event.noise_stddev = 6.0 * std::sqrt(0.999);
  ExpectRelative(MomentsEpsilon(Repeated(event, 100), 1e-5)->epsilon,
                 Reference("/paper_setting/eps_participant_sigma_sqrt((K-1)~1K)"), "exact noise");
}

TEST(MomentsAccountantTest, ReproducesTheMomentVectors) {
  const double q = 1000.0 / 3596;
  for (const auto& [name, c] : {std::pair("sigma=6,shift=2 (c=1~13)", 1.0 / 3),
                                std::pair("sigma=6,shift=1 (c=1~16)", 1.0 / 6)}) {
    ASSERT_EQ(ReferenceSize(fmt::format("/moments_test_vectors/{}", name)), 20);
    for (int order = 1; order <= 20; ++order) {
      const std::string at = fmt::format("/moments_test_vectors/{}/{}/", name, order - 1);
      ExpectRelative(LogMomentMixtureFirst(order, q, c), Reference(at + "logE2"), at);
      ExpectRelative(LogMomentMixtureFirstReal(order, q, c), Reference(at + "logE2"), at);
      ExpectRelative(LogMomentNullFirst(order, q, c), Reference(at + "logE1"), at);
    }
  }
}

TEST(MomentsAccountantTest, ReproducesTheMomentsGrid) {
  const size_t rows = ReferenceSize("/moments_grid");
  ASSERT_EQ(rows, 200);
  for (size_t i = 0; i < rows; ++i) {
    const std::string at = fmt::format("/moments_grid/{}/", i);
    const SamplingEvent event{.sampling_rate = Reference(at + "q"),
                              .noise_stddev = Reference(at + "sigma"),
                              .clip_norm = Reference(at + "shift") / 2};
    const auto result =
        MomentsEpsilon(Repeated(event, static_cast<uint64_t>(Reference(at + "T"))),
                       Reference(at + "delta"), static_cast<int>(Reference(at + "lmax")));
    ASSERT_TRUE(result.ok());
    ExpectRelative(result->epsilon, Reference(at + "eps_str"), at);
    EXPECT_EQ(result->order, static_cast<int>(Reference(at + "l_star"))) << at;
  }
}

TEST(MomentsAccountantTest, ReproducesTheDropoutRows) {
  for (size_t i = 0; i < ReferenceSize("/dropout"); ++i) {
    const std::string at = fmt::format("/dropout/{}/", i);
    SamplingEvent event = PaperEvent();
    // Shares of 6 / sqrt(1000) from those who arrived; q stays what the cohort was drawn with.
    event.noise_stddev = 6 * std::sqrt(Reference(at + "K_arrived") / 1000);
    ExpectRelative(event.noise_stddev, Reference(at + "sigma_effective"), at);
    ExpectRelative(MomentsEpsilon(Repeated(event, 100), 1e-5)->epsilon, Reference(at + "eps_str"),
                   at);
  }
}

TEST(MomentsAccountantTest, TheTwoWaysToAMomentAgree) {
  for (const double q : {1e-5, 1e-3, 0.1, 0.5, 0.99}) {
    for (const double c : {0.01, 0.1, 1.0, 4.0}) {
      for (const int order : {1, 2, 5, 20, 64}) {
        const double closed = LogMomentMixtureFirst(order, q, c);
        const double quadrature = LogMomentMixtureFirstReal(order, q, c);
        EXPECT_NEAR(quadrature / closed, 1, 1e-8) << q << " " << c << " " << order;
        // The other order of the pair never costs more.
        EXPECT_LE(LogMomentNullFirst(order, q, c), closed * (1 + 1e-9))
            << q << " " << c << " " << order;
      }
    }
  }
}

TEST(MomentsAccountantTest, OppositeContributionsLieBetweenZeroOutAndReplaceOneAtTwiceTheShift) {
  for (const double q : {1e-3, 0.1, 0.9}) {
    for (const double c : {0.1, 1.0, 3.0}) {
      for (const int order : {1, 5, 20}) {
        const double opposite = LogMomentOpposite(order, q, c);
        EXPECT_GE(opposite, LogMomentMixtureFirst(order, q, c)) << q << " " << c << " " << order;
        EXPECT_LE(opposite, LogMomentMixtureFirst(order, q, 2 * c) * (1 + 1e-9))
            << q << " " << c << " " << order;
      }
    }
  }
  // Everybody takes part: a Gaussian pair at distance 2 c.
  EXPECT_DOUBLE_EQ(LogMomentOpposite(3, 1, 0.5), LogMomentMixtureFirst(3, 1, 1));
}

TEST(MomentsAccountantTest, ZeroOnlyWhenNobodyIsEverSampled) {
  SamplingEvent event = PaperEvent();
  EXPECT_EQ(MomentsEpsilon(Repeated(event, 0), 1e-5)->epsilon, 0);
  event.sampling_rate = 0;
  EXPECT_EQ(MomentsEpsilon(Repeated(event, 100), 1e-5)->epsilon, 0);
  event.sampling_rate = 1e-300;  // its moments underflow
  EXPECT_GT(MomentsEpsilon(Repeated(event, 100), 1e-5)->epsilon, 0);
}

TEST(MomentsAccountantTest, ExtremesGiveInfinityNeverNaN) {
  SamplingEvent event = PaperEvent();
  event.noise_stddev = 0;
  const auto result = MomentsEpsilon(Repeated(event, 100), 1e-5);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->epsilon, kInfinity);
  EXPECT_EQ(result->order, 0);
  for (const Sampling sampling : {Sampling::kFixedSize, Sampling::kPoisson}) {
    for (const Neighbouring neighbouring : {Neighbouring::kReplaceOne, Neighbouring::kZeroOut}) {
      for (const double sigma : {1e-300, 1e-9, 0.01, 0.3, 100.0, 1e9}) {
        for (const double q : {1e-300, 1e-12, 1e-5, 0.5, 1 - 1e-12, 1.0}) {
          const SamplingEvent extreme{.neighbouring = neighbouring,
                                      .sampling = sampling,
                                      .sampling_rate = q,
                                      .noise_stddev = sigma};
          const auto answer = MomentsEpsilon(Repeated(extreme, 100'000), 1e-15);
          ASSERT_TRUE(answer.ok());
          EXPECT_GT(answer->epsilon, 0) << sigma << " " << q;  // also false for NaN
        }
      }
    }
  }
}

TEST(MomentsAccountantTest, MomentsOfAStreamAdd) {
  SamplingEvent loud = PaperEvent();
  loud.noise_stddev = 5;
  std::vector<RepeatedEvent> stream = Repeated(PaperEvent(), 60);
  stream.push_back(Repeated(PaperEvent(), 40).front());
  EXPECT_NEAR(MomentsEpsilon(stream, 1e-5)->epsilon,
              MomentsEpsilon(Repeated(PaperEvent(), 100), 1e-5)->epsilon, 1e-12);
  stream.back() = Repeated(loud, 40).front();
  EXPECT_GT(MomentsEpsilon(stream, 1e-5)->epsilon,
            MomentsEpsilon(Repeated(PaperEvent(), 100), 1e-5)->epsilon);
  EXPECT_LT(MomentsEpsilon(stream, 1e-5)->epsilon,
            MomentsEpsilon(Repeated(loud, 100), 1e-5)->epsilon);
  EXPECT_EQ(MomentsEpsilon({}, 1e-5)->epsilon, 0);
}

TEST(MomentsAccountantTest, MixturesLieBetweenTheirParts) {
  SamplingEvent loud = PaperEvent();
  loud.noise_stddev = 5;
  const double quiet_epsilon = MomentsEpsilon(Repeated(PaperEvent(), 100), 1e-5)->epsilon;
  const double loud_epsilon = MomentsEpsilon(Repeated(loud, 100), 1e-5)->epsilon;
  const auto of_mixture = [](std::vector<WeightedEvent> mixture) {
    const auto result = MomentsEpsilon({{.round = std::move(mixture), .count = 100}}, 1e-5);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.value_or(MomentsResult()).epsilon;
  };
  const double mixed_epsilon = of_mixture(
      {{.probability = 0.5, .event = PaperEvent()}, {.probability = 0.5, .event = loud}});
  EXPECT_GT(mixed_epsilon, quiet_epsilon);
  EXPECT_LT(mixed_epsilon, loud_epsilon);
  EXPECT_NEAR(
      of_mixture({{.probability = 0.25, .event = loud}, {.probability = 0.75, .event = loud}}),
      loud_epsilon, 1e-12);
}

TEST(MomentsAccountantTest, RefusesWhatIsOutOfRange) {
  const auto refused = [](SamplingEvent event, double delta, int orders) {
    const absl::Status status = MomentsEpsilon(Repeated(event, 10), delta, orders).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return base::Message(status);
  };
  SamplingEvent event = PaperEvent();
  EXPECT_THAT(refused(event, 0, 20), HasSubstr("delta is 0"));
  EXPECT_THAT(refused(event, 1, 20), HasSubstr("delta is 1"));
  EXPECT_THAT(refused(event, std::nan(""), 20), HasSubstr("delta is nan"));
  EXPECT_THAT(refused(event, 1e-5, 0), HasSubstr("highest order is 0"));
  event.sampling_rate = 1.5;
  EXPECT_THAT(refused(event, 1e-5, 20), HasSubstr("sampling_rate is 1.5"));
  event = PaperEvent();
  event.noise_stddev = -1;
  EXPECT_THAT(refused(event, 1e-5, 20), HasSubstr("noise_stddev is -1"));
  event = PaperEvent();
  event.clip_norm = 0;
  EXPECT_THAT(refused(event, 1e-5, 20), HasSubstr("clip_norm is 0"));
  event = PaperEvent();
  event.sampling = Sampling::kNone;
  EXPECT_THAT(refused(event, 1e-5, 20), HasSubstr("where nothing is sampled"));
  EXPECT_THAT(base::Message(MomentsEpsilon({{.round = {}}}, 1e-5).status()),
              HasSubstr("mixture of events is empty"));
  EXPECT_THAT(
      base::Message(MomentsEpsilon({{.round = {{.probability = 0.5, .event = PaperEvent()}}}}, 1e-5)
                        .status()),
      HasSubstr("add to 0.5"));
}

// The budget is 10 ms; the limit leaves room for a busy machine and for sanitizers.
TEST(MomentsAccountantTest, IsFast) {
  const auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(MomentsEpsilon(Repeated(PaperEvent(), 100), 1e-5).ok());
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  RecordProperty("microseconds", static_cast<int>(seconds.count() * 1e6));
  EXPECT_LT(seconds.count(), 0.25);
}

}  // namespace
}  // namespace tacet::accounting
