// Deviances of a model from its releases.
#ifndef TACET_STATISTICS_LIKELIHOOD_DEVIANCE_H_
#define TACET_STATISTICS_LIKELIHOOD_DEVIANCE_H_

#include "tacet/statistics/answer_parts.h"
#include "tacet/statistics/cholesky.h"
#include "tacet/statistics/likelihood_steps.h"

namespace tacet::statistics {

// About these rows, so the error is the noise's.
struct NoisedDeviance {
  double value = 0;
  double error = 0;
};

// For a baseline without effects of the design. `n` is the noised number of rows.
NoisedDeviance NullDeviance(const Measurements& measured, double n);

// For the coefficients after the last step: the null deviance less twice the integral of the
// gradient along the steps. Each step but the last is a cubic through the gradients and
// informations of its ends (Hermite); the last is Newton's parabola. `factor` is that of the pooled
// information. The noise of a gradient is in its own step, so the integral has an expected part of
// the noise's square, which is taken off.
NoisedDeviance DevianceOf(const Measurements& measured, const LikelihoodSteps& steps,
                          const Cholesky& factor, double n);

}  // namespace tacet::statistics

#endif  // TACET_STATISTICS_LIKELIHOOD_DEVIANCE_H_
