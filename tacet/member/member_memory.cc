#include "tacet/member/member_memory.h"

#include <string_view>

#include "tacet/base/format_ids.h"
#include "tacet/base/status.h"
#include "tacet/crypto/hash.h"
#include "tacet/secagg/wire.h"

namespace tacet::member {
namespace {

constexpr std::string_view kWhat = "member memory";
constexpr size_t kNumberBytes = 12;

// A word of an enumeration that has the values `first` to `last`.
template <typename Word>
absl::StatusOr<Word> ReadWord(base::ByteReader& reader, std::string_view field, Word first,
                              Word last) {
  TACET_ASSIGN_OR_RETURN(const uint8_t word, reader.ReadU8(field));
  if (word >= static_cast<uint8_t>(first) && word <= static_cast<uint8_t>(last)) {
    return static_cast<Word>(word);
  }
  return base::DataLoss("{}: there is no {} {}", kWhat, field, word);
}

}  // namespace

base::Bytes WriteMemberMemory(const MemberMemory& memory) {
  base::ByteWriter writer;
  base::WritePreamble(base::format::kMemberMemory, writer);
  secagg::WriteAttempt(memory.attempt, writer);
  writer.U8(static_cast<uint8_t>(memory.phase));
  writer.U32(memory.participants);
  writer.U8(static_cast<uint8_t>(memory.participation));
  writer.U8(memory.accepted ? 1 : 0);
  writer.U32(memory.participations);
  writer.U8(memory.watched ? 1 : 0);
  writer.U32(memory.watched_attempts);
  writer.U32(memory.invitations);
  writer.U32(static_cast<uint32_t>(memory.distrusted.size()));
  for (const secagg::AttemptNumber& number : memory.distrusted) {
    writer.U32(number.epoch);
    writer.U32(number.round);
    writer.U32(number.attempt);
  }
  writer.Raw(crypto::Sha256(writer.bytes()));
  return writer.Take();
}

absl::StatusOr<MemberMemory> ReadMemberMemory(std::span<const uint8_t> bytes) {
  base::ByteReader reader(bytes, kWhat);
  MemberMemory memory;
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kMemberMemory, reader));
  TACET_ASSIGN_OR_RETURN(memory.attempt, secagg::ReadAttempt(reader));
  TACET_ASSIGN_OR_RETURN(memory.phase,
                         ReadWord(reader, "phase", protocol::AttemptPhase::kCollecting,
                                  protocol::AttemptPhase::kFailed));
  TACET_ASSIGN_OR_RETURN(memory.participants, reader.ReadU32("participants"));
  TACET_ASSIGN_OR_RETURN(
      memory.participation,
      ReadWord(reader, "participation", Participation::kUndecided, Participation::kSpent));
  TACET_ASSIGN_OR_RETURN(memory.accepted, ReadWord(reader, "accepted flag", false, true));
  TACET_ASSIGN_OR_RETURN(memory.participations, reader.ReadU32("participations"));
  TACET_ASSIGN_OR_RETURN(memory.watched, ReadWord(reader, "watched flag", false, true));
  TACET_ASSIGN_OR_RETURN(memory.watched_attempts, reader.ReadU32("watched attempts"));
  TACET_ASSIGN_OR_RETURN(memory.invitations, reader.ReadU32("invitations"));
  TACET_ASSIGN_OR_RETURN(const uint32_t distrusted, reader.ReadU32("number of distrusted"));
  if (distrusted > reader.remaining() / kNumberBytes) {
    return base::DataLoss("{}: {} attempts in {} bytes", kWhat, distrusted, reader.remaining());
  }
  memory.distrusted.resize(distrusted);
  for (secagg::AttemptNumber& number : memory.distrusted) {
    TACET_ASSIGN_OR_RETURN(number.epoch, reader.ReadU32("epoch"));
    TACET_ASSIGN_OR_RETURN(number.round, reader.ReadU32("round"));
    TACET_ASSIGN_OR_RETURN(number.attempt, reader.ReadU32("attempt"));
  }
  const crypto::Digest digest = crypto::Sha256(bytes.first(bytes.size() - reader.remaining()));
  TACET_RETURN_IF_ERROR(reader.Expect(digest, "digest"));
  TACET_RETURN_IF_ERROR(reader.ExpectEnd());
  return memory;
}

}  // namespace tacet::member
