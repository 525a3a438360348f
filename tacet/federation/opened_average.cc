#include "tacet/federation/opened_average.h"

#include "tacet/dp/mechanism_plan.h"

namespace tacet::federation {

void DivideByExpectedBatch(const ManifestSpec& spec, uint32_t participants,
                           std::span<double> mean) {
  if (spec.unit == accounting::Unit::kClient) return;
  const double factor = participants / spec.expected_batch;
  for (double& value : mean) value *= factor;
}

std::vector<double> AverageOf(const Manifest& manifest, const secagg::OpenedSum& opened) {
  std::vector<double> mean(manifest.spec().dimension);
  dp::Mechanism(manifest.terms().mechanism()).DecodeMean(opened.sums, opened.participants, mean);
  DivideByExpectedBatch(manifest.spec(), opened.participants, mean);
  return mean;
}

}  // namespace tacet::federation
