#include "tacet/server/round_answers.h"

#include <algorithm>

#include "tacet/base/status.h"
#include "tacet/secagg/closed_round.h"
#include "tacet/secagg/key_packet.h"
#include "tacet/server/round_steps.h"

namespace tacet::server {
namespace {

std::vector<base::Bytes> BytesOf(const Submissions& submissions) {
  std::vector<base::Bytes> all;
  for (const Submission& submission : submissions) all.push_back(submission.bytes());
  return all;
}

const protocol::OpeningState* CandidateOf(const RoundState& state) {
  const auto* const opening = std::get_if<OpeningEpoch>(&state.epoch);
  if (opening == nullptr) return nullptr;
  const auto* const asking = std::get_if<AskingForVotes>(&opening->step);
  return asking == nullptr ? nullptr : &asking->candidate;
}

// Rounds that are finished; before the epoch is opened the round that votes are asked for.
uint32_t AnnouncedRounds(const RoundState& state) {
  const protocol::OpeningState* const candidate = CandidateOf(state);
  return candidate == nullptr ? FinishedRounds(state) : candidate->round;
}

protocol::Invited InvitationOf(const RoundState& state, uint64_t member) {
  if (!state.rules->DrawsCohorts()) return protocol::Invited::kOwnCoin;
  return std::ranges::binary_search(CohortOf(state), member) ? protocol::Invited::kYes
                                                             : protocol::Invited::kNo;
}

}  // namespace

protocol::Announcement AnnouncementOf(const RoundState& state, uint64_t member,
                                      uint64_t listed_from, bool unmasking) {
  const uint32_t epoch = state.rules->manifest().epoch();
  protocol::Announcement announcement{.manifest_hash = state.rules->hash(),
                                      .epoch = epoch,
                                      .revision = unmasking ? state.revision : state.phase_revision,
                                      .listed = {},
                                      .current = std::nullopt,
                                      .finished = AnnouncedRounds(state),
                                      .kept = {},
                                      .stopped = StageOf<Stopped>(state) != nullptr,
                                      .recalls = !state.lost.empty()};
  const AttemptRecords& begun = *state.attempts;
  const auto first = std::ranges::find(
      begun, epoch, [](const AttemptRecord& record) { return record.attempt.number.epoch; });
  const auto in_epoch = static_cast<uint64_t>(begun.end() - first);
  announcement.first_listed = std::min(listed_from, in_epoch);
  for (auto record = first + static_cast<ptrdiff_t>(announcement.first_listed);
       record != begun.end(); ++record) {
    announcement.listed.push_back(record->attempt.number);
  }
  for (const KeptRound& kept : state.kept) announcement.kept.push_back(kept.attempt);
  if (in_epoch == 0) return announcement;
  const AttemptRecord& last = begun.back();
  announcement.current = protocol::AnnouncedAttempt{.attempt = last.attempt,
                                                    .phase = last.phase,
                                                    .invited = InvitationOf(state, member),
                                                    .deadline = last.deadline,
                                                    .participants = last.participants};
  return announcement;
}

absl::StatusOr<std::vector<base::Bytes>> List(const RoundState& state,
                                              const protocol::FetchVotesRequest& request) {
  const secagg::Attempt& attempt = request.attempt;
  if (const Submissions* const abstentions = AbstentionsOf(state, attempt)) {
    const KeptRound* const kept = FindKept(state, attempt);
    std::vector<base::Bytes> all =
        kept == nullptr ? std::vector<base::Bytes>() : BytesOf(kept->votes);
    for (const Submission& one : *abstentions) all.push_back(one.bytes());
    return all;
  }
  TACET_RETURN_IF_ERROR(CheckOpen(state, attempt, protocol::AttemptPhase::kUnmasking));
  return BytesOf(SubmissionsOf(state, ItemKind::kVote));
}

absl::StatusOr<std::vector<base::Bytes>> List(const RoundState& state,
                                              const protocol::FetchAttestationsRequest& request) {
  const uint32_t round = request.round;
  const OpenedEpoch* const opened = Opened(state);
  if (opened == nullptr || round != opened->round) {
    return base::NotFound("round {}: its attestations are not kept, the next round is {}", round,
                          FinishedRounds(state));
  }
  // Others attest when they took part: to give theirs to members would name participants.
  std::vector<base::Bytes> attestations;
  for (const Submission& attestation : opened->attestations) {
    if (state.rules->HasSeat(attestation.member)) attestations.push_back(attestation.bytes());
  }
  return attestations;
}

absl::StatusOr<std::vector<base::Bytes>> List(const RoundState& state,
                                              const protocol::FetchOpeningRequest&) {
  std::vector<base::Bytes> statements = BytesOf(state.opening_votes);
  const protocol::OpeningState* const candidate = CandidateOf(state);
  if (candidate == nullptr) return statements;
  const auto& held = std::get<OpeningEpoch>(state.epoch).held;
  std::vector<protocol::OpeningStatement> has;
  for (const HeldState& said : held) has.push_back(said.statement);
  for (const size_t chosen : protocol::StatementsToHandOut(
           *candidate, has, protocol::OpeningRulesOf(state.rules->manifest().manifest()))) {
    statements.push_back(held[chosen].bytes);
  }
  return statements;
}

absl::StatusOr<PacketsToGive> PacketsToGiveTo(const RoundState& state,
                                              const PacketsForSeat& packets,
                                              std::span<const uint8_t> roster) {
  const protocol::FetchPacketsRequest& request = packets.request;
  const auto seat = secagg::SeatOf(state.rules->committee(), packets.member);
  if (!seat.has_value()) return state.rules->CheckSeat(packets.member);
  TACET_ASSIGN_OR_RETURN(
      secagg::Roster read,
      secagg::ReadRoster(roster, request.attempt, state.rules->aggregation().max_participants()));
  std::ranges::sort(read.members);
  PacketsToGive given{.seat = *seat, .members = {}};
  for (const Submission& packet : state.key_packets) {
    if (packet.member >= request.from && std::ranges::binary_search(read.members, packet.member)) {
      given.members.push_back(packet.member);
    }
  }
  std::ranges::sort(given.members);
  const size_t most =
      protocol::kMaxPacketsBytes / secagg::KeyPacketBytes(state.rules->committee().size(), 1);
  if (given.members.size() > most) given.members.resize(most);
  return given;
}

}  // namespace tacet::server
