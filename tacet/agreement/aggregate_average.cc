#include "tacet/agreement/aggregate_average.h"

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

std::vector<double> AverageOf(const Manifest& manifest, const secagg::Aggregate& aggregate) {
  std::vector<double> mean(manifest.spec().dimension);
  dp::Mechanism(manifest.terms().mechanism())
      .DecodeMean(aggregate.sums, aggregate.participants, mean);
  DivideByExpected(manifest.spec(), aggregate.participants, mean);
  return mean;
}

}  // namespace tacet::agreement
