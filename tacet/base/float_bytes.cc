#include "tacet/base/float_bytes.h"

#include <cstring>

#include "tacet/base/status.h"

namespace tacet::base {

std::span<const uint8_t> FloatBytes(std::span<const float> values) {
  return {reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes()};
}

std::vector<float> FloatsOf(std::span<const uint8_t> bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

absl::StatusOr<std::vector<float>> ReadFloats(base::ByteReader& reader, uint64_t count,
                                              std::string_view field) {
  TACET_ASSIGN_OR_RETURN(const auto bytes, reader.ReadBytes(count * sizeof(float), field));
  return FloatsOf(bytes);
}

}  // namespace tacet::base
