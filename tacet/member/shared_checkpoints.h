// Pool of the states that sessions of one process hold.
#ifndef TACET_MEMBER_SHARED_CHECKPOINTS_H_
#define TACET_MEMBER_SHARED_CHECKPOINTS_H_

#include "tacet/base/shared_values.h"
#include "tacet/protocol/checkpoint.h"

namespace tacet::member {

struct DigestedState {
  protocol::Checkpoint checkpoint;
  protocol::StateDigests digests;  // of `checkpoint`
};

// By the digests, which the holder computed: the bytes are not compared.
struct SameState {
  bool operator()(const DigestedState& a, const DigestedState& b) const {
    return a.digests == b.digests && a.checkpoint.federation == b.checkpoint.federation &&
           a.checkpoint.training == b.checkpoint.training &&
           a.checkpoint.next_round == b.checkpoint.next_round;
  }
};

// Members of one federation hold the same state between two rounds. Where many of them run in one
// process, as in a load test, they share one copy. Each still computes its state by itself.
using SharedCheckpoints = base::SharedValues<DigestedState, SameState>;

}  // namespace tacet::member

#endif  // TACET_MEMBER_SHARED_CHECKPOINTS_H_
