// Deeds of earlier processes of a member, as far as its memory need not say them.
#ifndef TACET_MEMBER_PAST_H_
#define TACET_MEMBER_PAST_H_

#include <cstdint>
#include <vector>

#include "tacet/secagg/attempt.h"

namespace tacet::member {

struct Past {
  // Attempts for which this member may have sealed, voted or given a share that it does not have
  // any more: it says nothing else in them.
  std::vector<secagg::AttemptNumber> doubted = {};
  uint32_t participations = 0;  // attempts of the training to which it gave its data, at least
};

}  // namespace tacet::member

#endif  // TACET_MEMBER_PAST_H_
