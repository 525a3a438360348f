// Field readers and writers shared by the messages of this folder.
#ifndef TACET_SECAGG_WIRE_H_
#define TACET_SECAGG_WIRE_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/he/aggregation.h"
#include "tacet/secagg/attempt.h"

namespace tacet::secagg {

// scheme u8 ‖ a reserved zero u8 ‖ dimension u64: what lengths follow from.
void WriteShape(const he::AggregationParams& params, base::ByteWriter& writer);
// FailedPrecondition unless it is that of `params`; `what` names the message.
absl::Status ReadShape(const he::AggregationParams& params, const Attempt& attempt,
                       std::string_view what, base::ByteReader& reader);

// An aggregated ciphertext as a blob of the one length that `params` allow; its words are not
// looked at.
absl::StatusOr<std::span<const uint8_t>> ReadAggregatedCiphertext(
    const he::AggregationParams& params, std::string_view what, base::ByteReader& reader);

template <size_t kSize>
absl::StatusOr<std::array<uint8_t, kSize>> ReadArray(base::ByteReader& reader,
                                                     std::string_view field) {
  std::array<uint8_t, kSize> value;
  TACET_ASSIGN_OR_RETURN(const auto bytes, reader.ReadBytes(kSize, field));
  std::ranges::copy(bytes, value.begin());
  return value;
}

}  // namespace tacet::secagg

#endif  // TACET_SECAGG_WIRE_H_
