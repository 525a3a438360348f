// A member's copy of the federation's state: model and optimiser, kept before it is used.
#ifndef TACET_FEDERATION_MEMBER_MODEL_H_
#define TACET_FEDERATION_MEMBER_MODEL_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/hash.h"
#include "tacet/federation/checkpoint.h"
#include "tacet/federation/manifest.h"
#include "tacet/federation/site_state.h"
#include "tacet/secagg/opened_sum.h"

namespace tacet::federation {

class MemberModel {
 public:
  // What was kept last, or the federation's `initial` model. Both arguments by reference must
  // outlive it. InvalidArgument when `initial` is not the agreed one; DataLoss when what was kept
  // is damaged; FailedPrecondition when it is another federation's.
  static absl::StatusOr<MemberModel> Load(const Manifest& manifest, std::span<const float> initial,
                                          SiteState& state);

  uint32_t next_round() const { return checkpoint_.next_round; }
  const Checkpoint& checkpoint() const { return checkpoint_; }
  const base::Digest& digest() const { return digest_; }  // of the model

  // Goes on to the next round by its opened sum. The new state is durable before anything else
  // sees it; an error changes nothing.
  absl::Status Apply(const secagg::OpenedSum& opened);
  // Goes on to the state of a later round.
  absl::Status Install(Checkpoint checkpoint);

 private:
  MemberModel(const Manifest& manifest, SiteState& state, Checkpoint checkpoint);

  const Manifest* manifest_;
  SiteState* state_;
  Checkpoint checkpoint_;
  base::Digest digest_;
};

}  // namespace tacet::federation

#endif  // TACET_FEDERATION_MEMBER_MODEL_H_
