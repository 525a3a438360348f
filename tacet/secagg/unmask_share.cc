#include "tacet/secagg/unmask_share.h"

#include <string_view>

#include "tacet/base/format_ids.h"
#include "tacet/base/status.h"
#include "tacet/crypto/aead.h"
#include "tacet/secagg/wire.h"

namespace tacet::secagg {
namespace {

constexpr std::string_view kUnmaskShare = "unmask share";

base::Bytes AssociatedData(const Attempt& attempt, const crypto::Digest& round_hash,
                           uint32_t seat) {
  base::ByteWriter writer;
  writer.Raw("tacet/1/unmask share");
  WriteAttempt(attempt, writer);
  writer.Raw(round_hash);
  writer.U32(seat);
  return writer.Take();
}

}  // namespace

base::Bytes WriteUnmaskShare(std::span<const uint16_t> mask_sums, const Attempt& attempt,
                             const crypto::Digest& round_hash, uint32_t seat,
                             const crypto::SecretBytes& result_key,
                             const crypto::SigningKey& signing_key, crypto::Entropy& entropy) {
  crypto::SecretBytes words(2 * mask_sums.size());
  for (size_t i = 0; i < mask_sums.size(); ++i) {
    words.Expose()[2 * i] = static_cast<uint8_t>(mask_sums[i]);
    words.Expose()[2 * i + 1] = static_cast<uint8_t>(mask_sums[i] >> 8);
  }
  base::ByteWriter writer;
  base::WritePreamble(base::format::kUnmaskShare, writer);
  WriteAttempt(attempt, writer);
  writer.Raw(round_hash);
  writer.U32(seat);
  writer.Blob(crypto::AeadSeal(result_key, words.Expose(),
                               AssociatedData(attempt, round_hash, seat), entropy));
  writer.Raw(signing_key.Sign(writer.bytes()));
  return writer.Take();
}

absl::StatusOr<UnmaskShare> ReadUnmaskShare(std::span<const uint8_t> bytes, const Attempt& attempt,
                                            const he::KeySharing& sharing,
                                            const Committee& committee,
                                            const crypto::SecretBytes& result_key) {
  base::ByteReader reader(bytes, kUnmaskShare);
  UnmaskShare share;
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kUnmaskShare, reader));
  TACET_ASSIGN_OR_RETURN(const Attempt got, ReadAttempt(reader));
  TACET_RETURN_IF_ERROR(CheckAttempt(got, attempt, kUnmaskShare));
  TACET_ASSIGN_OR_RETURN(share.round_hash, ReadArray<32>(reader, "round hash"));
  TACET_ASSIGN_OR_RETURN(share.seat, reader.ReadU32("seat"));
  TACET_ASSIGN_OR_RETURN(
      const auto encrypted,
      reader.ReadBlob(2 * sharing.mask_words() + crypto::kAeadOverheadBytes, "words"));
  const auto signed_part = bytes.first(bytes.size() - reader.remaining());
  TACET_ASSIGN_OR_RETURN(const auto signature,
                         ReadArray<crypto::kSignatureBytes>(reader, "signature"));
  TACET_RETURN_IF_ERROR(reader.ExpectEnd());
  if (share.seat >= committee.size() ||
      !crypto::VerifySignature(committee[share.seat].signing_key, signed_part, signature)) {
    return base::PermissionDenied("{}: not signed by the committee member that it names",
                                  kUnmaskShare);
  }
  TACET_ASSIGN_OR_RETURN(const crypto::SecretBytes words,
                         crypto::AeadOpen(result_key, encrypted,
                                          AssociatedData(attempt, share.round_hash, share.seat)));
  if (words.size() != 2 * sharing.mask_words()) {
    return base::DataLoss("{}: field `words` holds {} bytes, {} are expected", kUnmaskShare,
                          words.size(), 2 * sharing.mask_words());
  }
  if (he::KeySharing::FindNonCanonical(words.Expose()).has_value()) {
    return base::DataLoss("{}: a word is not below {}", kUnmaskShare, he::kSharePrime);
  }
  share.mask_sums = crypto::SecretVector<uint16_t>(sharing.mask_words());
  for (size_t i = 0; i < share.mask_sums.size(); ++i) {
    share.mask_sums.Expose()[i] =
        static_cast<uint16_t>(words.Expose()[2 * i] | words.Expose()[2 * i + 1] << 8);
  }
  return share;
}

size_t UnmaskShareBytes(const he::KeySharing& sharing) {
  return base::kPreambleBytes + kAttemptBytes + sizeof(crypto::Digest) + 4 + 4 +
         2 * sharing.mask_words() + crypto::kAeadOverheadBytes + crypto::kSignatureBytes;
}

}  // namespace tacet::secagg
