#include "tacet/protocol/announcement.h"

#include <algorithm>
#include <functional>
#include <string_view>

#include "tacet/base/format_ids.h"
#include "tacet/base/status.h"
#include "tacet/secagg/wire.h"

namespace tacet::protocol {
namespace {

constexpr uint32_t kMaxListed = 1 << 20;

constexpr size_t kNumberBytes = 12;

absl::StatusOr<bool> ReadFlag(base::ByteReader& reader, std::string_view field) {
  TACET_ASSIGN_OR_RETURN(const uint8_t flag, reader.ReadU8(field));
  if (flag > 1) return base::DataLoss("announcement: `{}` is {}, expected 0 or 1", field, flag);
  return flag == 1;
}

void WriteCurrent(const AnnouncedAttempt& current, base::ByteWriter& writer) {
  secagg::WriteAttempt(current.attempt, writer);
  writer.U8(static_cast<uint8_t>(current.phase));
  writer.U8(static_cast<uint8_t>(current.invited));
  writer.U64(current.deadline);
  writer.U32(current.participants);
}

absl::StatusOr<AnnouncedAttempt> ReadCurrent(base::ByteReader& reader) {
  AnnouncedAttempt current;
  TACET_ASSIGN_OR_RETURN(current.attempt, secagg::ReadAttempt(reader));
  TACET_ASSIGN_OR_RETURN(const uint8_t phase, reader.ReadU8("phase"));
  TACET_ASSIGN_OR_RETURN(const uint8_t invited, reader.ReadU8("invited"));
  if (phase < static_cast<uint8_t>(AttemptPhase::kCollecting) ||
      phase > static_cast<uint8_t>(AttemptPhase::kFailed) ||
      invited > static_cast<uint8_t>(Invited::kOwnCoin)) {
    return base::DataLoss("announcement: there is no phase {} or invitation {}", phase, invited);
  }
  current.phase = static_cast<AttemptPhase>(phase);
  current.invited = static_cast<Invited>(invited);
  TACET_ASSIGN_OR_RETURN(current.deadline, reader.ReadU64("deadline"));
  TACET_ASSIGN_OR_RETURN(current.participants, reader.ReadU32("participants"));
  return current;
}

// A list's length, checked before memory is taken for it.
absl::StatusOr<uint32_t> ReadLength(base::ByteReader& reader, std::string_view field,
                                    size_t entry_bytes) {
  TACET_ASSIGN_OR_RETURN(const uint32_t length, reader.ReadU32(field));
  if (length <= kMaxListed && length <= reader.remaining() / entry_bytes) return length;
  return base::DataLoss("announcement: `{}` is {}, {} bytes are left", field, length,
                        reader.remaining());
}

bool IsSorted(const std::vector<secagg::Attempt>& kept) {
  const auto round = [](const secagg::Attempt& attempt) { return attempt.number.round; };
  return std::ranges::is_sorted(kept, std::less_equal(), round) &&
         std::ranges::adjacent_find(kept, {}, round) == kept.end();
}

absl::Status CheckLists(const Announcement& announcement) {
  const auto not_before = [](const secagg::AttemptNumber& a, const secagg::AttemptNumber& b) {
    return !(a < b);
  };
  if (std::ranges::adjacent_find(announcement.listed, not_before) != announcement.listed.end()) {
    return base::DataLoss("announcement: attempts are not listed in their order");
  }
  const std::vector<secagg::Attempt>& kept = announcement.kept;
  if (!IsSorted(kept) || (!kept.empty() && kept.back().number.round >= announcement.finished)) {
    return base::DataLoss("announcement: rounds that are kept are not in their order");
  }
  return absl::OkStatus();
}

}  // namespace

std::string_view AttemptPhaseName(AttemptPhase phase) {
  switch (phase) {
    case AttemptPhase::kCollecting:
      return "collecting";
    case AttemptPhase::kUnmasking:
      return "unmasking";
    case AttemptPhase::kPublished:
      return "published";
    case AttemptPhase::kFailed:
      return "failed";
  }
  return "unknown";
}

base::Bytes WriteAnnouncement(const Announcement& announcement) {
  base::ByteWriter writer;
  base::WritePreamble(base::format::kAnnouncement, writer);
  writer.Raw(announcement.manifest_hash);
  writer.U32(announcement.epoch);
  writer.U64(announcement.revision);
  writer.U32(announcement.finished);
  writer.U8(announcement.stopped ? 1 : 0);
  writer.U8(announcement.recalls ? 1 : 0);
  writer.U8(announcement.current.has_value() ? 1 : 0);
  if (announcement.current.has_value()) WriteCurrent(*announcement.current, writer);
  writer.U32(static_cast<uint32_t>(announcement.kept.size()));
  for (const secagg::Attempt& attempt : announcement.kept) secagg::WriteAttempt(attempt, writer);
  writer.U64(announcement.first_listed);
  writer.U32(static_cast<uint32_t>(announcement.listed.size()));
  for (const secagg::AttemptNumber& number : announcement.listed) {
    writer.U32(number.epoch);
    writer.U32(number.round);
    writer.U32(number.attempt);
  }
  return writer.Take();
}

absl::StatusOr<Announcement> ReadAnnouncement(std::span<const uint8_t> bytes) {
  base::ByteReader reader(bytes, "announcement");
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kAnnouncement, reader));
  Announcement announcement;
  TACET_ASSIGN_OR_RETURN(announcement.manifest_hash,
                         secagg::ReadArray<32>(reader, "manifest hash"));
  TACET_ASSIGN_OR_RETURN(announcement.epoch, reader.ReadU32("epoch"));
  TACET_ASSIGN_OR_RETURN(announcement.revision, reader.ReadU64("revision"));
  TACET_ASSIGN_OR_RETURN(announcement.finished, reader.ReadU32("finished"));
  TACET_ASSIGN_OR_RETURN(announcement.stopped, ReadFlag(reader, "stopped"));
  TACET_ASSIGN_OR_RETURN(announcement.recalls, ReadFlag(reader, "recalls"));
  TACET_ASSIGN_OR_RETURN(const bool current, ReadFlag(reader, "current"));
  if (current) {
    TACET_ASSIGN_OR_RETURN(announcement.current, ReadCurrent(reader));
  }
  TACET_ASSIGN_OR_RETURN(const uint32_t kept,
                         ReadLength(reader, "rounds kept", secagg::kAttemptBytes));
  announcement.kept.resize(kept);
  for (secagg::Attempt& attempt : announcement.kept) {
    TACET_ASSIGN_OR_RETURN(attempt, secagg::ReadAttempt(reader));
  }
  TACET_ASSIGN_OR_RETURN(announcement.first_listed, reader.ReadU64("first listed"));
  TACET_ASSIGN_OR_RETURN(const uint32_t listed, ReadLength(reader, "listed", kNumberBytes));
  announcement.listed.resize(listed);
  for (secagg::AttemptNumber& number : announcement.listed) {
    TACET_ASSIGN_OR_RETURN(number.epoch, reader.ReadU32("epoch"));
    TACET_ASSIGN_OR_RETURN(number.round, reader.ReadU32("round"));
    TACET_ASSIGN_OR_RETURN(number.attempt, reader.ReadU32("attempt"));
  }
  TACET_RETURN_IF_ERROR(reader.ExpectEnd());
  TACET_RETURN_IF_ERROR(CheckLists(announcement));
  return announcement;
}

}  // namespace tacet::protocol
