// Canonical residues in aggregated ciphertexts: reading with range checks.
#ifndef TACET_HE_RESIDUES_H_
#define TACET_HE_RESIDUES_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/ring/aligned.h"

namespace tacet::he {

// The bytes of the next `count` little-endian u64 of `field`; DataLoss when they are cut short or
// one is not below `prime`.
absl::StatusOr<std::span<const uint8_t>> ReadResidues(base::ByteReader& reader,
                                                      std::string_view field, uint64_t prime,
                                                      size_t count);
// The same as words.
absl::StatusOr<ring::AlignedWords> ReadResidueWords(base::ByteReader& reader,
                                                    std::string_view field, uint64_t prime,
                                                    size_t count);

}  // namespace tacet::he

#endif  // TACET_HE_RESIDUES_H_
