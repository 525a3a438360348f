#include "tacet/secagg/opener.h"

#include <algorithm>
#include <set>
#include <utility>

#include "tacet/base/format_ids.h"
#include "tacet/base/status.h"
#include "tacet/he/homomorphic_mac.h"
#include "tacet/secagg/wire.h"

namespace tacet::secagg {
namespace {

constexpr std::string_view kWhat = "vote";
constexpr std::string_view kVoteStep = "vote";
constexpr std::string_view kResultStep = "result";

struct Vote {
  uint64_t member = 0;
  crypto::Digest hash{};
};

absl::StatusOr<Vote> ReadVote(std::span<const uint8_t> bytes, const Attempt& attempt,
                              std::span<const OpenerIdentity> openers) {
  base::ByteReader reader(bytes, kWhat);
  Vote vote;
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kVote, reader));
  TACET_ASSIGN_OR_RETURN(const Attempt got, ReadAttempt(reader));
  TACET_RETURN_IF_ERROR(CheckAttempt(got, attempt, kWhat));
  TACET_ASSIGN_OR_RETURN(vote.member, reader.ReadU64("member"));
  TACET_ASSIGN_OR_RETURN(vote.hash, ReadArray<32>(reader, "hash"));
  const auto signed_part = bytes.first(bytes.size() - reader.remaining());
  TACET_ASSIGN_OR_RETURN(const auto signature, ReadArray<64>(reader, "signature"));
  TACET_RETURN_IF_ERROR(reader.ExpectEnd());
  const auto identity = std::ranges::find(openers, vote.member, &OpenerIdentity::member);
  if (identity == openers.end() ||
      !crypto::VerifySignature(identity->key, signed_part, signature)) {
    return base::PermissionDenied("{}: not signed by an opener of this attempt", kWhat);
  }
  return vote;
}

}  // namespace

base::Bytes WriteVote(const Attempt& attempt, uint64_t member, const crypto::Digest& hash,
                      const crypto::SigningKey& key) {
  base::ByteWriter writer;
  base::WritePreamble(base::format::kVote, writer);
  WriteAttempt(attempt, writer);
  writer.U64(member);
  writer.Raw(hash);
  writer.Raw(key.Sign(writer.bytes()));
  return writer.Take();
}

absl::Status RefusedForServer() { return base::PermissionDenied("refused"); }

Opener::Opener(const Terms& terms, const Attempt& attempt, AttemptKeys keys,
               std::vector<OpenerIdentity> openers, uint64_t self,
               const crypto::SigningKey& signing_key, OpenerJournal& journal,
               crypto::Entropy& entropy)
    : terms_(terms),
      attempt_(attempt),
      keys_(std::move(keys)),
      openers_(std::move(openers)),
      self_(self),
      signing_key_(signing_key),
      journal_(journal),
      entropy_(entropy) {}

absl::StatusOr<std::unique_ptr<Opener>> Opener::Create(
    const Terms& terms, const Attempt& attempt, AttemptKeys keys,
    std::vector<OpenerIdentity> openers, uint64_t self, const crypto::SigningKey& signing_key,
    OpenerJournal& journal, crypto::Entropy& entropy) {
  if (std::ranges::find(openers, self, &OpenerIdentity::member) == openers.end()) {
    return base::InvalidArgument("this member is not an opener of round {} attempt {}",
                                 attempt.number.round, attempt.number.attempt);
  }
  return std::unique_ptr<Opener>(new Opener(terms, attempt, std::move(keys), std::move(openers),
                                            self, signing_key, journal, entropy));
}

absl::StatusOr<base::Bytes> Opener::Review(std::span<const uint8_t> closed_round) {
  if (const auto* refused = std::get_if<Refused>(&state_)) return refused->reason;
  TACET_ASSIGN_OR_RETURN(
      ClosedRound round,
      ReadClosedRound(closed_round, attempt_, terms_.aggregation(), terms_.min_participants()));
  const crypto::Digest hash = ClosedRoundHash(round);
  const auto again = [&](const crypto::Digest& voted_hash,
                         const base::Bytes& vote) -> absl::StatusOr<base::Bytes> {
    if (hash == voted_hash) return vote;
    return base::FailedPrecondition(
        "a second, different sum for round {} attempt {}: this member has signed another one",
        attempt_.number.round, attempt_.number.attempt);
  };
  if (const auto* voted = std::get_if<Voted>(&state_)) return again(voted->hash, voted->vote);
  if (const auto* opened = std::get_if<Opened>(&state_)) return again(opened->hash, opened->vote);

  base::Bytes vote = WriteVote(attempt_, self_, hash, signing_key_);
  absl::StatusOr<base::Bytes> recorded = journal_.Find(attempt_, kVoteStep);
  if (recorded.ok() && *recorded != vote) {  // Ed25519 is deterministic: another hash was signed
    return base::FailedPrecondition(
        "a second, different sum for round {} attempt {}: before a restart, this member signed "
        "another one",
        attempt_.number.round, attempt_.number.attempt);
  }
  if (!recorded.ok()) {
    if (recorded.status().code() != absl::StatusCode::kNotFound) return recorded.status();
    TACET_RETURN_IF_ERROR(journal_.Record(attempt_, kVoteStep, vote));
  }
  state_ = Voted{.round = std::move(round), .hash = hash, .vote = vote};
  return vote;
}

