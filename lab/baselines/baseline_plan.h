// Four mechanisms on one plan (their accounting: baselines.py): Poisson-quantised Gaussian noise,
// and three of the literature.
#ifndef TACET_LAB_BASELINES_BASELINE_PLAN_H_
#define TACET_LAB_BASELINES_BASELINE_PLAN_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"

#include "tacet/crypto/random.h"
#include "tacet/dp/mechanism_plan.h"

namespace tacet::app::baselines {

enum class Baseline { kPoissonGaussian, kDiscreteGaussian, kSkellam, kBinomial };
inline constexpr Baseline kBaselines[] = {Baseline::kPoissonGaussian, Baseline::kDiscreteGaussian,
                                          Baseline::kSkellam, Baseline::kBinomial};
std::string_view BaselineName(Baseline baseline);
absl::StatusOr<Baseline> ParseBaseline(std::string_view name);

// The plan of dp::MechanismSpec, with other noise. A participant of the literature's mechanisms
// clips as dp::Mechanism does, rounds at random to multiples of s, and adds integer noise of
// variance sigma^2 / (s^2 K_min). Immutable and cheap to copy.
class BaselinePlan {
 public:
  // InvalidArgument as dp::MechanismPlan, and for noise that the mechanism cannot draw: a binomial
  // share of more than 2^30 trials, a discrete Gaussian share of a deviation below 0.5 steps.
  static absl::StatusOr<BaselinePlan> Create(Baseline baseline, const dp::MechanismSpec& spec);

  Baseline baseline() const { return baseline_; }
  const dp::MechanismSpec& spec() const { return plan_.spec(); }
  // Standard deviation of the decoded sum of K participants, rounding included.
  double sum_stddev() const;
  // Bits that hold every sum but for a probability below 2^-40; as residues, bytes of an upload
  // before encryption, which costs every mechanism the same.
  uint32_t sum_bits() const;
  uint64_t residue_bytes() const;

  // A participant's message: out[i] added over participants is a sum for Decode.
  void Encode(std::span<const float> update, crypto::Random& random, std::span<int64_t> out) const;
  // mean[i] of the `participants` updates whose encodings add to `sums`.
  void DecodeMean(std::span<const int64_t> sums, uint32_t participants,
                  std::span<double> mean) const;

 private:
  BaselinePlan(Baseline baseline, const dp::MechanismPlan& plan)
      : baseline_(baseline), plan_(plan), mechanism_(plan) {}

  double steps(double value) const { return value / spec().params.scale; }
  double own_variance() const;  // of a participant's noise, in steps
  uint32_t trials() const;      // of a participant's binomial
  double norm_bound() const;    // of a rounded update, in steps

  Baseline baseline_;
  dp::MechanismPlan plan_;
  dp::Mechanism mechanism_;
};

}  // namespace tacet::app::baselines

#endif  // TACET_LAB_BASELINES_BASELINE_PLAN_H_
