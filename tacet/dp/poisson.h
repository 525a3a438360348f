// Poisson draws for any rate below 2^31, each draw at its own rate.
#ifndef TACET_DP_POISSON_H_
#define TACET_DP_POISSON_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "tacet/crypto/random.h"
#include "tacet/crypto/secret.h"
#include "tacet/dp/kernels.h"

namespace tacet::dp {

// Rates from here on are drawn by transformed rejection, below by multiplying uniforms.
inline constexpr double kPoissonRejectionRate = 10.0;
// Rates must stay below this, so that counts fit 32 bits: P(Y >= 2^32) < exp(-8e8) there.
inline constexpr double kPoissonMaxRate = 2147483648.0;
inline constexpr double kPoissonLargestRate = kPoissonMaxRate * (1.0 - 0x1p-53);
// From here on the acceptance has a shorter form (PoissonFarOut).
inline constexpr double kPoissonLargeRate = 8192.0;

// Poisson draws from one generator. Not thread-safe; wipes what it held at the end.
class PoissonSampler {
 public:
  // Every version of the kernels draws the same counts; tests compare them.
  explicit PoissonSampler(crypto::Random& random, const Kernels& kernels = ActiveKernels());

  // Draws counts[i] ~ Poisson(rates[i]) independently; both spans have the same size and every rate
  // is in (0, 2^31). Exact but for rounding: log P of a draw is right to about 2^-53 sqrt(rate)
  // plus 1e-14 (docs/security/precision.md).
  //
  // Rate < 10: the largest k with U_1 ... U_k > exp(-rate) (Knuth); inversion by a running sum of
  // probabilities would lose the upper tail to absolute rounding. Rate >= 10: PTRS (Hormann 1993,
  // "The transformed rejection method for generating Poisson random variables"), the acceptance in
  // Loader's form (poisson_trial.h).
  //
  // A rate that is not positive, or NaN, gives 0 and one of 2^31 or more counts as the largest
  // double below 2^31: the function always ends and never overflows, but such a rate is a defect
  // of the caller. Running time depends on the rates and on the draws.
  //
  // Values are taken kBlock at a time. Round by round, every value of the block that has no count
  // yet takes one word; those that this does not decide take a second one; what is then rejected
  // goes to the next round. Words come in that order, so counts depend on where blocks begin.
  void Fill(std::span<const double> rates, std::span<uint32_t> counts);

 private:
  static constexpr size_t kBlock = 1024;
  static constexpr size_t kRoom = kBlock + 8;  // kPoissonPadding
  static constexpr size_t kWords = 2 * kBlock;

  void FillBlock(std::span<const double> rates, std::span<uint32_t> counts);
  // Knuth's product.
  uint32_t DrawByProduct(double rate);
  // The next `size` <= kBlock words of the stream; readable kPoissonPadding beyond them. Valid
  // until the next call.
  const uint64_t* Take(size_t size);

  crypto::Random& random_;
  const Kernels& kernels_;
  crypto::SecretVector<uint64_t> words_;  // kWords and padding
  size_t next_ = kWords;
  crypto::SecretVector<double> rates_;      // two arrays of kRoom: pending and undecided
  crypto::SecretVector<uint64_t> indexes_;  // three: pending, undecided and 0, 1, 2, ...
  crypto::SecretVector<uint64_t> undecided_words_;
  crypto::SecretVector<uint32_t> proposed_;
};

// One Fill of a PoissonSampler.
void FillPoisson(std::span<const double> rates, crypto::Random& random, std::span<uint32_t> counts);

// log(exp(-rate) rate^k / k!) for an integer 0 <= k < 2^53 held in a double and rate > 0, in
// Loader's saddle-point form (2000, "Fast and accurate computation of binomial probabilities"):
//   -log(2 pi k) / 2 - delta(k) - D(k, rate),
// delta(k) = log k! - log(sqrt(2 pi k) (k/e)^k) and D(k, rate) = k log(k / rate) + rate - k, the
// last by a series in (k - rate) / (k + rate). Absolute error below 1e-13 for |k - rate| <=
// 12 sqrt(rate) and of the order of 5e-15 within 5 standard deviations; the plain sum
// k log(rate) - rate - log k! errs by 1.5e-10 at rate 4e4.
double PoissonLogProbability(double k, double rate);

// The hat of PTRS: a candidate is k = floor((2 a / t + b) u + rate + 0.43) with u uniform in
// (-1/2, 1/2) and t = 1/2 - |u|, and it is taken with probability
//   p = P(k) (a / t^2 + b) / inverse_alpha <= 1.
// When t >= 0.07 that is at least the squeeze v_r of poisson_trial.h. a and b are the published
// ones (but for the root of the rate, a float: the draw is exact for whatever a, b and
// inverse_alpha >= the largest P(k) (a / t^2 + b)). With the published inverse_alpha the
// "probability" reaches 1.0057 (rates below 1500), so it carries a factor 1.01 here.
// poisson_test.cc checks both inequalities over the whole range of rates.
struct PoissonHat {
  double a = 0;
  double b = 0;
  double inverse_alpha = 0;
  static PoissonHat For(double rate);  // rate >= kPoissonRejectionRate
};

// That probability, as p^2 = exp(-2 exponent) / factor: PTRS takes the candidate when
// log(V^2 factor) <= -2 exponent. factor = 2 pi k (inverse_alpha t^2 / (a + b t^2))^2, exponent =
// delta(k) + D(k, rate) >= 0; both have a few roundings, so the logarithm of the probability has
// the absolute error of PoissonLogProbability. The square saves a root.
struct PoissonAcceptance {
  double factor = 0;
  double exponent = 0;
  static PoissonAcceptance For(const PoissonHat& hat, double k, double t, double rate);
};

// True for rates from kPoissonLargeRate on when |k - rate| >= (k + rate) / 10. Such a candidate is
// rejected without a test: D >= 144 there and p < exp(-130), below the smallest V, 2^-128 =
// exp(-88.7), so the test would reject it too.
bool PoissonFarOut(double k, double rate);

}  // namespace tacet::dp

#endif  // TACET_DP_POISSON_H_
