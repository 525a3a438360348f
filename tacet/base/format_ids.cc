#include "tacet/base/format_ids.h"

#include <algorithm>
#include <array>

#include "tacet/base/status.h"

namespace tacet::base {
namespace {

// Magics of what programs say to each other, or hand to each other's people.
constexpr std::array kSaid = {format::kAnnouncement,
                              format::kAttestation,
                              format::kAbstention,
                              format::kCheckRow,
                              format::kClosedRound,
                              format::kEncryptedCheckpoint,
                              format::kEnrolmentRequest,
                              format::kKeyPacket,
                              format::kLetter,
                              format::kLetterReply,
                              format::kMailRequest,
                              format::kMemberRequest,
                              format::kObjection,
                              format::kOpeningStatement,
                              format::kPartialSum,
                              format::kRankHello,
                              format::kRankJob,
                              format::kRankReport,
                              format::kRankTask,
                              format::kRelayedAnswers,
                              format::kRelayedRequests,
                              format::kRoster,
                              format::kUnmaskShare,
                              format::kUpload,
                              format::kVote};

// A charge stays spent, so nobody begins a ledger again.
std::string_view RemedyOf(const FormatId& id) {
  const bool is_said = std::ranges::find(kSaid, id.magic, &FormatId::magic) != kSaid.end();
  if (is_said) return "Use the same version of tacet on both sides";
  const bool is_ledger =
      id.magic == format::kLedger.magic || id.magic == format::kLedgerAnchor.magic;
  return is_ledger ? "Keep it: what it charged stays spent. The version that wrote it shows how "
                     "much (`tacet ledger show`). A ledger of this version needs another folder, "
                     "and limits of the officer that are lower by what was spent"
                   : "Finish with the version that wrote it what that began, or begin again in an "
                     "empty folder";
}

}  // namespace

void WritePreamble(const FormatId& id, ByteWriter& writer) {
  writer.Raw(id.magic);
  writer.U16(id.version);
}

absl::Status ReadPreamble(const FormatId& id, ByteReader& reader) {
  TACET_RETURN_IF_ERROR(reader.Expect(AsBytes(id.magic), "magic"));
  TACET_ASSIGN_OR_RETURN(const uint16_t version, reader.ReadU16("version"));
  if (version != id.version) {
    return DataLoss("{}: field `version` is {}, this program reads version {}. {}", reader.what(),
                    version, id.version, RemedyOf(id));
  }
  return absl::OkStatus();
}

}  // namespace tacet::base
