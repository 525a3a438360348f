// From opened sums to the average that the server optimiser applies.
#ifndef TACET_FEDERATION_OPENED_AVERAGE_H_
#define TACET_FEDERATION_OPENED_AVERAGE_H_

#include <cstdint>
#include <span>
#include <vector>

#include "tacet/federation/manifest.h"
#include "tacet/secagg/opened_sum.h"

namespace tacet::federation {

// For unit record or person, turns the mean over `participants` sites into their sum divided by the
// public expected batch, never by what was really drawn. Nothing for unit client.
void DivideByExpectedBatch(const ManifestSpec& spec, uint32_t participants, std::span<double> mean);

// d values, ready to be applied.
std::vector<double> AverageOf(const Manifest& manifest, const secagg::OpenedSum& opened);

}  // namespace tacet::federation

#endif  // TACET_FEDERATION_OPENED_AVERAGE_H_
