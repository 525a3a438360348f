// State machine of a member in one epoch of a federation, without input or output.
#ifndef TACET_MEMBER_MEMBER_MACHINE_H_
#define TACET_MEMBER_MEMBER_MACHINE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "tacet/agreement/signed_manifest.h"
#include "tacet/member/member_action.h"
#include "tacet/member/member_event.h"
#include "tacet/member/member_memory.h"
#include "tacet/member/member_situation.h"
#include "tacet/member/node_event.h"
#include "tacet/member/past.h"

namespace tacet::member {

// The consequence of an event: lines for the log, and then one action, whose result is the next
// event.
struct Reaction {
  struct Note {
    NodeEvent event;
    uint32_t index = 0;  // of the thing that it is about, where there are several
  };
  std::vector<Note> notes;
  Action action;
};

// Decides what one member does: in which order it charges, trains, seals, uploads, votes, opens,
// applies and states. docs/design/member.md has its states, events, transitions and invariants. A
// driver performs the actions: it has the keys, the ledger, the disk, the server, the training and
// the clock. The server is not believed: what an honest one does not do is a protocol violation,
// and nothing of such an attempt is sealed, signed or applied. A copy is another machine in the
// same state.
class MemberMachine {
 public:
  // Times that one upload is sent to a server that refuses or loses it.
  static constexpr int kMaxRefusals = 3;
  // Times an attempt that a seat gives back what the server says that it lost.
  static constexpr int kMostGivenBack = 20;
  // Members that are neither attestors nor uploaded to the round before say which model they have
  // when no attempt has begun so many seconds after they could have, and at once behind the last
  // round.
  static constexpr uint64_t kAttestorSeconds = 10;

  // `manifest` must outlive it and its copies. `memory` is what an earlier process made durable,
  // `past` what it is known to have done besides; `now` are Unix seconds.
  MemberMachine(const agreement::SignedManifest& manifest, uint64_t member, const Holding& holding,
                std::optional<MemberMemory> memory, uint64_t now, Past past = {});

  // A step begins with event::Begin and ends with action::EndStep. Each event but event::Failed is
  // the result of the action before; any other one changes nothing and ends with an error.
  Reaction On(const Event& event, uint64_t now);

  const MemberSituation& situation() const { return here_; }
  // Whether this member's state is one of this epoch: a quorum of its seats voted for it, or it
  // followed from such a state. An epoch that begins a training needs no vote.
  bool has_entered() const;

 private:
  const agreement::SignedManifest* manifest_;
  uint64_t member_;
  MemberSituation here_;
};

}  // namespace tacet::member

#endif  // TACET_MEMBER_MEMBER_MACHINE_H_
