#include "tacet/member/seat_anchor.h"

#include <string_view>

#include "tacet/base/format_ids.h"
#include "tacet/base/status.h"
#include "tacet/secagg/wire.h"

namespace tacet::member {
namespace {

constexpr std::string_view kWhat = "seat anchor";

}  // namespace

base::Bytes WriteSeatAnchor(const AnchoredWords& anchored) {
  base::ByteWriter writer;
  base::WritePreamble(base::format::kSeatAnchor, writer);
  writer.Raw(anchored.start);
  secagg::WriteAttempt(anchored.words.attempt, writer);
  writer.U8(static_cast<uint8_t>(anchored.words.progress));
  writer.Raw(anchored.words.vote);
  writer.Raw(anchored.words.share);
  writer.Raw(crypto::Sha256(writer.bytes()));
  return writer.Take();
}

absl::StatusOr<AnchoredWords> ReadSeatAnchor(std::span<const uint8_t> bytes) {
  base::ByteReader reader(bytes, kWhat);
  AnchoredWords anchored;
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kSeatAnchor, reader));
  TACET_ASSIGN_OR_RETURN(anchored.start, secagg::ReadArray<16>(reader, "start"));
  TACET_ASSIGN_OR_RETURN(anchored.words.attempt, secagg::ReadAttempt(reader));
  TACET_ASSIGN_OR_RETURN(const uint8_t progress, reader.ReadU8("progress"));
  if (progress > static_cast<uint8_t>(SeatProgress::kUnmasked)) {
    return base::DataLoss("{}: there is no progress {}", kWhat, progress);
  }
  anchored.words.progress = static_cast<SeatProgress>(progress);
  TACET_ASSIGN_OR_RETURN(anchored.words.vote, secagg::ReadArray<32>(reader, "vote"));
  TACET_ASSIGN_OR_RETURN(anchored.words.share, secagg::ReadArray<32>(reader, "share"));
  const crypto::Digest digest = crypto::Sha256(bytes.first(bytes.size() - reader.remaining()));
  TACET_RETURN_IF_ERROR(reader.Expect(digest, "digest"));
  TACET_RETURN_IF_ERROR(reader.ExpectEnd());
  return anchored;
}

}  // namespace tacet::member
