// The mechanism clip -> noise -> quantise: a checked plan of it, and the plan at work.
#ifndef TACET_DP_MECHANISM_PLAN_H_
#define TACET_DP_MECHANISM_PLAN_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <span>

#include "absl/status/statusor.h"

#include "tacet/crypto/random.h"
#include "tacet/crypto/secret.h"
#include "tacet/dp/clip.h"
#include "tacet/dp/gaussian.h"
#include "tacet/dp/mechanism_params.h"
#include "tacet/dp/poisson.h"
#include "tacet/dp/poisson_quantizer.h"

namespace tacet::dp {

class DiscreteLaplaceShares;

// Unchecked parameters from a caller.
struct MechanismSpec {
  uint64_t dimension = 0;         // d >= 1
  MechanismParams params = {};    // sigma is that of the sum of noise_shares noises
  uint32_t cohort = 0;            // K, the most participants whose updates are added
  uint32_t min_participants = 0;  // K_min, 1 <= K_min <= K: fewer never open
  // Shares of noise that add to sigma, 1..K_min; 0: K_min. Fewer where some of the participants may
  // pool what they know: without the shares of K_min - noise_shares of them sigma is still left.
  uint32_t noise_shares = 0;
  // True when a participant sends a sum over its records (or persons), each clipped to S before it
  // was added: the sum itself is clamped to b only, and b may be above S.
  bool sums_of_clipped = false;
  // In a sum over all participants are at most so many contributions of norm S. Participants that
  // send one each are K' at most. Infinite: they are not counted.
  double most_contributions = std::numeric_limits<double>::infinity();
  uint32_t attempts = 0;   // rounds times the attempts of a round that may be charged
  double delta = 1e-5;     // in (0, 1)
  double max_epsilon = 0;  // what the terms are multiplied by: accounting::LargestCarriedEpsilon
  // The terms below are computed and reported, but do not refuse. Likewise without noise or without
  // clipping.
  bool without_guarantee = false;
};

// Additions of finite arithmetic to a guarantee (epsilon, delta) of the ideal mechanism: every draw
// is rounded, and noise is bounded.
struct ImplementationTerms {
  double epsilon = 0;
  double delta = 0;
};

// A MechanismSpec that was checked, and what follows from it. Immutable and cheap to copy.
//
// One participant sends Y ~ Poisson((u + n - mu)/s) per coordinate, u clipped to norm S and
// clamped to [-b, b], n ~ N(0, sigma_k^2) with sigma_k = sigma/sqrt(noise_shares), by default
// sigma/sqrt(K_min), and |n| <= z sigma_k by construction of the sampler, mu = -s m with m =
// ceil((b + z sigma_k)/s) + 1, so that every rate is at least 1. The sum over K' participants has
// mean Sum u, in units of s around K' m.
//
// Under discrete Laplace noise Y = u/s + m + X exactly, X a share of noise_shares
// (discrete_laplace.h) whose bound takes the place of z sigma_k. u is a multiple of s, and a sum of
// contributions that are limited in L1 before they are added: clipping here does not shorten them.
class MechanismPlan {
 public:
  // InvalidArgument names the field, its value and the range. In addition to the fields' own ranges
  // it refuses: noise_stddev = 0 without `without_noise`; rates of 2^31 or more (naming the
  // quantity that is too large); and, for a run that makes a guarantee, a truncation and rounding
  // of the samplers that together cost more than delta/1000.
  static absl::StatusOr<MechanismPlan> Create(const MechanismSpec& spec);

  // As given, but for the effective coordinate_bound (at most S, unless sums are sent),
  // noise_shares and noise_stddev (see above).
  const MechanismSpec& spec() const { return spec_; }
  bool makes_guarantee() const;  // none of the three `without_` fields is set

  double mu() const { return -spec_.params.scale * static_cast<double>(offset_); }
  uint64_t offset() const { return offset_; }                        // m = |mu|/s
  double participant_stddev() const { return participant_stddev_; }  // sigma_k
  double noise_bound() const { return noise_bound_; }                // z sigma_k
  double max_rate() const { return max_rate_; }  // (b + z sigma_k - mu)/s < 2^31

  // B: |Sum Y - K' m| <= B in every coordinate of every attempt, for every K' <= K, except with
  // probability wrong_value_probability() < 2^-40 (sum_bound.h).
  uint64_t sum_bound() const { return sum_bound_; }
  // z_f: B s = K b + z_f sum_stddev(K, K b).
  double sum_bound_stddevs() const { return sum_bound_stddevs_; }
  double wrong_value_probability() const { return wrong_value_probability_; }

  // Standard deviation of s Sum Y of `participants` participants whose updates add to `sum_u`:
  // sqrt(sigma^2 K'/noise_shares + s (K' |mu| + sum_u)).
  double sum_stddev(uint32_t participants, double sum_u = 0) const;
  // The part of its square that the quantisation adds at sum_u = 0: s K' |mu|, or none.
  double quantisation_variance(uint32_t participants) const;

