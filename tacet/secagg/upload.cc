#include "tacet/secagg/upload.h"

#include "tacet/base/format_ids.h"
#include "tacet/base/status.h"
#include "tacet/secagg/checksum.h"
#include "tacet/secagg/wire.h"

namespace tacet::secagg {
namespace {

constexpr std::string_view kUpload = "upload";
constexpr size_t kChecksumBytes = 16;
// magic, version, attempt, scheme, a reserved zero, dimension, nonce, length of the ciphertext
constexpr size_t kHeaderBytes = 4 + 2 + kAttemptBytes + 1 + 1 + 8 + 16 + 4;
static_assert(kHeaderBytes % 4 == 0, "the checksum's words are those of header and ciphertext");

}  // namespace

base::Bytes TagContext(const Attempt& attempt) {
  base::ByteWriter context;
  WriteAttempt(attempt, context);
  return context.Take();
}

base::Bytes BeginUpload(const Attempt& attempt, const he::AggregationParams& params,
                        const SealNonce& nonce) {
  base::ByteWriter writer;
  writer.Reserve(UploadBytes(params));
  base::WritePreamble(base::format::kUpload, writer);
  WriteAttempt(attempt, writer);
  WriteShape(params, writer);
  writer.Raw(nonce);
  writer.U32(static_cast<uint32_t>(params.ciphertext_bytes()));
  base::Bytes upload = writer.Take();
  upload.resize(UploadBytes(params));
  return upload;
}

std::span<uint8_t> CiphertextOf(base::Bytes& upload) {
  return std::span(upload).subspan(kHeaderBytes, upload.size() - kHeaderBytes - kChecksumBytes);
}

void FinishUpload(base::Bytes& upload) {
  const std::span<uint8_t> checksum = std::span(upload).last(kChecksumBytes);
  const auto words = Checksum(std::span(upload).first(upload.size() - kChecksumBytes));
  base::StoreU64(words[0], checksum.data());
  base::StoreU64(words[1], checksum.data() + 8);
}

absl::StatusOr<UploadView> ReadUploadFields(std::span<const uint8_t> bytes, const Attempt& attempt,
                                            const he::AggregationParams& params) {
  if (bytes.size() != UploadBytes(params)) {
    return base::DataLoss("{} has {} bytes, uploads of this federation have {}", kUpload,
                          bytes.size(), UploadBytes(params));
  }
  base::ByteReader reader(bytes, kUpload);
  UploadView upload;
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kUpload, reader));
  TACET_ASSIGN_OR_RETURN(upload.attempt, ReadAttempt(reader));
  TACET_RETURN_IF_ERROR(CheckAttempt(upload.attempt, attempt, kUpload));
  TACET_RETURN_IF_ERROR(ReadShape(params, attempt, kUpload, reader));
  upload.scheme = params.scheme();
  upload.dimension = params.dimension();
  TACET_ASSIGN_OR_RETURN(upload.nonce, ReadArray<16>(reader, "nonce"));
  TACET_ASSIGN_OR_RETURN(upload.ciphertext,
                         reader.ReadBlob(params.ciphertext_bytes(), "ciphertext"));
  for (uint64_t& word : upload.checksum) {
    TACET_ASSIGN_OR_RETURN(word, reader.ReadU64("checksum"));
  }
  TACET_RETURN_IF_ERROR(reader.ExpectEnd());
  // Header and ciphertext are whole words, so the checksum is that of both, one after the other.
  const uint64_t ciphertext_words = params.ciphertext_bytes() / 4;
  const auto [header_first, header_weighted] = Checksum(bytes.first(kHeaderBytes));
  upload.ciphertext_sums = he::WithoutFirst(
      {.sum = upload.checksum[0] - kHeaderBytes / 4 - ciphertext_words,
       .weighted = upload.checksum[1]},
      {.sum = header_first - kHeaderBytes / 4, .weighted = header_weighted}, ciphertext_words);
  return upload;
}

absl::Status CheckCiphertextWords(const UploadView& upload) {
  if (he::SumWords(upload.ciphertext) == upload.ciphertext_sums) return absl::OkStatus();
  return base::DataLoss("{}: field `checksum` does not fit the content: damaged on the way",
                        kUpload);
}

size_t SharesOffset(const he::AggregationParams& params) {
  return kHeaderBytes + params.ciphertext_bytes() - params.share_bytes();
}

size_t UploadBytes(const he::AggregationParams& params) {
  return kHeaderBytes + params.ciphertext_bytes() + kChecksumBytes;
}

}  // namespace tacet::secagg
