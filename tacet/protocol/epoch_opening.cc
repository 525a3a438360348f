#include "tacet/protocol/epoch_opening.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "tacet/agreement/labelled_signature.h"
#include "tacet/base/format_ids.h"
#include "tacet/base/status.h"
#include "tacet/protocol/attestation.h"
#include "tacet/secagg/committee.h"
#include "tacet/secagg/wire.h"

namespace tacet::protocol {
namespace {

constexpr std::string_view kOpeningLabel = "tacet/1/epoch opening";
constexpr std::string_view kOpening = "opening statement";

// The last of the states with at least `quorum` supporters.
std::optional<OpeningState> LastWith(const std::map<OpeningState, size_t>& supporters,
                                     size_t quorum) {
  for (auto state = supporters.rbegin(); state != supporters.rend(); ++state) {
    if (state->second >= quorum) return state->first;
  }
  return std::nullopt;
}

}  // namespace

OpeningState OpeningStateOf(uint32_t round, const StateDigests& digests) {
  return {.round = round, .model_digest = digests.model, .state_digest = digests.state};
}

base::Bytes WriteOpeningStatement(const OpeningStatement& statement,
                                  const agreement::SignedManifest& manifest,
                                  const crypto::SigningKey& key) {
  base::ByteWriter writer;
  base::WritePreamble(base::format::kOpeningStatement, writer);
  writer.Raw(manifest.manifest().hash());
  writer.U32(manifest.epoch());
  writer.U8(static_cast<uint8_t>(statement.word));
  writer.U64(statement.member);
  writer.U32(statement.state.round);
  writer.Raw(statement.state.model_digest);
  writer.Raw(statement.state.state_digest);
  agreement::AppendSignature(kOpeningLabel, key, writer);
  return writer.Take();
}

absl::StatusOr<OpeningStatement> ReadOpeningStatement(std::span<const uint8_t> bytes,
                                                      const agreement::SignedManifest& manifest) {
  base::ByteReader reader(bytes, kOpening);
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kOpeningStatement, reader));
  TACET_ASSIGN_OR_RETURN(const auto hash, secagg::ReadArray<32>(reader, "manifest hash"));
  TACET_ASSIGN_OR_RETURN(const uint32_t epoch, reader.ReadU32("epoch"));
  if (hash != manifest.manifest().hash() || epoch != manifest.epoch()) {
    return base::FailedPrecondition(
        "opening statement: for epoch {} of another manifest, not for epoch {} of {}", epoch,
        manifest.epoch(), manifest.federation());
  }
  OpeningStatement statement;
  TACET_ASSIGN_OR_RETURN(const uint8_t word, reader.ReadU8("word"));
  if (word != static_cast<uint8_t>(OpeningWord::kHas) &&
      word != static_cast<uint8_t>(OpeningWord::kVote)) {
    return base::DataLoss("opening statement: there is no word {}", word);
  }
  statement.word = static_cast<OpeningWord>(word);
  TACET_ASSIGN_OR_RETURN(statement.member, reader.ReadU64("member"));
  TACET_ASSIGN_OR_RETURN(statement.state.round, reader.ReadU32("round"));
  TACET_ASSIGN_OR_RETURN(statement.state.model_digest,
                         secagg::ReadArray<32>(reader, "model digest"));
  TACET_ASSIGN_OR_RETURN(statement.state.state_digest,
                         secagg::ReadArray<32>(reader, "state digest"));
  if (!secagg::SeatOf(manifest.manifest().committee(), statement.member).has_value()) {
    return base::PermissionDenied("opening statement: member {} has no seat on the committee",
                                  statement.member);
  }
  TACET_ASSIGN_OR_RETURN(
      const bool is_signed,
      agreement::ReadSignature(kOpeningLabel, manifest.members()[statement.member].signing_key,
                               bytes, reader));
  if (is_signed) return statement;
  return base::PermissionDenied("opening statement: member {} did not sign it", statement.member);
}

size_t OpeningQuorum(const agreement::Manifest& manifest) {
  return manifest.terms().aggregation().sharing().votes();
}

void OpeningTally::Add(const OpeningStatement& statement) {
  if (statement.word == OpeningWord::kVote) {
    votes_.try_emplace(statement.member, statement.state);
  } else {
    states_[statement.member].try_emplace(statement.state.round, statement.state);
  }
}

std::optional<OpeningState> OpeningTally::Opened() const {
  std::map<OpeningState, size_t> supporters;
  for (const auto& [member, state] : votes_) ++supporters[state];
  return LastWith(supporters, OpeningQuorum(*manifest_));
}

std::optional<OpeningState> OpeningTally::Held() const {
  std::map<OpeningState, size_t> supporters;
  for (const auto& [member, states] : states_) {
    for (const auto& [round, state] : states) ++supporters[state];
  }
  return LastWith(supporters, StateQuorum(*manifest_));
}

std::optional<OpeningState> OpeningTally::Leading() const {
  std::map<OpeningState, size_t> supporters;
  size_t most = 0;
  for (const auto& [member, state] : votes_) most = std::max(most, ++supporters[state]);
  return LastWith(supporters, std::max<size_t>(most, 1));
}

const OpeningState* OpeningTally::VoteOf(uint64_t member) const {
  const auto found = votes_.find(member);
  return found == votes_.end() ? nullptr : &found->second;
}

bool OpeningTally::HasHeard(uint64_t member) const {
  return votes_.contains(member) || states_.contains(member);
}

size_t OpeningTally::heard() const {
  std::set<uint64_t> seats;
  for (const auto& [member, state] : votes_) seats.insert(member);
  for (const auto& [member, states] : states_) seats.insert(member);
  return seats.size();
}

OpeningTally TallyOf(std::span<const base::Bytes> statements,
                     const agreement::SignedManifest& manifest) {
  OpeningTally tally(manifest.manifest());
  for (const base::Bytes& bytes : statements) {
    const absl::StatusOr<OpeningStatement> statement = ReadOpeningStatement(bytes, manifest);
    if (statement.ok()) tally.Add(*statement);
  }
  return tally;
}

}  // namespace tacet::protocol
