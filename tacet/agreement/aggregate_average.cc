#include "tacet/agreement/aggregate_average.h"

#include <algorithm>
#include <array>

#include "tacet/dp/mechanism_plan.h"

namespace tacet::agreement {

void DivideByExpected(const ManifestSpec& spec, uint32_t participants, std::span<double> mean) {
  double factor = 1;
  if (spec.model == kQueryModel && spec.privacy.unit != accounting::Unit::kClient) {
    factor = participants;
  } else if (spec.privacy.unit != accounting::Unit::kClient) {
    factor = participants / spec.sampling.expected_batch;
  } else if (spec.sampling.dummy_uploads) {
    factor = static_cast<double>(spec.sampling.clients) / static_cast<double>(spec.sampling.cohort);
  } else {
    return;
  }
  for (double& value : mean) value *= factor;
}

void ApplyAverage(const Manifest& manifest, const secagg::Aggregate& aggregate, uint32_t round,
                  ServerOptimizer& optimizer, std::span<float> model) {
  const dp::Mechanism mechanism(manifest.terms().mechanism());
  std::array<double, 4096> block;
  for (size_t first = 0; first < model.size(); first += block.size()) {
    const size_t size = std::min(block.size(), model.size() - first);
    const std::span<double> mean = std::span(block).first(size);
    mechanism.DecodeMean(std::span(aggregate.sums).subspan(first, size), aggregate.participants,
                         mean);
    DivideByExpected(manifest.spec(), aggregate.participants, mean);
    optimizer.ApplyPart(round, first, mean, model.subspan(first, size));
  }
}

}  // namespace tacet::agreement
