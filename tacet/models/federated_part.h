// The part of a model that a federation trains together; the rest keeps its initial values.
#ifndef TACET_MODELS_FEDERATED_PART_H_
#define TACET_MODELS_FEDERATED_PART_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/models/architecture.h"

namespace tacet::models {

// Parameters [first, first + count) of a model.
struct ParameterRange {
  uint64_t first = 0;
  uint64_t count = 0;
};

// Layers with parameters are named by kind and number: conv1, conv2, ..., dense1, dense2, ...; with
// ".weights" or ".biases" a name means these alone.
class FederatedPart {
 public:
  // `start` holds all parameters at the start. No names: the whole model. InvalidArgument for a
  // name that the model does not have (it says which there are), one named twice, also in parts, or
  // a start that does not fit the model.
  static absl::StatusOr<FederatedPart> Create(const Architecture& architecture,
                                              std::span<const std::string> names,
                                              std::vector<float> start);

  bool whole() const { return names_.empty(); }
  uint64_t dimension() const { return dimension_; }  // of the part
  // Names of the part, in the order of the model, with "," between; empty for the whole model.
  const std::string& names() const { return names_; }
  // All parameters at the start.
  const std::vector<float>& start() const { return start_; }

  // All parameters: `part` (dimension() values) where the part is, the start elsewhere.
  std::vector<float> Whole(std::span<const float> part) const;
  // The part of `whole`.
  void Gather(std::span<const float> whole, std::span<float> part) const;
  // Gives everything but the part its values at the start.
  void Restore(std::span<float> whole) const;

 private:
  FederatedPart() = default;

  std::vector<ParameterRange> ranges_;  // increasing, apart from each other
  std::string names_;
  std::vector<float> start_;
  uint64_t dimension_ = 0;
};

}  // namespace tacet::models

#endif  // TACET_MODELS_FEDERATED_PART_H_
