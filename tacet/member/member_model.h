// A member's copy of the federation's state: model and optimiser, stored before use.
#ifndef TACET_MEMBER_MEMBER_MODEL_H_
#define TACET_MEMBER_MEMBER_MODEL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/agreement/initial_model.h"
#include "tacet/agreement/manifest.h"
#include "tacet/member/member_state.h"
#include "tacet/member/shared_checkpoints.h"
#include "tacet/protocol/checkpoint.h"
#include "tacet/secagg/aggregate.h"
#include "tacet/secagg/digest_key.h"

namespace tacet::member {

class MemberModel {
 public:
  // The state that was stored last, or the training's `initial` model: a state of an earlier
  // training of the federation counts as none. `key` is the epoch's, under which a state of the
  // epoch before has other digests. A damaged state counts as lost, and so does every state unless
  // `keeps_last`. `manifest`, `state` and `shared`, which may be null, must outlive it.
  // InvalidArgument when `initial` is not the agreed one; FailedPrecondition when the state is
  // another federation's, or of a later training.
  static absl::StatusOr<MemberModel> Load(const agreement::Manifest& manifest,
                                          secagg::DigestKey key,
                                          const agreement::InitialModel& initial,
                                          MemberState& state, bool keeps_last = true,
                                          SharedCheckpoints* shared = nullptr);

  uint32_t next_round() const { return checkpoint().next_round; }
  const protocol::Checkpoint& checkpoint() const { return current_->checkpoint; }
  const protocol::StateDigests& digests() const { return current_->digests; }  // of the checkpoint
  const secagg::DigestKey& digest_key() const { return key_; }

  // Continues to the next round by its aggregate. The new state is durable before anything else
  // sees it; an error changes nothing.
  absl::Status Apply(const secagg::Aggregate& aggregate);
  // Continues to the state of a later round.
  absl::Status Install(protocol::Checkpoint checkpoint);

  // The state before this one, as long as the last round may be undone.
  absl::StatusOr<std::optional<protocol::Checkpoint>> Earlier() const;
  // Goes back to Earlier(), which there is.
  absl::Status StepBack();

 private:
  MemberModel(const agreement::Manifest& manifest, secagg::DigestKey key, MemberState& state,
              SharedCheckpoints* shared)
      : manifest_(&manifest), key_(std::move(key)), state_(&state), shared_(shared) {}

  void Take(protocol::Checkpoint checkpoint);
  absl::StatusOr<std::optional<protocol::Checkpoint>> ReadLast();
  // A kept state of this training; nothing where there is none, or one of an earlier training.
  absl::StatusOr<std::optional<protocol::Checkpoint>> ReadKept(
      const absl::StatusOr<base::Bytes>& kept) const;

  const agreement::Manifest* manifest_;
  secagg::DigestKey key_;
  MemberState* state_;
  SharedCheckpoints* shared_;
  std::shared_ptr<const DigestedState> current_;
  bool is_kept_ = false;  // not the initial model, which anybody has
};

}  // namespace tacet::member

#endif  // TACET_MEMBER_MEMBER_MODEL_H_
