// Softmax cross-entropy of scores.
#ifndef TACET_MODELS_SOFTMAX_H_
#define TACET_MODELS_SOFTMAX_H_

#include <cstdint>
#include <span>

namespace tacet::models {

// -log softmax(scores)[label] in nats; label < scores.size().
double CrossEntropy(std::span<const float> scores, uint32_t label);

// gradient = weight * (softmax(scores) - [class == label]), as long as `scores`.
void CrossEntropyGradient(std::span<const float> scores, uint32_t label, double weight,
                          std::span<float> gradient);

// The class with the largest score, the first of equals. scores is not empty.
uint32_t BestClass(std::span<const float> scores);

}  // namespace tacet::models

#endif  // TACET_MODELS_SOFTMAX_H_
