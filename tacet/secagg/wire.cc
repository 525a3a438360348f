#include "tacet/secagg/wire.h"

namespace tacet::secagg {

void WriteShape(const he::AggregationParams& params, base::ByteWriter& writer) {
  writer.U8(static_cast<uint8_t>(params.scheme()));
  writer.U8(0);
  writer.U64(params.dimension());
}

absl::Status ReadShape(const he::AggregationParams& params, const Attempt& attempt,
                       std::string_view what, base::ByteReader& reader) {
  TACET_ASSIGN_OR_RETURN(const uint8_t scheme, reader.ReadU8("scheme"));
  if (scheme != static_cast<uint8_t>(params.scheme())) {
    return base::FailedPrecondition("{} is for scheme {}, the federation uses {} ({})", what,
                                    scheme, static_cast<int>(params.scheme()),
                                    he::SchemeName(params.scheme()));
  }
  TACET_RETURN_IF_ERROR(reader.Expect(std::array<uint8_t, 1>{0}, "reserved"));
  TACET_ASSIGN_OR_RETURN(const uint64_t dimension, reader.ReadU64("dimension"));
  if (dimension == params.dimension()) return absl::OkStatus();
  return base::FailedPrecondition("{} for round {} has dimension {}, the manifest says {}", what,
                                  attempt.number.round, dimension, params.dimension());
}

absl::StatusOr<std::span<const uint8_t>> ReadAggregatedCiphertext(
    const he::AggregationParams& params, std::string_view what, base::ByteReader& reader) {
  TACET_ASSIGN_OR_RETURN(
      const auto aggregated_ciphertext,
      reader.ReadBlob(params.aggregated_ciphertext_bytes(), "aggregated ciphertext"));
  if (aggregated_ciphertext.size() == params.aggregated_ciphertext_bytes())
    return aggregated_ciphertext;
  return base::DataLoss("{}: field `aggregated ciphertext` has {} bytes, expected {}", what,
                        aggregated_ciphertext.size(), params.aggregated_ciphertext_bytes());
}

}  // namespace tacet::secagg
