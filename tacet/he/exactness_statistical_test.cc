// Many participants: exact sums, and the noise beneath them.

#include "gtest/gtest.h"

#include "tacet/base/test_size_for_test.h"
#include "tacet/he/attempt_for_test.h"

namespace tacet::he {
namespace {

class ManyParticipantsTest : public testing::TestWithParam<Scheme> {};

// Each coefficient is wrong with probability below 2^-80.
TEST_P(ManyParticipantsTest, SumIsExact) {
  for (const uint32_t participants : {1000u, 5000u}) {
    ExpectExactSum({.scheme = GetParam(),
                    .dimension = 50,
                    .max_participants = participants,
                    .offset = 40000,
                    .sum_bound = uint64_t{20000} * participants},
                   participants, 20000);
  }
}

// Counts of 32 bits whose sums need the widest slots of K = 5000: one value a coefficient.
TEST(ManyParticipantsTest, SumsOf44BitsAreExact) {
  ExpectExactSum({.dimension = 20,
                  .max_participants = 5000,
                  .offset = 2147483648,
                  .sum_bound = uint64_t{5000} << 31},
                 5000, 2147483647);
}

INSTANTIATE_TEST_SUITE_P(AllSchemes, ManyParticipantsTest, testing::ValuesIn(kAllSchemes),
                         [](const auto& tested) { return SchemeTestName(tested.param); });

struct NoiseCase {
  Scheme scheme;
  uint32_t participants;
  uint64_t dimension;
  double tolerance;
};

class ResidualNoiseTest : public testing::TestWithParam<NoiseCase> {};

// The mean square of n = 32,768 nearly Gaussian errors has a relative deviation of sqrt(2 / n); 5 %
// are 6.4 of them: false alarm < 1e-9. Another number of dropped bits (a variance off by more than
// 40 %) is always noticed, an error of CBD(26) in place of CBD(21) (8 % off) with probability >
// 0.99. Public-key errors share e' and s, hence the wider tolerance there.
TEST_P(ResidualNoiseTest, VarianceIsAsPredicted) {
  const NoiseCase& tested = GetParam();
  // More are in the long set.
  if (tested.participants > static_cast<uint32_t>(base::TestSize("TACET_NOISE_CLIENTS", 1000))) {
    GTEST_SKIP();
  }
  TestAttempt attempt(MustCreate({.scheme = tested.scheme,
                                  .dimension = tested.dimension,
                                  .max_participants = tested.participants,
                                  .offset = 40000,
                                  .sum_bound = 2000000}));
  crypto::InsecureSeededEntropy entropy(tested.participants, "counts");
  crypto::Random random = crypto::Random::FromEntropy(entropy);
  for (uint32_t k = 0; k < tested.participants; ++k) {
    attempt.EncryptAndAdd(RandomCounts(random, attempt.params(), 300));
  }
  const base::Bytes closed = attempt.adder().Close();
  const double measured =
      attempt.DecryptorFor(closed)->MeasureNoise(closed, tested.participants).value();
  const double predicted = tested.participants * attempt.params().noise_variance_per_upload();
  RecordProperty("measured_over_predicted", std::to_string(measured / predicted));
  EXPECT_NEAR(measured / predicted, 1, tested.tolerance);
}

INSTANTIATE_TEST_SUITE_P(AllSchemes, ResidualNoiseTest,
                         testing::Values(NoiseCase{Scheme::kCompact, 1000, 4 * 32768, 0.05},
                                         NoiseCase{Scheme::kCompact, 5000, 3 * 32768, 0.05},
                                         NoiseCase{Scheme::kPaperPublicKey, 300, 32768, 0.15},
                                         NoiseCase{Scheme::kPaperSecretKey, 1000, 32768, 0.05}),
                         [](const auto& tested) {
                           return SchemeTestName(tested.param.scheme) +
                                  std::to_string(tested.param.participants);
                         });

}  // namespace
}  // namespace tacet::he
