// Errors of the coefficients of a model in rounds, and of sums of them.
#ifndef TACET_STATISTICS_LIKELIHOOD_ERRORS_H_
#define TACET_STATISTICS_LIKELIHOOD_ERRORS_H_

#include <vector>

#include "tacet/statistics/answer_parts.h"
#include "tacet/statistics/cholesky.h"
#include "tacet/statistics/likelihood_steps.h"

namespace tacet::statistics {

// Further steps may add this many mean steps: the intervals allow for it.
inline constexpr double kFurtherStep = 0.35;
// Sampling variances of hazards: in tables of patients those of a sandwich are up to this much
// larger than the information's, as hazards are not quite proportional.
inline constexpr double kHazardSampling = 1.2;

struct LikelihoodCoefficient {
  double value = 0;
  double noise_error = 0;
  double standard_error = 0;
};

// By the delta method.
class LikelihoodErrors {
 public:
  // `factor` is that of the pooled information, `clear` the least information in deviations of its
  // noise.
  LikelihoodErrors(const Measurements& measured, const LikelihoodSteps& steps,
                   const Cholesky& factor, double clear);

  // For the sum of the coefficients with these weights.
  LikelihoodCoefficient Of(const std::vector<double>& weights) const;
  // Covariances of several such sums, row by row: of noise, sampling and a further step.
  std::vector<double> CovarianceOf(const std::vector<std::vector<double>>& sums) const;
  // Factor of variances of the noise: its second order, which grows as the noise nears the least
  // information.
  double second_order() const { return second_order_; }

 private:
  // Sum over rows of squared residuals times both of the sums' weights.
  struct Sandwich {
    double value = 0;
    double unclear = 0;  // variance of the noise
  };

  double Further(const std::vector<double>& weights) const;
  // `solved` and `other` are the information's inverse times weights.
  double NoiseCovariance(const std::vector<double>& solved, const std::vector<double>& other) const;
  // `equal` has the covariances by the information alone.
  std::vector<double> SamplingCovariance(const std::vector<std::vector<double>>& solved,
                                         std::vector<double> equal) const;
  Sandwich SandwichOf(const std::vector<double>& solved, const std::vector<double>& other,
                      double noise) const;

  const Measurements& measured_;
  const LikelihoodSteps& steps_;
  const Cholesky& factor_;
  double second_order_;
};

}  // namespace tacet::statistics

#endif  // TACET_STATISTICS_LIKELIHOOD_ERRORS_H_
