// Deeds of earlier processes of a member, as far as its memory need not say them.
#ifndef TACET_MEMBER_PAST_H_
#define TACET_MEMBER_PAST_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "tacet/secagg/attempt.h"

namespace tacet::member {

struct Past {
  // Attempts for which this member may have sealed, voted or given a share that it does not have
  // any more: it says nothing else in them.
  std::vector<secagg::AttemptNumber> doubted = {};
  uint32_t participations = 0;  // attempts of the training to which it gave its data, at least
  // For a seat: it may have voted, for what it does not know, in this attempt and those before it.
  // It says nothing in them as a seat.
  std::optional<secagg::AttemptNumber> silent_through = std::nullopt;
  // For a seat: it has no anchor, or one that knows less than the memory. So this holds for the
  // attempt that is open when this process begins, too, unless its vote in it is in the state.
  bool unanchored = false;
  bool has_vote = false;  // in the attempt that is remembered
};

}  // namespace tacet::member

#endif  // TACET_MEMBER_PAST_H_
