// Average of an aggregate, as the server optimiser applies it.
#ifndef TACET_AGREEMENT_AGGREGATE_AVERAGE_H_
#define TACET_AGREEMENT_AGGREGATE_AVERAGE_H_

#include <cstdint>
#include <span>

#include "tacet/agreement/manifest.h"
#include "tacet/agreement/server_optimizer.h"
#include "tacet/secagg/aggregate.h"

namespace tacet::agreement {

// Turns the mean over `participants` uploads into the average that is applied, which never depends
// on what was really drawn in secret. Unit record or person: their sum divided by the public
// expected batch; of a query their sum itself. Dummy uploads: divided by the share K / M of the
// uploads that is expected to hold an update. Otherwise the mean itself.
void DivideByExpected(const ManifestSpec& spec, uint32_t participants, std::span<double> mean);

// Applies the average of `aggregate`, of round `round`, to `model`: block by block, so that the
// average is never in memory whole.
void ApplyAverage(const Manifest& manifest, const secagg::Aggregate& aggregate, uint32_t round,
                  ServerOptimizer& optimizer, std::span<float> model);

}  // namespace tacet::agreement

#endif  // TACET_AGREEMENT_AGGREGATE_AVERAGE_H_