  // The distance that the discrete Laplace noise of a sum exceeds with at most this probability.
  double LaplaceTail(uint32_t participants, double log_probability) const;

  // Cost of the samplers' imperfection at max_epsilon (precision.h). All 0 without noise.
  double draws() const;                                   // N_d = d attempts K
  double rounding() const { return samplers_.rounding; }  // rho, error of log P of a draw
  // The source of shares of discrete Laplace noise; null where the noise is Gaussian or left out.
  const DiscreteLaplaceShares* laplace() const { return laplace_.get(); }
  double truncation_term() const { return samplers_.truncation_term; }  // in delta: draws end at z
  double coarse_tail_term() const {
    return samplers_.coarse_tail_term;
  }  // in delta: grid in the tail
  double precision_epsilon() const {
    return samplers_.precision_epsilon;
  }  // eps_1: epsilon grows by 2 eps_1
  double precision_delta() const { return samplers_.precision_delta; }  // in delta: rounding
  // delta of the ideal mechanism grows by at most this: the sum of the three terms in delta.
  double total_delta_penalty() const {
    return samplers_.truncation_term + samplers_.coarse_tail_term + samplers_.precision_delta;
  }
  // The same for any guarantee (epsilon, delta) about all attempts of the plan: 2 eps_1 in epsilon,
  // and the sum of the three terms, at most 1, in delta. All 0 without noise.
  ImplementationTerms TermsAt(double epsilon, double delta) const;

 private:
  MechanismPlan() = default;

  absl::Status PlanLaplace();
  // The cost of the tails of the noise, and of the quantiser's own normal draws (poisson_trial.h),
  // in delta.
  double Truncation(double epsilon) const;
  double CoarseTail(double epsilon) const;

  MechanismSpec spec_;
  std::shared_ptr<const DiscreteLaplaceShares> laplace_;
  uint64_t offset_ = 0;
  double participant_stddev_ = 0;
  double noise_bound_ = 0;
  double max_rate_ = 0;
  uint64_t sum_bound_ = 0;
  double sum_bound_stddevs_ = 0;
  double wrong_value_probability_ = 0;
  struct Imperfection {
    double rounding = 0;
    double truncation_term = 0;
    double coarse_tail_term = 0;
    double precision_epsilon = 0;
    double precision_delta = 0;
  };
  Imperfection samplers_;
};

// The mechanism of a plan. Stateless: thread-safe as long as each thread has its own generators.
// Spans that belong together have the same size; it need not be the plan's dimension.
class Mechanism {
 public:
  explicit Mechanism(const MechanismPlan& plan);

  const MechanismPlan& plan() const { return plan_; }

  // To S (unless sums are sent), and to [-b, b]; an update that is not finite becomes zeros
  // (clip.h).
  Clipping ClippingOf(std::span<const float> update) const;
  // At once. The spans may be the same memory.
  ClipReport Clip(std::span<const float> update, std::span<float> clipped) const;

  // counts[i] ~ Poisson((clipped[i] + n_i - mu)/s), n_i ~ N(0, sigma_k^2). `noise` and `poisson`
  // are independent generators that live for one upload. `clipped` must come from Clip.
  // Intermediate values are double and wiped.
  void NoiseAndQuantize(std::span<const float> clipped, crypto::Random& noise,
                        crypto::Random& poisson, std::span<uint32_t> counts) const;
  const PoissonQuantizer& quantizer() const { return quantizer_; }

  // Under discrete Laplace noise: counts[i] = clipped[i] / s + m + X_i.
  void AddLaplace(std::span<const float> clipped, crypto::Random& noise,
                  std::span<uint32_t> counts) const;

  // noised[i] = clipped[i] + n_i, the same n_i as above: for labelled runs without quantisation.
  void Noise(std::span<const float> clipped, crypto::Random& noise, std::span<double> noised) const;

  // mean[i] = s (sums[i] - K' m)/K', the mean of the K' = `participants` >= 1 updates whose counts
  // add to `sums`, in double.
  void DecodeMean(std::span<const uint64_t> sums, uint32_t participants,
                  std::span<double> mean) const;

 private:
  MechanismPlan plan_;
  PoissonQuantizer quantizer_;
};

// NoiseAndQuantize block by block: the same counts if every block but the last is a multiple of
// kBlock values. What it refers to must outlive it.
class NoiseAndQuantization {
 public:
  static constexpr size_t kBlock = 2048;

  NoiseAndQuantization(const Mechanism& mechanism, crypto::Random& noise, crypto::Random& poisson);
  void Next(std::span<const float> clipped, std::span<uint32_t> counts);

 private:
  const Mechanism& mechanism_;
  crypto::Random& noise_;
  PoissonSampler sampler_;
  crypto::SecretVector<double> noised_;
};

}  // namespace tacet::dp

#endif  // TACET_DP_MECHANISM_PLAN_H_
