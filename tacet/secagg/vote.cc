#include "tacet/secagg/vote.h"

#include <string_view>

#include "tacet/base/format_ids.h"
#include "tacet/base/status.h"
#include "tacet/secagg/wire.h"

namespace tacet::secagg {
namespace {
constexpr std::string_view kVote = "vote";
}  // namespace

base::Bytes WriteVote(const Attempt& attempt, uint32_t seat, const crypto::Digest& hash,
                      const crypto::SigningKey& key) {
  base::ByteWriter writer;
  base::WritePreamble(base::format::kVote, writer);
  WriteAttempt(attempt, writer);
  writer.U32(seat);
  writer.Raw(hash);
  writer.Raw(key.Sign(writer.bytes()));
  return writer.Take();
}

absl::StatusOr<Vote> ReadVote(std::span<const uint8_t> bytes, const Attempt& attempt,
                              const Committee& committee) {
  base::ByteReader reader(bytes, kVote);
  Vote vote;
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kVote, reader));
  TACET_ASSIGN_OR_RETURN(const Attempt got, ReadAttempt(reader));
  TACET_RETURN_IF_ERROR(CheckAttempt(got, attempt, kVote));
  TACET_ASSIGN_OR_RETURN(vote.seat, reader.ReadU32("seat"));
  TACET_ASSIGN_OR_RETURN(vote.hash, ReadArray<32>(reader, "hash"));
  const auto signed_part = bytes.first(bytes.size() - reader.remaining());
  TACET_ASSIGN_OR_RETURN(const auto signature, ReadArray<64>(reader, "signature"));
  TACET_RETURN_IF_ERROR(reader.ExpectEnd());
  if (vote.seat >= committee.size() ||
      !crypto::VerifySignature(committee[vote.seat].signing_key, signed_part, signature)) {
    return base::PermissionDenied("{}: not signed by the committee member that it names", kVote);
  }
  return vote;
}

std::set<uint32_t> SeatsVotingFor(const crypto::Digest& hash, std::span<const base::Bytes> votes,
                                  const Attempt& attempt, const Committee& committee) {
  std::set<uint32_t> agreeing;
  for (const base::Bytes& bytes : votes) {
    const absl::StatusOr<Vote> vote = ReadVote(bytes, attempt, committee);
    if (vote.ok() && vote->hash == hash) agreeing.insert(vote->seat);
  }
  return agreeing;
}

absl::Status CheckVoters(size_t voters, size_t seats, const Attempt& attempt, uint32_t needed) {
  if (voters >= needed) return absl::OkStatus();
  return base::Unavailable(
      "{} of {} committee members voted for this sum of round {} attempt {}, {} are needed", voters,
      seats, attempt.number.round, attempt.number.attempt, needed);
}

absl::Status CheckVotes(std::span<const base::Bytes> votes, const crypto::Digest& hash,
                        const Attempt& attempt, const Committee& committee, uint32_t needed) {
  return CheckVoters(SeatsVotingFor(hash, votes, attempt, committee).size(), committee.size(),
                     attempt, needed);
}

}  // namespace tacet::secagg
