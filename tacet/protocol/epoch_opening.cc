#include "tacet/protocol/epoch_opening.h"

#include <algorithm>
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

void WriteState(const OpeningState& state, base::ByteWriter& writer) {
  writer.U32(state.round);
  writer.Raw(state.model_digest);
  writer.Raw(state.state_digest);
}

absl::StatusOr<OpeningState> ReadState(base::ByteReader& reader) {
  OpeningState state;
  TACET_ASSIGN_OR_RETURN(state.round, reader.ReadU32("round"));
  TACET_ASSIGN_OR_RETURN(state.model_digest, secagg::ReadArray<32>(reader, "model digest"));
  TACET_ASSIGN_OR_RETURN(state.state_digest, secagg::ReadArray<32>(reader, "state digest"));
  return state;
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
  WriteState(statement.state, writer);
  writer.U8(statement.earlier.has_value() ? 1 : 0);
  if (statement.earlier.has_value()) WriteState(*statement.earlier, writer);
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
  TACET_ASSIGN_OR_RETURN(statement.state, ReadState(reader));
  TACET_ASSIGN_OR_RETURN(const uint8_t has_earlier, reader.ReadU8("earlier"));
  if (has_earlier > (statement.word == OpeningWord::kHas ? 1 : 0)) {
    return base::DataLoss("opening statement: `earlier` is {}", has_earlier);
  }
  if (has_earlier == 1) {
    TACET_ASSIGN_OR_RETURN(statement.earlier, ReadState(reader));
  }
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

OpeningRules OpeningRulesOf(const agreement::Manifest& manifest) {
  return {.seats = manifest.committee().size(),
          .quorum = OpeningQuorum(manifest),
          .holders = StateQuorum(manifest)};
}

void OpeningTally::Add(const OpeningStatement& statement) {
  heard_.insert(statement.member);
  if (statement.word == OpeningWord::kVote &&
      !votes_.try_emplace(statement.member, statement.state).second) {
    return;
  }
  supporters_[statement.state].insert(statement.member);
  if (statement.earlier.has_value()) supporters_[*statement.earlier].insert(statement.member);
}

std::optional<OpeningState> OpeningTally::Opened() const {
  std::map<OpeningState, size_t> voters;
  for (const auto& [member, state] : votes_) {
    if (++voters[state] >= rules_.quorum) return state;
  }
  return std::nullopt;
}

std::optional<OpeningState> OpeningTally::Held() const {
  for (auto state = supporters_.rbegin(); state != supporters_.rend(); ++state) {
    if (IsHeld(state->first) && CanBeOpened(state->first)) return state->first;
  }
  return std::nullopt;
}

std::optional<OpeningState> OpeningTally::HeldAt(uint32_t round) const {
  for (const auto& [state, members] : supporters_) {
    if (state.round == round && IsHeld(state) && CanBeOpened(state)) return state;
  }
  return std::nullopt;
}

bool OpeningTally::IsHeld(const OpeningState& state) const {
  const auto found = supporters_.find(state);
  return found != supporters_.end() && found->second.size() >= rules_.holders;
}

bool OpeningTally::CanBeOpened(const OpeningState& state) const {
  const auto others =
      std::ranges::count_if(votes_, [&](const auto& vote) { return vote.second != state; });
  return static_cast<size_t>(others) + rules_.quorum <= rules_.seats;
}

const OpeningState* OpeningTally::VoteOf(uint64_t member) const {
  const auto found = votes_.find(member);
  return found == votes_.end() ? nullptr : &found->second;
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

std::vector<size_t> StatementsToHandOut(const OpeningState& asked,
                                        std::span<const OpeningStatement> has,
                                        const OpeningRules& rules) {
  std::vector<size_t> chosen;
  std::set<uint64_t> heard;
  const auto choose = [&](const auto& is_chosen, size_t enough) {
    for (size_t i = 0; i < has.size(); ++i) {
      if (heard.size() >= enough || !is_chosen(has[i])) continue;
      heard.insert(has[i].member);
      chosen.push_back(i);
    }
  };
  choose([&](const OpeningStatement& said) { return said.state == asked; }, rules.seats + 1);
  choose([&](const OpeningStatement& said) { return said.earlier == asked; }, rules.holders);
  choose([&](const OpeningStatement& said) { return !heard.contains(said.member); }, rules.quorum);
  return chosen;
}

}  // namespace tacet::protocol
