#include "tacet/secagg/partial_sum.h"

#include <string_view>

#include "tacet/base/format_ids.h"
#include "tacet/base/status.h"
#include "tacet/secagg/wire.h"

namespace tacet::secagg {
namespace {

constexpr std::string_view kPartialSum = "partial sum";
constexpr size_t kUploadBytes = 8 + sizeof(SealNonce);
// magic, version, attempt, scheme, a reserved zero, dimension, number of uploads; length
constexpr size_t kFixedBytes = 4 + 2 + kAttemptBytes + 1 + 1 + 8 + 4 + 4;

}  // namespace

base::Bytes WritePartialSum(const PartialSum& sum, const he::AggregationParams& params) {
  base::ByteWriter writer;
  writer.Reserve(kFixedBytes + kUploadBytes * sum.uploads.size() +
                 sum.aggregated_ciphertext.size());
  base::WritePreamble(base::format::kPartialSum, writer);
  WriteAttempt(sum.attempt, writer);
  WriteShape(params, writer);
  writer.U32(static_cast<uint32_t>(sum.uploads.size()));
  for (const AddedUpload& upload : sum.uploads) {
    writer.U64(upload.participant);
    writer.Raw(upload.nonce);
  }
  writer.Blob(sum.aggregated_ciphertext);
  return writer.Take();
}

absl::StatusOr<PartialSum> ReadPartialSum(std::span<const uint8_t> bytes, const Attempt& attempt,
                                          const he::AggregationParams& params) {
  base::ByteReader reader(bytes, kPartialSum);
  PartialSum sum;
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kPartialSum, reader));
  TACET_ASSIGN_OR_RETURN(sum.attempt, ReadAttempt(reader));
  TACET_RETURN_IF_ERROR(CheckAttempt(sum.attempt, attempt, kPartialSum));
  TACET_RETURN_IF_ERROR(ReadShape(params, attempt, kPartialSum, reader));
  TACET_ASSIGN_OR_RETURN(const uint32_t uploads, reader.ReadU32("uploads"));
  if (uploads > params.max_participants()) {
    return base::FailedPrecondition("{} has {} uploads, at most {} are allowed", kPartialSum,
                                    uploads, params.max_participants());
  }
  TACET_ASSIGN_OR_RETURN(const auto list, reader.ReadBytes(kUploadBytes * uploads, "uploads"));
  base::ByteReader entries(list, kPartialSum);
  for (uint32_t i = 0; i < uploads; ++i) {
    AddedUpload& upload = sum.uploads.emplace_back();
    TACET_ASSIGN_OR_RETURN(upload.participant, entries.ReadU64("participant"));
    TACET_ASSIGN_OR_RETURN(upload.nonce, ReadArray<sizeof(SealNonce)>(entries, "nonce"));
    if (i > 0 && sum.uploads[i - 1].participant >= upload.participant) {
      return base::DataLoss("{}: field `uploads` is not strictly increasing at entry {}",
                            kPartialSum, i);
    }
  }
  TACET_ASSIGN_OR_RETURN(sum.aggregated_ciphertext,
                         ReadAggregatedCiphertext(params, kPartialSum, reader));
  TACET_RETURN_IF_ERROR(reader.ExpectEnd());
  return sum;
}

size_t MaxPartialSumBytes(const he::AggregationParams& params) {
  return kFixedBytes + kUploadBytes * params.max_participants() +
         params.aggregated_ciphertext_bytes();
}

}  // namespace tacet::secagg
