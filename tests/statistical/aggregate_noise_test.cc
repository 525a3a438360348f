// Noise of a sum that was really clipped, noised, quantised, authenticated, encrypted, added and
// decrypted.
#include <cmath>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/crypto/random.h"
#include "tacet/secagg/small_round_for_test.h"

namespace tacet::secagg {
namespace {

using testing::SmallRound;
using testing::SmallTerms;
using testing::ValueOf;

// With n = 2.4 million independent values, the mean of a value with deviation D has deviation
// D / sqrt(n), and the measured deviation D / sqrt(2 n) (the fourth moment is that of a Gaussian up
// to terms of order s / sigma). 6.2 of them are a false alarm of 6e-10 each: 0.40 % of D for the
// mean, 0.28 % for the deviation. A root off by 0.5 % would be noticed with probability above
// 0.9999: leaving out the quantisation's share (1.0 % here) too.
TEST(AggregateNoiseTest, MeanAndDeviationAreAsPlanned) {
  constexpr uint64_t kDimension = 2'400'000;
  constexpr uint32_t kParticipants = 5, kMinParticipants = 4;
  TermsSpec spec = SmallTerms(kDimension, kParticipants);
  spec.mechanism.min_participants = kMinParticipants;  // the noise of five is more than sigma
  spec.mechanism.params.noise_stddev = 0.5;
  spec.mechanism.params.scale = 3e-4;
  const double kUpdate = 0.0005;  // every coordinate of every update: norm 0.77, not clipped
  SmallRound round(spec);
  const auto sealer =
      ValueOf(Sealer::Create(round.terms(), round.attempt(), round.KeysOf(round.attempt())));
  const std::vector<float> update(kDimension, static_cast<float>(kUpdate));
  std::vector<base::Bytes> uploads;
  for (uint32_t k = 0; k < kParticipants; ++k) {
    const SealedUpload sealed = ValueOf(sealer->Seal(update, round.PairKeys(k), round.entropy()));
    ASSERT_FALSE(sealed.clip.clipped);
    uploads.push_back(sealed.bytes);
  }
  const Aggregator::Closed closed = round.Close(uploads);
  const Aggregate aggregate =
      ValueOf(round.Decrypt(closed.closed_round, round.AnswersOf(closed, uploads))).aggregate;
  ASSERT_EQ(aggregate.participants, kParticipants);

  const dp::Mechanism mechanism(round.terms().mechanism());
  std::vector<double> mean(kDimension);
  mechanism.DecodeMean(aggregate.sums, kParticipants, mean);
  const double sum_u = kParticipants * static_cast<double>(static_cast<float>(kUpdate));
  double total = 0, squares = 0;
  for (const double value : mean) {
    const double error = kParticipants * value - sum_u;
    total += error;
    squares += error * error;
  }
  const dp::MechanismPlan& plan = round.terms().mechanism();
  const double sigma = spec.mechanism.params.noise_stddev;
  const double planned =
      std::sqrt(sigma * sigma * kParticipants / kMinParticipants +
                spec.mechanism.params.scale * (kParticipants * -plan.mu() + sum_u));
  EXPECT_DOUBLE_EQ(plan.sum_stddev(kParticipants, sum_u), planned);
  EXPECT_NEAR(total / kDimension, 0, 6.2 * planned / std::sqrt(kDimension));
  EXPECT_NEAR(std::sqrt(squares / kDimension) / planned, 1, 0.003);
  EXPECT_GT(planned / (sigma * std::sqrt(1.25)), 1.005);  // the test can see the quantisation
}

}  // namespace
}  // namespace tacet::secagg
