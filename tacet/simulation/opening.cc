#include "tacet/simulation/opening.h"

#include "tacet/base/status.h"

namespace tacet::simulation {

absl::StatusOr<Opening> RunOpening(std::span<const uint8_t> closed_round,
                                   std::span<const SeatedOpener> openers, Channel& channel,
                                   secagg::ResultCollector& collector, const MemberLog& log) {
  const auto note = [&](uint64_t member, const absl::Status& status) {
    log(member, base::Message(status));
  };

  std::vector<base::Bytes> votes;  // as they reached the server
  for (const SeatedOpener& seat : openers) {
    base::Bytes request(closed_round.begin(), closed_round.end());
    if (!channel.Carry(MessageKind::kClosedRound, seat.member, request).ok()) continue;
    absl::StatusOr<base::Bytes> vote = seat.opener->Review(request);
    if (!vote.ok()) {
      note(seat.member, vote.status());
      continue;
    }
    if (channel.Carry(MessageKind::kVote, seat.member, *vote).ok()) {
      votes.push_back(*std::move(vote));
    }
  }

  Opening opening;
  for (const SeatedOpener& seat : openers) {
    std::vector<base::Bytes> seen;
    for (base::Bytes vote : votes) {
      if (channel.Carry(MessageKind::kVote, seat.member, vote).ok()) seen.push_back(vote);
    }
    absl::StatusOr<base::Bytes> result = seat.opener->Open(seen);
    if (!result.ok()) {
      note(seat.member, result.status());
      continue;
    }
    if (!channel.Carry(MessageKind::kOpenedSum, seat.member, *result).ok()) continue;
    opening.message_bytes = result->size();
    if (const absl::Status offered = collector.Offer(*result); !offered.ok()) {
      note(seat.member, offered);
    }
  }
  if (!collector.agreed().has_value()) return secagg::RefusedForServer();
  opening.sum = *collector.agreed();
  return opening;
}

}  // namespace tacet::simulation
