// Layers of an architecture in plain loops and double precision, for tests only: the reference for
// network.h.
#ifndef TACET_MODELS_REFERENCE_NETWORK_FOR_TEST_H_
#define TACET_MODELS_REFERENCE_NETWORK_FOR_TEST_H_

#include <cstdint>
#include <span>
#include <vector>

#include "tacet/models/architecture.h"

namespace tacet::models {

struct ReferenceResult {
  double loss = 0;               // mean softmax cross-entropy of the batch
  std::vector<double> scores;    // batch x classes
  std::vector<double> gradient;  // of the loss, by parameter
};

// inputs: labels.size() samples of architecture.input_size() values.
ReferenceResult RunReference(const Architecture& architecture, std::span<const double> parameters,
                             std::span<const double> inputs, std::span<const uint32_t> labels);

}  // namespace tacet::models

#endif  // TACET_MODELS_REFERENCE_NETWORK_FOR_TEST_H_
