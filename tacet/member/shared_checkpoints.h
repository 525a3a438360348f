// Pool of the states that sessions of one process hold.
#ifndef TACET_MEMBER_SHARED_CHECKPOINTS_H_
#define TACET_MEMBER_SHARED_CHECKPOINTS_H_

#include "tacet/base/shared_values.h"
#include "tacet/protocol/checkpoint.h"

namespace tacet::member {

// Members of one federation hold the same state between two rounds. Where many of them run in one
// process, as in a load test, they share one copy. Each still computes its state by itself: only
// states with the same bytes are shared.
using SharedCheckpoints = base::SharedValues<protocol::Checkpoint, protocol::SameCheckpoint>;

}  // namespace tacet::member

#endif  // TACET_MEMBER_SHARED_CHECKPOINTS_H_
