// Newton steps of a model on noised gradients and informations.
#ifndef TACET_STATISTICS_LIKELIHOOD_STEPS_H_
#define TACET_STATISTICS_LIKELIHOOD_STEPS_H_

#include <cstddef>
#include <span>
#include <vector>

#include "tacet/statistics/cholesky.h"
#include "tacet/statistics/query.h"

namespace tacet::statistics {

// Coefficients of each question, its baselines' first; empty where a question has no steps. An
// empty list: FirstCoefficients everywhere.
using ModelCoefficients = std::vector<std::vector<double>>;

// One release of a model with several.
class LikelihoodRelease {
 public:
  // `values` are the question's, without those of rows that are left out.
  LikelihoodRelease(const QuestionPlan& plan, std::span<const double> values)
      : plan_(plan), values_(values) {}

  // Coefficients: the baselines', then the design columns'.
  size_t size() const { return plan_.baselines + plan_.design->columns(); }
  double rows() const { return values_[0] / plan_.count; }
  std::vector<double> Gradient() const;
  // Row by row.
  std::vector<double> Information() const;
  // Poisson: sums of (y - mu)^2 x_i x_j over rows, row by row.
  std::vector<double> Squares() const;
  // Proportional hazards that are checked: sums over rows of x times residuals, those of late
  // intervals less those of early ones.
  std::vector<double> Changes() const;
  // Poisson: of y log(y / exposure).
  double Surprise() const;
  // Poisson: rows whose mean is cut.
  double CutMeans() const { return values_[values_.size() - 2] / plan_.cut; }

 private:
  // A symmetric matrix from its upper triangle, whose diagonal and other values have these scales.
  std::vector<double> Products(size_t place, double square, double cross) const;

  const QuestionPlan& plan_;
  std::span<const double> values_;
};

// One step: from the coefficients of its release, by what the release says there.
struct LikelihoodStep {
  std::vector<double> gradient;
  std::vector<double> information;  // of this release alone
  std::vector<double> step;
  double noise = 1;  // factor of the gradient's noise
};

// Outcome of the releases of a model so far.
struct LikelihoodSteps {
  std::vector<double> coefficients;  // after the last step
  // As many as there are releases. The first one begins at the share or the rates of its baselines.
  std::vector<LikelihoodStep> path;
  // For all coefficients, as many rows as the last release has: the mean over the releases but the
  // first, whose coefficients are public. `pooled` is the factor of its noise: that of rates is
  // scaled to their events. Empty before the second. The same of the squares of a Poisson model.
  std::vector<double> information;
  std::vector<double> squares;
  double pooled = 1;
  double pooled_squares = 1;
  // CombineReleases sets the mean of the releases' steps with the pooled information, the weight of
  // the last release in it, and the factor of a gradient's noise.
  std::vector<double> mean_step;
  double last_weight = 1;
  double mean_noise = 1;
};

// Newton steps from FirstCoefficients. A step is at most kLongestStep long in each coordinate, and
// its information is raised to kLeastInformation of the baselines' sum in each direction, as noise
// may leave less than nothing. In the last round of the question it is raised only where it has to
// be. The first release gives the share of events, or of rates each baseline's rate, as if the
// design had no effect, and the first step is taken from there.
LikelihoodSteps StepsOf(const QuestionPlan& plan,
                        const std::vector<std::span<const double>>& releases);

// Makes the coefficients those that all releases but the first lead to. Each release gives an
// estimate: a step from its own coefficients with the pooled information, of which `factor` is the
// factor. Their noise is independent, and a step of d is wrong by about d^2. So the coefficients
// are the mean of the estimates, weighted by noise and d. `noise` is the deviation of a released
// value's.
void CombineReleases(const QuestionPlan& plan, double noise, const Cholesky& factor,
                     LikelihoodSteps& steps);

// Deviation that the noise of one gradient gives each coefficient.
std::vector<double> NoiseOfSteps(const QuestionPlan& plan, double noise, const Cholesky& factor);

inline constexpr double kLongestStep = 2;
inline constexpr double kLeastInformation = 0.02;

// For a query whose model, the list of its releases, is `model`: how many there are, and the
// coefficients at which the next one is summed. A release of zeros is none yet.
struct QueryState {
  uint32_t released = 0;
  ModelCoefficients coefficients = {};
};
QueryState StateAfter(const Query& query, std::span<const float> model);

}  // namespace tacet::statistics

#endif  // TACET_STATISTICS_LIKELIHOOD_STEPS_H_
