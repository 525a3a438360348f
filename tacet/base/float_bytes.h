// Parameters as little-endian binary32, as digests, checkpoints and messages hold them.
#ifndef TACET_BASE_FLOAT_BYTES_H_
#define TACET_BASE_FLOAT_BYTES_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"

namespace tacet::base {

std::span<const uint8_t> FloatBytes(std::span<const float> values);
// Back again, from a multiple of four bytes.
std::vector<float> FloatsOf(std::span<const uint8_t> bytes);

// The next `count` values; DataLoss when they are cut short.
absl::StatusOr<std::vector<float>> ReadFloats(base::ByteReader& reader, uint64_t count,
                                              std::string_view field);

}  // namespace tacet::base

#endif  // TACET_BASE_FLOAT_BYTES_H_
