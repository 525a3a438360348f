#include "tacet/models/softmax.h"

#include <algorithm>
#include <cmath>

namespace tacet::models {
namespace {

// log sum exp(scores), safe against overflow.
double LogSumExp(std::span<const float> scores) {
  const double largest = *std::ranges::max_element(scores);
  double sum = 0;
  for (const float score : scores) sum += std::exp(static_cast<double>(score) - largest);
  return largest + std::log(sum);
}

}  // namespace

double CrossEntropy(std::span<const float> scores, uint32_t label) {
  return LogSumExp(scores) - static_cast<double>(scores[label]);
}

void CrossEntropyGradient(std::span<const float> scores, uint32_t label, double weight,
                          std::span<float> gradient) {
  const double log_sum = LogSumExp(scores);
  for (size_t i = 0; i < scores.size(); ++i) {
    const double probability = std::exp(static_cast<double>(scores[i]) - log_sum);
    gradient[i] = static_cast<float>(weight * (probability - (i == label ? 1.0 : 0.0)));
  }
}

uint32_t BestClass(std::span<const float> scores) {
  return static_cast<uint32_t>(std::ranges::max_element(scores) - scores.begin());
}

}  // namespace tacet::models