absl::StatusOr<base::Bytes> Opener::Open(std::span<const base::Bytes> votes) {
  if (const auto* refused = std::get_if<Refused>(&state_)) return refused->reason;
  if (const auto* opened = std::get_if<Opened>(&state_)) return opened->result;
  const auto* voted = std::get_if<Voted>(&state_);
  if (voted == nullptr) {
    return base::FailedPrecondition("round {} attempt {} was not reviewed by this member yet",
                                    attempt_.number.round, attempt_.number.attempt);
  }
  TACET_RETURN_IF_ERROR(CheckMajority(voted->hash, votes));
  absl::StatusOr<base::Bytes> result = journal_.Find(attempt_, kResultStep);
  if (!result.ok()) {
    if (result.status().code() != absl::StatusCode::kNotFound) return result.status();
    absl::StatusOr<PackedSum> sum = DecryptAndVerify(voted->round);
    if (!sum.ok()) {
      state_ = Refused{sum.status()};
      return sum.status();
    }
    result = WritePackedSum(*sum, attempt_, terms_.aggregation(), voted->hash, self_,
                            keys_.result_key, signing_key_, entropy_);
    TACET_RETURN_IF_ERROR(journal_.Record(attempt_, kResultStep, *result));
  }
  state_ = Opened{.hash = voted->hash, .vote = voted->vote, .result = *result};
  return *result;
}

absl::Status Opener::CheckMajority(const crypto::Digest& hash,
                                   std::span<const base::Bytes> votes) const {
  std::set<uint64_t> agreeing = {self_};
  for (const base::Bytes& bytes : votes) {
    const absl::StatusOr<Vote> vote = ReadVote(bytes, attempt_, openers_);
    if (vote.ok() && vote->hash == hash) agreeing.insert(vote->member);
  }
  if (agreeing.size() >= Majority(openers_.size())) return absl::OkStatus();
  return base::FailedPrecondition(
      "{} of {} openers of round {} attempt {} signed this sum, {} are needed", agreeing.size(),
      openers_.size(), attempt_.number.round, attempt_.number.attempt, Majority(openers_.size()));
}

absl::StatusOr<PackedSum> Opener::DecryptAndVerify(const ClosedRound& round) const {
  const he::AggregationParams& params = terms_.aggregation();
  const auto participants = static_cast<uint32_t>(round.nonces.size());
  const crypto::Digest public_seed = PublicSeed(attempt_);
  TACET_ASSIGN_OR_RETURN(const auto decryptor,
                         he::NewDecryptor(params, public_seed, keys_.group_secret));
  TACET_ASSIGN_OR_RETURN(const auto decryption, decryptor->Begin(round.closed_sum, participants));
  const he::HomomorphicMacKey tag_key(keys_.tag_key, terms_.dimension(), TagContext(attempt_));
  he::Tag expected = tag_key.SumOfMasks(round.nonces);
  // Block by block: the sums of a large model are never all there.
  CentredPacker packer(params.dimension(), participants * params.offset(), params.plaintext_bits());
  const uint64_t most = params.values_per_polynomial();
  std::vector<uint64_t> sums(std::min(most, params.dimension()));
  for (uint64_t first = 0; first < params.dimension(); first += most) {
    const auto block = std::span(sums).first(std::min(most, params.dimension() - first));
    TACET_RETURN_IF_ERROR(decryption->Next(block));
    tag_key.AccumulateSum(first, block, expected);
    packer.Append(block);
  }
  if (!he::TagsEqual(expected, round.tag_sum)) {
    return base::DataLoss(
        "the tag does not fit the sum of round {} attempt {}: uploads were altered, dropped, "
        "repeated or mixed with others, or the number of participants is not {}",
        attempt_.number.round, attempt_.number.attempt, participants);
  }
  return PackedSum{.participants = participants, .packed = packer.Finish()};
}

}  // namespace tacet::secagg
