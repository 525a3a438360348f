#include "tacet/member/member_model.h"

#include <utility>

#include "tacet/agreement/opened_average.h"
#include "tacet/agreement/server_optimizer.h"
#include "tacet/base/status.h"

namespace tacet::member {

absl::StatusOr<MemberModel> MemberModel::Load(const agreement::Manifest& manifest,
                                              std::span<const float> initial, MemberState& state) {
  const agreement::ManifestSpec& spec = manifest.spec();
  const absl::StatusOr<base::Bytes> kept = state.LoadCheckpoint();
  if (kept.ok()) {
    TACET_ASSIGN_OR_RETURN(protocol::Checkpoint checkpoint,
                           protocol::ReadCheckpoint(*kept, manifest.agreement(), spec.dimension));
    return MemberModel(manifest, state, std::move(checkpoint));
  }
  if (kept.status().code() != absl::StatusCode::kNotFound) return kept.status();
  if (initial.size() != spec.dimension || protocol::ModelDigest(initial) != spec.initial_model) {
    return base::InvalidArgument("the initial model is not the agreed one");
  }
  return MemberModel(manifest, state,
                     {.agreement = manifest.agreement(),
                      .next_round = 0,
                      .model = std::vector<float>(initial.begin(), initial.end()),
                      .velocity = std::vector<float>(initial.size())});
}

MemberModel::MemberModel(const agreement::Manifest& manifest, MemberState& state,
                         protocol::Checkpoint checkpoint)
    : manifest_(&manifest),
      state_(&state),
      checkpoint_(std::move(checkpoint)),
      digest_(protocol::ModelDigest(checkpoint_.model)) {}

absl::Status MemberModel::Apply(const secagg::OpenedSum& opened) {
  const agreement::ManifestSpec& spec = manifest_->spec();
  TACET_ASSIGN_OR_RETURN(agreement::ServerOptimizer optimizer,
                         agreement::ServerOptimizer::Create(spec.optimizer, spec.dimension));
  TACET_RETURN_IF_ERROR(optimizer.RestoreVelocity(checkpoint_.velocity));
  protocol::Checkpoint next = checkpoint_;
  optimizer.Apply(next.next_round, agreement::AverageOf(*manifest_, opened), next.model);
  next.velocity.assign(optimizer.velocity().begin(), optimizer.velocity().end());
  ++next.next_round;
  return Install(std::move(next));
}

absl::Status MemberModel::Install(protocol::Checkpoint checkpoint) {
  TACET_RETURN_IF_ERROR(state_->SaveCheckpoint(protocol::WriteCheckpoint(checkpoint)));
  checkpoint_ = std::move(checkpoint);
  digest_ = protocol::ModelDigest(checkpoint_.model);
  return absl::OkStatus();
}

}  // namespace tacet::member
