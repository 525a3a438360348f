// Identifiers of the binary formats: four characters that open each of them, and its version.
#ifndef TACET_BASE_FORMAT_IDS_H_
#define TACET_BASE_FORMAT_IDS_H_

#include <array>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"

#include "tacet/base/bytes.h"

namespace tacet::base {

struct FormatId {
  std::string_view magic;  // four ASCII characters
  uint16_t version = 1;    // a program reads no other
};

// docs/formats/ describes each of them.
namespace format {
inline constexpr FormatId kAnnouncement{"TCTA", 2};
inline constexpr FormatId kLedgerAnchor{"TCTB", 2};
inline constexpr FormatId kClosedRound{"TCTC", 2};
inline constexpr FormatId kStateEntry{"TCTD"};
inline constexpr FormatId kEpochKey{"TCTE", 2};
inline constexpr FormatId kSignedManifest{"TCTF", 2};
inline constexpr FormatId kRankJob{"TCTG"};
inline constexpr FormatId kRankHello{"TCTH"};
inline constexpr FormatId kMemberKeys{"TCTI"};
inline constexpr FormatId kInvitation{"TCTJ", 2};
inline constexpr FormatId kLockedSecret{"TCTK"};
inline constexpr FormatId kLedger{"TCTL", 3};
inline constexpr FormatId kManifest{"TCTM", 3};
inline constexpr FormatId kMemberMemory{"TCTN"};
inline constexpr FormatId kRoster{"TCTO", 2};
inline constexpr FormatId kPartialSum{"TCTP", 2};
inline constexpr FormatId kEnrolmentRequest{"TCTQ", 3};
inline constexpr FormatId kMemberRequest{"TCTR"};
inline constexpr FormatId kEncryptedCheckpoint{"TCTS", 2};
inline constexpr FormatId kAttestation{"TCTT", 2};
inline constexpr FormatId kUpload{"TCTU", 2};
inline constexpr FormatId kVote{"TCTV"};
inline constexpr FormatId kRankTask{"TCTW"};
inline constexpr FormatId kCheckpoint{"TCTX", 2};
inline constexpr FormatId kSqliteStore{"TCTY"};
inline constexpr FormatId kRankReport{"TCTZ"};
inline constexpr FormatId kUnmaskShare{"TCT1"};
inline constexpr FormatId kRelayedRequests{"TCT2"};
inline constexpr FormatId kRelayedAnswers{"TCT3"};
inline constexpr FormatId kCheckRow{"TCT6"};
inline constexpr FormatId kAbstention{"TCT8"};
inline constexpr FormatId kObjection{"TCT4"};
inline constexpr FormatId kPolicySignature{"TCT5"};
inline constexpr FormatId kEnrolledSite{"TCT7"};
inline constexpr FormatId kOpeningStatement{"TCT9", 2};
inline constexpr FormatId kRowSketch{"TCT0"};
inline constexpr FormatId kSeatAnchor{"TCTs"};
inline constexpr FormatId kKeyPacket{"TCTk"};
inline constexpr FormatId kAcceptances{"TCTa"};
inline constexpr FormatId kLetter{"TCTl"};
inline constexpr FormatId kMailRequest{"TCTm"};
inline constexpr FormatId kLetterReply{"TCTr"};
}  // namespace format

inline constexpr std::array kFormatIds = {format::kAnnouncement,
                                          format::kLedgerAnchor,
                                          format::kClosedRound,
                                          format::kStateEntry,
                                          format::kEpochKey,
                                          format::kSignedManifest,
                                          format::kRankJob,
                                          format::kRankHello,
                                          format::kMemberKeys,
                                          format::kInvitation,
                                          format::kLockedSecret,
                                          format::kLedger,
                                          format::kManifest,
                                          format::kMemberMemory,
                                          format::kRoster,
                                          format::kPartialSum,
                                          format::kEnrolmentRequest,
                                          format::kMemberRequest,
                                          format::kEncryptedCheckpoint,
                                          format::kAttestation,
                                          format::kUpload,
                                          format::kVote,
                                          format::kRankTask,
                                          format::kCheckpoint,
                                          format::kSqliteStore,
                                          format::kRankReport,
                                          format::kUnmaskShare,
                                          format::kCheckRow,
                                          format::kPolicySignature,
                                          format::kEnrolledSite,
                                          format::kOpeningStatement,
                                          format::kRowSketch,
                                          format::kRelayedRequests,
                                          format::kRelayedAnswers,
                                          format::kAbstention,
                                          format::kObjection,
                                          format::kSeatAnchor,
                                          format::kKeyPacket,
                                          format::kAcceptances,
                                          format::kLetter,
                                          format::kMailRequest,
                                          format::kLetterReply};

inline constexpr size_t kPreambleBytes = 6;

consteval bool FormatIdsAreUnique() {
  for (size_t i = 0; i < kFormatIds.size(); ++i) {
    if (kFormatIds[i].magic.size() != 4) return false;
    for (size_t j = 0; j < i; ++j) {
      if (kFormatIds[i].magic == kFormatIds[j].magic) return false;
    }
  }
  return true;
}
static_assert(FormatIdsAreUnique());

// magic ‖ version u16.
void WritePreamble(const FormatId& id, ByteWriter& writer);
// DataLoss when another format or version is read.
absl::Status ReadPreamble(const FormatId& id, ByteReader& reader);

}  // namespace tacet::base

#endif  // TACET_BASE_FORMAT_IDS_H_
