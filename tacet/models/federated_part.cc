#include "tacet/models/federated_part.h"

#include <algorithm>
#include <utility>

#include "fmt/ranges.h"

#include "tacet/base/status.h"

namespace tacet::models {
namespace {

struct NamedRange {
  std::string name;
  ParameterRange range;
};

// Every layer with parameters, in the order of the model.
std::vector<NamedRange> LayersOf(const Architecture& architecture) {
  std::vector<NamedRange> layers;
  int convolutions = 0, denses = 0;
  for (const Layer& layer : architecture.layers()) {
    if (layer.weights == 0) continue;
    const std::string name = layer.kind == LayerKind::kConvolution
                                 ? fmt::format("conv{}", ++convolutions)
                                 : fmt::format("dense{}", ++denses);
    layers.push_back({name, {layer.first_parameter, layer.weights + layer.biases}});
  }
  return layers;
}

// The range that `name` means, if it means anything.
absl::StatusOr<NamedRange> RangeOf(const Architecture& architecture, const std::string& name) {
  std::vector<std::string> known;
  size_t index = 0;
  const std::vector<NamedRange> layers = LayersOf(architecture);
  for (const Layer& layer : architecture.layers()) {
    if (layer.weights == 0) continue;
    const NamedRange& named = layers[index++];
    known.push_back(named.name);
    if (name == named.name) return named;
    if (name == named.name + ".weights")
      return NamedRange{name, {named.range.first, layer.weights}};
    if (name == named.name + ".biases") {
      return NamedRange{name, {named.range.first + layer.weights, layer.biases}};
    }
  }
  return base::InvalidArgument(
      "federated names \"{}\", but the layers of this model are {} (each also with .weights or "
      ".biases)",
      name, fmt::join(known, ", "));
}

}  // namespace

absl::StatusOr<FederatedPart> FederatedPart::Create(const Architecture& architecture,
                                                    std::span<const std::string> names,
                                                    std::vector<float> start) {
  if (start.size() != architecture.dimension()) {
    return base::InvalidArgument("the start has {} parameters, the model {}", start.size(),
                                 architecture.dimension());
  }
  FederatedPart part;
  part.start_ = std::move(start);
  if (names.empty()) {
    part.ranges_.push_back({0, architecture.dimension()});
    part.dimension_ = architecture.dimension();
    return part;
  }
  std::vector<NamedRange> named;
  for (const std::string& name : names) {
    TACET_ASSIGN_OR_RETURN(NamedRange range, RangeOf(architecture, name));
    named.push_back(std::move(range));
  }
  std::ranges::sort(named, {}, [](const NamedRange& range) { return range.range.first; });
  for (size_t i = 0; i < named.size(); ++i) {
    if (i > 0 && named[i - 1].range.first + named[i - 1].range.count > named[i].range.first) {
      return base::InvalidArgument("federated names {} and {}, which overlap", named[i - 1].name,
                                   named[i].name);
    }
    part.names_ += (i > 0 ? "," : "") + named[i].name;
    part.ranges_.push_back(named[i].range);
    part.dimension_ += named[i].range.count;
  }
  return part;
}

std::vector<float> FederatedPart::Whole(std::span<const float> part) const {
  if (whole()) return {part.begin(), part.end()};
  std::vector<float> all = start_;
  for (const ParameterRange& range : ranges_) {
    std::ranges::copy(part.first(range.count), all.begin() + static_cast<ptrdiff_t>(range.first));
    part = part.subspan(range.count);
  }
  return all;
}

void FederatedPart::Gather(std::span<const float> all, std::span<float> part) const {
  for (const ParameterRange& range : ranges_) {
    std::ranges::copy(all.subspan(range.first, range.count), part.begin());
    part = part.subspan(range.count);
  }
}

void FederatedPart::Restore(std::span<float> all) const {
  uint64_t at = 0;
  const auto restore_up_to = [&](uint64_t end) {
    std::ranges::copy(std::span(start_).subspan(at, end - at),
                      all.begin() + static_cast<ptrdiff_t>(at));
  };
  for (const ParameterRange& range : ranges_) {
    restore_up_to(range.first);
    at = range.first + range.count;
  }
  restore_up_to(start_.size());
}

}  // namespace tacet::models
