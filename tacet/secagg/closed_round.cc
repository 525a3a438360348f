#include "tacet/secagg/closed_round.h"

#include <algorithm>

#include "tacet/base/format_ids.h"
#include "tacet/base/status.h"
#include "tacet/secagg/wire.h"

namespace tacet::secagg {
namespace {

constexpr std::string_view kClosedRound = "closed round";
constexpr std::string_view kRosterWhat = "roster";
// preamble, attempt, number of participants
constexpr size_t kHeadBytes = base::kPreambleBytes + kAttemptBytes + 4;
constexpr size_t kRosterEntryBytes = 8 + sizeof(crypto::Digest);

// Everything but the aggregated ciphertext, from the attempt on.
void WriteHead(const ClosedRound& round, base::ByteWriter& writer) {
  WriteAttempt(round.attempt, writer);
  writer.U32(static_cast<uint32_t>(round.nonces.size()));
  for (const SealNonce& nonce : round.nonces) writer.Raw(nonce);
  writer.Raw(round.roster_digest);
}

void WriteEntries(const Roster& roster, base::ByteWriter& writer) {
  writer.Raw(roster.salt);
  for (size_t i = 0; i < roster.members.size(); ++i) {
    writer.U64(roster.members[i]);
    writer.Raw(roster.lists[i]);
  }
}

}  // namespace

crypto::Digest RosterDigest(const Roster& roster) {
  base::ByteWriter writer;
  writer.Raw("tacet/2/roster");
  WriteEntries(roster, writer);
  return crypto::Sha256(writer.bytes());
}

base::Bytes WriteRoster(const Roster& roster, const Attempt& attempt) {
  base::ByteWriter writer;
  writer.Reserve(RosterBytes(static_cast<uint32_t>(roster.members.size())));
  base::WritePreamble(base::format::kRoster, writer);
  WriteAttempt(attempt, writer);
  writer.U32(static_cast<uint32_t>(roster.members.size()));
  WriteEntries(roster, writer);
  return writer.Take();
}

absl::StatusOr<Roster> ReadRoster(std::span<const uint8_t> bytes, const Attempt& attempt,
                                  uint32_t max_participants) {
  base::ByteReader reader(bytes, kRosterWhat);
  Roster roster;
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kRoster, reader));
  TACET_ASSIGN_OR_RETURN(const Attempt got, ReadAttempt(reader));
  TACET_RETURN_IF_ERROR(CheckAttempt(got, attempt, kRosterWhat));
  TACET_ASSIGN_OR_RETURN(const uint32_t participants, reader.ReadU32("participants"));
  if (participants > max_participants) {
    return base::FailedPrecondition("{} has {} participants, at most {} are allowed", kRosterWhat,
                                    participants, max_participants);
  }
  TACET_ASSIGN_OR_RETURN(roster.salt, ReadArray<16>(reader, "salt"));
  TACET_ASSIGN_OR_RETURN(auto entries,
                         reader.ReadBytes(kRosterEntryBytes * size_t{participants}, "members"));
  for (; !entries.empty(); entries = entries.subspan(kRosterEntryBytes)) {
    roster.members.push_back(base::LoadU64(entries.data()));
    std::ranges::copy(entries.subspan(8, sizeof(crypto::Digest)),
                      roster.lists.emplace_back().begin());
  }
  TACET_RETURN_IF_ERROR(reader.ExpectEnd());
  return roster;
}

size_t RosterBytes(uint32_t participants) {
  return kHeadBytes + 16 + kRosterEntryBytes * size_t{participants};
}

base::Bytes BeginClosedRound(const ClosedRound& round, size_t aggregated_ciphertext_bytes) {
  base::ByteWriter writer;
  writer.Reserve(256 + sizeof(SealNonce) * round.nonces.size() + aggregated_ciphertext_bytes);
  base::WritePreamble(base::format::kClosedRound, writer);
  WriteHead(round, writer);
  writer.U32(static_cast<uint32_t>(aggregated_ciphertext_bytes));
  base::Bytes message = writer.Take();
  message.resize(message.size() + aggregated_ciphertext_bytes);
  return message;
}

size_t ClosedRoundBytes(const he::AggregationParams& params, uint32_t participants) {
  return kHeadBytes + sizeof(SealNonce) * size_t{participants} + sizeof(crypto::Digest) + 4 +
         params.aggregated_ciphertext_bytes();
}

absl::StatusOr<ClosedRound> ReadClosedRound(std::span<const uint8_t> bytes, const Attempt& attempt,
                                            const he::AggregationParams& params,
                                            uint32_t min_participants) {
  base::ByteReader reader(bytes, kClosedRound);
  ClosedRound round;
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kClosedRound, reader));
  TACET_ASSIGN_OR_RETURN(round.attempt, ReadAttempt(reader));
  TACET_RETURN_IF_ERROR(CheckAttempt(round.attempt, attempt, kClosedRound));
  TACET_ASSIGN_OR_RETURN(const uint32_t participants, reader.ReadU32("participants"));
  if (participants < min_participants || participants > params.max_participants()) {
    return base::FailedPrecondition("{} has {} participants, {} to {} are allowed", kClosedRound,
                                    participants, min_participants, params.max_participants());
  }
  TACET_ASSIGN_OR_RETURN(auto nonces,
                         reader.ReadBytes(sizeof(SealNonce) * size_t{participants}, "nonces"));
  round.nonces.resize(participants);
  for (uint32_t i = 0; i < participants; ++i) {
    std::ranges::copy(nonces.subspan(i * sizeof(SealNonce), sizeof(SealNonce)),
                      round.nonces[i].begin());
    if (i > 0 && !(round.nonces[i - 1] < round.nonces[i])) {
      return base::DataLoss("{}: field `nonces` is not strictly increasing at entry {}",
                            kClosedRound, i);
    }
  }
  TACET_ASSIGN_OR_RETURN(round.roster_digest, ReadArray<32>(reader, "roster digest"));
  TACET_ASSIGN_OR_RETURN(const auto aggregated_ciphertext,
                         ReadAggregatedCiphertext(params, kClosedRound, reader));
  round.aggregated_ciphertext.assign(aggregated_ciphertext.begin(), aggregated_ciphertext.end());
  TACET_RETURN_IF_ERROR(reader.ExpectEnd());
  return round;
}

crypto::Digest ClosedRoundHash(const ClosedRound& round) {
  base::ByteWriter writer;
  writer.Raw("tacet/2/closed round");
  WriteHead(round, writer);
  writer.Raw(crypto::Sha256(round.aggregated_ciphertext));
  return crypto::Sha256(writer.bytes());
}

}  // namespace tacet::secagg
