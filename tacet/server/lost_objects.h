// Objects that the blob store has lost: the state refers to them, and they are not there any more.
//
// Members give again what they gave, and seats give back a closed round and its roster: the same
// bytes, by the digest that the store holds. So a lost disk costs no attempt where somebody has
// them. While an attempt collects or a round is published, the rest continues without them. An
// attempt that is unmasking fails when nobody gives back its closed round or roster.
#ifndef TACET_SERVER_LOST_OBJECTS_H_
#define TACET_SERVER_LOST_OBJECTS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "tacet/server/round_steps.h"

namespace tacet::server {

// Objects that members, or the server, need as long as nothing further happens: of the open
// attempt; of the round published last, until the next attempt begins; and checkpoints.
std::vector<StoredObject> NeededObjects(const RoundState& state);

// Null when it is not lost.
const LostObject* FindLost(const RoundState& state, const BlobKey& key);

// Key under which an object of this name is kept that `member` gives: a copy of the server's own
// has a key of its own until it is known to be one.
BlobKey GivenKeyOf(const protocol::BulkName& name, uint64_t member);
// Whether only the server makes objects of this kind.
bool IsServersOwn(protocol::BulkKind kind);

// Asks for a look at the blob store, if it is time for one.
void MayCheckObjects(Transition& step);
absl::Status On(Transition& step, const ObjectsChecked& checked);
// Takes back an object if it is a lost one.
bool TakeBack(Transition& step, const ObjectArrived& arrived);

// Whether an object of the attempt that is unmasking is lost; and whether its closed round or
// roster is for so long that nobody will give it back. A share that is lost is waited for like one
// that never came.
bool HasLost(const RoundState& state);
bool HasLostForLong(const RoundState& state, uint64_t now);

}  // namespace tacet::server

#endif  // TACET_SERVER_LOST_OBJECTS_H_
