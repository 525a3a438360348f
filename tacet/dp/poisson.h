// Poisson draws for any rate below 2^31, each draw at its own rate.
#ifndef TACET_DP_POISSON_H_
#define TACET_DP_POISSON_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "tacet/crypto/random.h"
#include "tacet/crypto/secret.h"
#include "tacet/dp/active_kernels.h"
#include "tacet/dp/uniform.h"

namespace tacet::dp {

// Rates from here on are drawn by rejection, below by multiplying uniforms.
inline constexpr double kPoissonRejectionRate = 10.0;
// Rates must stay below this, so that counts fit 32 bits: P(Y >= 2^32) < exp(-8e8) there.
inline constexpr double kPoissonMaxRate = 2147483648.0;
inline constexpr double kPoissonLargestRate = kPoissonMaxRate * (1.0 - 0x1p-53);

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
  // probabilities would lose the upper tail to absolute rounding. Rate >= 10: rejection from a
  // normal hat (poisson_trial.h).
  //
  // A rate that is not positive, or NaN, gives 0 and one of 2^31 or more counts as the largest
  // double below 2^31: the function always ends and never overflows, but such a rate is a defect
  // of the caller. Running time depends on the rates and on the draws.
  //
  // Values are taken kBlock at a time; counts depend on where blocks begin. Every trial has a
  // normal draw and half a word, kTrials of them are made at a time. Values whose trial is rejected
  // come first in the next pass.
  void Fill(std::span<const double> rates, std::span<uint32_t> counts);

 private:
  static constexpr size_t kBlock = 2048;
  static constexpr size_t kTrials = 1024;

  // Values without a count: their rates and where the counts go.
  struct Values {
    crypto::SecretVector<double> rates{kTrials};
    crypto::SecretVector<uint64_t> places{kTrials};
    size_t size = 0;

    void Append(double rate, uint64_t place) {
      rates.Expose()[size] = rate;
      places.Expose()[size++] = place;
    }
  };

  void FillBlock(std::span<const double> rates, std::span<uint32_t> counts);
  void MakeTrials();
  // One trial for each of the carried values, as far as trials are left.
  void TryCarried(std::span<uint32_t> counts);
  // One trial for each of rates[begin, end).
  void TryNew(std::span<const double> rates, size_t begin, size_t end, std::span<uint32_t> counts);
  // The second test of the open trials; those that it rejects are carried.
  void Decide();
  // Appends trial next_ + i, of a value with this rate and place, to the open ones.
  void Open(double rate, uint64_t place, size_t i);
  // Knuth's product.
  uint32_t DrawByProduct(double rate);

  crypto::Random& random_;
  const Kernels& kernels_;
  UniformWords units_;
  crypto::SecretVector<double> normals_;
  crypto::SecretVector<uint32_t> chances_;
  size_t next_ = kTrials;  // of the trials made
  Values carried_;         // waiting for a trial
  Values open_;            // waiting for the second test of these trials
  crypto::SecretVector<double> open_normals_;
  crypto::SecretVector<uint32_t> open_chances_;
  crypto::SecretVector<uint32_t> candidates_;
  bool small_ = false;  // a rate of this block is below kPoissonRejectionRate
};

// One Fill of a PoissonSampler.
void FillPoisson(std::span<const double> rates, crypto::Random& random, std::span<uint32_t> counts);

// log(P(k) sqrt(2 pi rate)), P(k) = exp(-rate) rate^k / k!, for an integer 0 <= k < 2^53 held in a
// double and rate > 0, in Loader's saddle-point form (2000, "Fast and accurate computation of
// binomial probabilities"):
//   -log(k / rate) / 2 - delta(k) - D(k, rate),
// delta(k) = log k! - log(sqrt(2 pi k) (k/e)^k) and D(k, rate) = k log(k / rate) + rate - k, the
// last by a series in (k - rate) / (k + rate). Absolute error below 1e-13 for |k - rate| <=
// 12 sqrt(rate) and below 1e-14 within 5 standard deviations; the plain sum
// k log(rate) - rate - log k! errs by 1.5e-10 at rate 4e4.
double PoissonLogScaled(double k, double rate);

}  // namespace tacet::dp

#endif  // TACET_DP_POISSON_H_
