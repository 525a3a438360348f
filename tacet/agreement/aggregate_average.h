// Conversion of an aggregate to the average that the server optimiser applies.
#ifndef TACET_AGREEMENT_AGGREGATE_AVERAGE_H_
#define TACET_AGREEMENT_AGGREGATE_AVERAGE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "tacet/agreement/manifest.h"
#include "tacet/secagg/aggregate.h"

namespace tacet::agreement {

// Turns the mean over `participants` uploads into the average that is applied, which never depends
// on what was really drawn in secret. Unit record or person: their sum divided by the public
// expected batch; of a query their sum itself. Dummy uploads: divided by the share K / M of the
// uploads that is expected to hold an update. Otherwise the mean itself.
void DivideByExpected(const ManifestSpec& spec, uint32_t participants, std::span<double> mean);

// d values, ready to be applied.
std::vector<double> AverageOf(const Manifest& manifest, const secagg::Aggregate& aggregate);

}  // namespace tacet::agreement

#endif  // TACET_AGREEMENT_AGGREGATE_AVERAGE_H_
