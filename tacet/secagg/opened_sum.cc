#include "tacet/secagg/opened_sum.h"

#include <algorithm>
#include <utility>

#include "tacet/base/format_ids.h"
#include "tacet/base/status.h"
#include "tacet/crypto/aead.h"
#include "tacet/secagg/wire.h"

namespace tacet::secagg {
namespace {

constexpr std::string_view kWhat = "opened sum";
constexpr size_t kSignatureBytes = sizeof(crypto::Signature);

size_t PackedBytes(uint64_t count, uint32_t bits) { return (count * bits + 7) / 8; }

base::Bytes AssociatedData(he::Scheme scheme, const Attempt& attempt,
                           const crypto::Digest& round_hash, uint64_t opener) {
  base::ByteWriter writer;
  writer.Raw("tacet/1/opened sum");
  writer.U8(static_cast<uint8_t>(scheme));
  WriteAttempt(attempt, writer);
  writer.Raw(round_hash);
  writer.U64(opener);
  return writer.Take();
}

}  // namespace

CentredPacker::CentredPacker(uint64_t count, uint64_t centre, uint32_t bits)
    : centre_(centre), bits_(bits) {
  packed_.reserve(PackedBytes(count, bits));
}

void CentredPacker::Append(std::span<const uint64_t> sums) {
  const uint64_t mask = (uint64_t{1} << bits_) - 1;
  for (const uint64_t sum : sums) {
    pending_ |= static_cast<unsigned __int128>((sum - centre_) & mask) << pending_bits_;
    pending_bits_ += bits_;
    while (pending_bits_ >= 8) {
      packed_.push_back(static_cast<uint8_t>(pending_));
      pending_ >>= 8;
      pending_bits_ -= 8;
    }
  }
}

base::Bytes CentredPacker::Finish() {
  if (pending_bits_ > 0) packed_.push_back(static_cast<uint8_t>(pending_));
  return std::move(packed_);
}

base::Bytes PackCentred(std::span<const uint64_t> sums, uint64_t centre, uint32_t bits) {
  CentredPacker packer(sums.size(), centre, bits);
  packer.Append(sums);
  return packer.Finish();
}

absl::StatusOr<std::vector<uint64_t>> UnpackCentred(std::span<const uint8_t> packed, uint64_t count,
                                                    uint64_t centre, uint32_t bits) {
  if (packed.size() != PackedBytes(count, bits)) {
    return base::DataLoss("{}: field `sums` has {} bytes, {} values of {} bits need {}", kWhat,
                          packed.size(), count, bits, PackedBytes(count, bits));
  }
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  const uint64_t sign = uint64_t{1} << (bits - 1);
  std::vector<uint64_t> sums(count);
  unsigned __int128 pending = 0;
  uint32_t pending_bits = 0;
  size_t next = 0;
  for (uint64_t& sum : sums) {
    while (pending_bits < bits) {
      pending |= static_cast<unsigned __int128>(packed[next++]) << pending_bits;
      pending_bits += 8;
    }
    const uint64_t low = static_cast<uint64_t>(pending) & mask;
    const int64_t centred = static_cast<int64_t>(low ^ sign) - static_cast<int64_t>(sign);
    if (centred < 0 && static_cast<uint64_t>(-centred) > centre) {
      return base::DataLoss("{}: a value in field `sums` is negative", kWhat);
    }
    sum = centre + static_cast<uint64_t>(centred);
    pending >>= bits;
    pending_bits -= bits;
  }
  if (pending != 0) return base::DataLoss("{}: field `sums` has bits set after its end", kWhat);
  return sums;
}

base::Bytes WriteOpenedSum(const OpenedSum& opened, const Attempt& attempt,
                           const he::AggregationParams& params, const crypto::Digest& round_hash,
                           uint64_t opener, const crypto::SecretBytes& result_key,
                           const crypto::SigningKey& signing_key, crypto::Entropy& entropy) {
  const uint64_t centre = uint64_t{opened.participants} * params.offset();
  return WritePackedSum({.participants = opened.participants,
                         .packed = PackCentred(opened.sums, centre, params.plaintext_bits())},
                        attempt, params, round_hash, opener, result_key, signing_key, entropy);
}

base::Bytes WritePackedSum(const PackedSum& sum, const Attempt& attempt,
                           const he::AggregationParams& params, const crypto::Digest& round_hash,
                           uint64_t opener, const crypto::SecretBytes& result_key,
                           const crypto::SigningKey& signing_key, crypto::Entropy& entropy) {
  base::ByteWriter writer;
  base::WritePreamble(base::format::kOpenedSum, writer);
  WriteAttempt(attempt, writer);
  writer.Raw(round_hash);
  writer.U64(opener);
  writer.U32(sum.participants);
  writer.Blob(crypto::AeadSeal(result_key, sum.packed,
                               AssociatedData(params.scheme(), attempt, round_hash, opener),
                               entropy));
  writer.Raw(signing_key.Sign(writer.bytes()));
  return writer.Take();
}

size_t OpenedSumBytes(const he::AggregationParams& params) {
  // magic, version, attempt, round hash, opener, participants, length
  return 4 + 2 + kAttemptBytes + sizeof(crypto::Digest) + 8 + 4 + 4 +
         PackedBytes(params.dimension(), params.plaintext_bits()) + crypto::kAeadOverheadBytes +
         kSignatureBytes;
}

absl::StatusOr<OpenedSumMessage> ReadOpenedSum(std::span<const uint8_t> bytes,
                                               const Attempt& attempt,
                                               const he::AggregationParams& params,
                                               std::span<const OpenerIdentity> openers,
                                               const crypto::SecretBytes& result_key) {
  base::ByteReader reader(bytes, kWhat);
  OpenedSumMessage message;
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kOpenedSum, reader));
  TACET_ASSIGN_OR_RETURN(const Attempt got, ReadAttempt(reader));
  TACET_RETURN_IF_ERROR(CheckAttempt(got, attempt, kWhat));
  TACET_ASSIGN_OR_RETURN(message.round_hash, ReadArray<32>(reader, "round hash"));
  TACET_ASSIGN_OR_RETURN(message.opener, reader.ReadU64("opener"));
  const auto identity = std::ranges::find(openers, message.opener, &OpenerIdentity::member);
  if (identity == openers.end()) {
    return base::PermissionDenied("{}: field `opener` names no opener of round {} attempt {}",
                                  kWhat, attempt.number.round, attempt.number.attempt);
  }
  TACET_ASSIGN_OR_RETURN(message.opened.participants, reader.ReadU32("participants"));
  if (message.opened.participants == 0 || message.opened.participants > params.max_participants()) {
    return base::DataLoss("{}: field `participants` is {}, 1 to {} are allowed", kWhat,
                          message.opened.participants, params.max_participants());
  }
  const size_t sealed_bytes =
      PackedBytes(params.dimension(), params.plaintext_bits()) + crypto::kAeadOverheadBytes;
  TACET_ASSIGN_OR_RETURN(const auto sealed, reader.ReadBlob(sealed_bytes, "sums"));
  TACET_ASSIGN_OR_RETURN(const auto signature, ReadArray<kSignatureBytes>(reader, "signature"));
  TACET_RETURN_IF_ERROR(reader.ExpectEnd());
  if (!crypto::VerifySignature(identity->key, bytes.first(bytes.size() - kSignatureBytes),
                               signature)) {
    return base::PermissionDenied("{}: field `signature` is not that of its opener", kWhat);
  }
  TACET_ASSIGN_OR_RETURN(const crypto::SecretBytes packed,
                         crypto::AeadOpen(result_key, sealed,
                                          AssociatedData(params.scheme(), attempt,
                                                         message.round_hash, message.opener)));
  TACET_ASSIGN_OR_RETURN(message.opened.sums,
                         UnpackCentred(packed.Expose(), params.dimension(),
                                       uint64_t{message.opened.participants} * params.offset(),
                                       params.plaintext_bits()));
  return message;
}

}  // namespace tacet::secagg
