#include "tacet/simulation/unmasking.h"

#include <utility>

#include "tacet/base/status.h"

namespace tacet::simulation {

CommitteeAnswers AskCommittee(const secagg::Aggregator::Closed& closed,
                              std::span<const SeatedMember> committee, Channel& channel,
                              const MemberLog& log) {
  CommitteeAnswers answers;
  for (const SeatedMember& seat : committee) {
    base::Bytes closed_round = closed.closed_round;
    base::Bytes roster = closed.roster;
    if (!channel.Carry(MessageKind::kClosedRound, seat.member, closed_round).ok()) continue;
    if (!channel.Carry(MessageKind::kRoster, seat.member, roster).ok()) continue;
    absl::StatusOr<base::Bytes> vote = seat.seat->Vote(closed_round, roster);
    if (!vote.ok()) {
      log(seat.member, base::Message(vote.status()));
      continue;
    }
    if (channel.Carry(MessageKind::kVote, seat.member, *vote).ok()) {
      answers.votes.push_back(*std::move(vote));
    }
  }
  for (const SeatedMember& seat : committee) {
    std::vector<base::Bytes> seen;
    for (base::Bytes vote : answers.votes) {
      if (channel.Carry(MessageKind::kVote, seat.member, vote).ok()) {
        seen.push_back(std::move(vote));
      }
    }
    absl::StatusOr<base::Bytes> share = seat.seat->Unmask(seen);
    if (!share.ok()) {
      log(seat.member, base::Message(share.status()));
      continue;
    }
    if (channel.Carry(MessageKind::kUnmaskShare, seat.member, *share).ok()) {
      answers.unmask_shares.push_back(*std::move(share));
    }
  }
  return answers;
}

}  // namespace tacet::simulation
