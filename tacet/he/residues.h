// Canonical residues in closed sums: reading with range checks.
#ifndef TACET_HE_RESIDUES_H_
#define TACET_HE_RESIDUES_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/status.h"

#include "tacet/base/bytes.h"

namespace tacet::he {

// Reads residues.size() little-endian u64 of `field`; DataLoss when they are cut short or one is
// not below `prime`.
absl::Status ReadResidues(base::ByteReader& reader, std::string_view field, uint64_t prime,
                          std::span<uint64_t> residues);

}  // namespace tacet::he

#endif  // TACET_HE_RESIDUES_H_
