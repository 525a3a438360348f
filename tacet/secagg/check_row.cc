#include "tacet/secagg/check_row.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "tacet/base/format_ids.h"
#include "tacet/base/status.h"
#include "tacet/secagg/wire.h"

namespace tacet::secagg {
namespace {

constexpr std::string_view kCheckRow = "check row";
constexpr size_t kCombinationBytes = 2 * he::kCheckWords;

}  // namespace

he::ShareCheck ShareCheckOf(const he::KeySharing& sharing, const crypto::Digest& round_hash) {
  base::ByteWriter seed;
  seed.Raw("tacet/1/share check");
  seed.Raw(round_hash);
  return he::ShareCheck(sharing, crypto::Sha256(seed.bytes()));
}

base::Bytes WriteCheckRow(const Attempt& attempt, const crypto::Digest& round_hash, uint32_t seat,
                          std::span<const he::ShareCombination> combinations,
                          const crypto::SigningKey& key) {
  base::ByteWriter writer;
  writer.Reserve(CheckRowBytes(static_cast<uint32_t>(combinations.size())));
  base::WritePreamble(base::format::kCheckRow, writer);
  WriteAttempt(attempt, writer);
  writer.Raw(round_hash);
  writer.U32(seat);
  writer.U32(static_cast<uint32_t>(kCombinationBytes * combinations.size()));
  for (const he::ShareCombination& combination : combinations) {
    for (const uint16_t word : combination) writer.U16(word);
  }
  writer.Raw(key.Sign(writer.bytes()));
  return writer.Take();
}

absl::StatusOr<CheckRow> ReadCheckRow(std::span<const uint8_t> bytes, const Attempt& attempt,
                                      const Committee& committee, uint32_t participants) {
  base::ByteReader reader(bytes, kCheckRow);
  CheckRow row;
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kCheckRow, reader));
  TACET_ASSIGN_OR_RETURN(const Attempt got, ReadAttempt(reader));
  TACET_RETURN_IF_ERROR(CheckAttempt(got, attempt, kCheckRow));
  TACET_ASSIGN_OR_RETURN(row.round_hash, ReadArray<32>(reader, "round hash"));
  TACET_ASSIGN_OR_RETURN(row.seat, reader.ReadU32("seat"));
  TACET_ASSIGN_OR_RETURN(const auto words,
                         reader.ReadBlob(kCombinationBytes * size_t{participants}, "combinations"));
  const auto signed_part = bytes.first(bytes.size() - reader.remaining());
  TACET_ASSIGN_OR_RETURN(const auto signature,
                         ReadArray<crypto::kSignatureBytes>(reader, "signature"));
  TACET_RETURN_IF_ERROR(reader.ExpectEnd());
  if (row.seat >= committee.size() ||
      !crypto::VerifySignature(committee[row.seat].signing_key, signed_part, signature)) {
    return base::PermissionDenied("{}: not signed by the committee member that it names",
                                  kCheckRow);
  }
  if (words.size() != kCombinationBytes * size_t{participants}) {
    return base::DataLoss("{}: field `combinations` has {} bytes, {} are expected", kCheckRow,
                          words.size(), kCombinationBytes * size_t{participants});
  }
  if (const auto bad = he::KeySharing::FindNonCanonical(words); bad.has_value()) {
    return base::DataLoss("{}: field `combinations` is not canonical: word {} is not below {}",
                          kCheckRow, *bad, he::kSharePrime);
  }
  row.combinations.resize(participants);
  for (size_t i = 0; i < row.combinations.size(); ++i) {
    for (size_t j = 0; j < he::kCheckWords; ++j) {
      row.combinations[i][j] = he::LoadShareWord(words, he::kCheckWords * i + j);
    }
  }
  return row;
}

size_t CheckRowBytes(uint32_t participants) {
  return base::kPreambleBytes + kAttemptBytes + sizeof(crypto::Digest) + 4 + 4 +
         kCombinationBytes * size_t{participants} + crypto::kSignatureBytes;
}

he::WrongShares FindWrongParticipants(const he::AggregationParams& params,
                                      const Committee& committee, const Attempt& attempt,
                                      const crypto::Digest& round_hash,
                                      std::span<const base::Bytes> rows,
                                      std::span<const std::span<const uint8_t>> shares) {
  std::vector<CheckRow> read;
  for (const base::Bytes& bytes : rows) {
    absl::StatusOr<CheckRow> row =
        ReadCheckRow(bytes, attempt, committee, static_cast<uint32_t>(shares.size()));
    if (!row.ok() || row->round_hash != round_hash) continue;
    if (std::ranges::find(read, row->seat, &CheckRow::seat) != read.end()) continue;
    read.push_back(*std::move(row));
  }
  std::vector<he::SeatCombinations> seats;
  for (const CheckRow& row : read) {
    seats.push_back({.seat = row.seat, .of_masks = row.combinations});
  }
  return he::FindWrongShares(params.sharing(), ShareCheckOf(params.sharing(), round_hash), seats,
                             shares);
}

}  // namespace tacet::secagg
