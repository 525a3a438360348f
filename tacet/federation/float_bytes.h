// Parameters as little-endian binary32, as digests, checkpoints and messages hold them.
#ifndef TACET_FEDERATION_FLOAT_BYTES_H_
#define TACET_FEDERATION_FLOAT_BYTES_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"

namespace tacet::federation {

std::span<const uint8_t> FloatBytes(std::span<const float> values);

// The next `count` values; DataLoss when they are cut short.
absl::StatusOr<std::vector<float>> ReadFloats(base::ByteReader& reader, uint64_t count,
                                              std::string_view field);

}  // namespace tacet::federation

#endif  // TACET_FEDERATION_FLOAT_BYTES_H_
