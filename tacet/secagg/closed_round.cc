#include "tacet/secagg/closed_round.h"

#include <algorithm>

#include "tacet/base/format_ids.h"
#include "tacet/base/status.h"
#include "tacet/secagg/wire.h"

namespace tacet::secagg {
namespace {

constexpr std::string_view kWhat = "closed round";

// Everything but the closed sum, from the attempt to its length.
void WriteBody(const ClosedRound& round, size_t closed_sum_bytes, base::ByteWriter& writer) {
  WriteAttempt(round.attempt, writer);
  writer.U32(static_cast<uint32_t>(round.nonces.size()));
  for (const SealNonce& nonce : round.nonces) writer.Raw(nonce);
  WriteTag(round.tag_sum, writer);
  writer.U32(static_cast<uint32_t>(closed_sum_bytes));
}

}  // namespace

base::Bytes BeginClosedRound(const ClosedRound& round, size_t closed_sum_bytes) {
  base::ByteWriter writer;
  writer.Reserve(256 + sizeof(SealNonce) * round.nonces.size() + closed_sum_bytes);
  base::WritePreamble(base::format::kClosedRound, writer);
  WriteBody(round, closed_sum_bytes, writer);
  base::Bytes message = writer.Take();
  message.resize(message.size() + closed_sum_bytes);
  return message;
}

base::Bytes WriteClosedRound(const ClosedRound& round) {
  const size_t size = round.closed_sum.size();
  base::Bytes message = BeginClosedRound(round, size);
  std::ranges::copy(round.closed_sum, ClosedSumOf(message, size).begin());
  return message;
}

absl::StatusOr<ClosedRound> ReadClosedRound(std::span<const uint8_t> bytes, const Attempt& attempt,
                                            const he::AggregationParams& params,
                                            uint32_t min_participants) {
  base::ByteReader reader(bytes, kWhat);
  ClosedRound round;
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kClosedRound, reader));
  TACET_ASSIGN_OR_RETURN(round.attempt, ReadAttempt(reader));
  TACET_RETURN_IF_ERROR(CheckAttempt(round.attempt, attempt, kWhat));
  TACET_ASSIGN_OR_RETURN(const uint32_t participants, reader.ReadU32("participants"));
  if (participants < min_participants || participants > params.max_participants()) {
    return base::FailedPrecondition("{} has {} participants, {} to {} are allowed", kWhat,
                                    participants, min_participants, params.max_participants());
  }
  TACET_ASSIGN_OR_RETURN(auto nonces,
                         reader.ReadBytes(sizeof(SealNonce) * size_t{participants}, "nonces"));
  round.nonces.resize(participants);
  for (uint32_t i = 0; i < participants; ++i) {
    std::ranges::copy(nonces.subspan(i * sizeof(SealNonce), sizeof(SealNonce)),
                      round.nonces[i].begin());
    if (i > 0 && !(round.nonces[i - 1] < round.nonces[i])) {
      return base::DataLoss("{}: field `nonces` is not strictly increasing at entry {}", kWhat, i);
    }
  }
  TACET_ASSIGN_OR_RETURN(round.tag_sum, ReadTag(reader, "tag sum"));
  TACET_ASSIGN_OR_RETURN(const auto closed_sum, ReadClosedSum(params, kWhat, reader));
  round.closed_sum.assign(closed_sum.begin(), closed_sum.end());
  TACET_RETURN_IF_ERROR(reader.ExpectEnd());
  return round;
}

crypto::Digest ClosedRoundHash(const ClosedRound& round) {
  base::ByteWriter writer;
  writer.Raw("tacet/1/closed round");
  WriteBody(round, round.closed_sum.size(), writer);
  crypto::Sha256Hasher hasher;
  hasher.Update(writer.bytes());
  hasher.Update(round.closed_sum);
  return hasher.Finish();
}

}  // namespace tacet::secagg
