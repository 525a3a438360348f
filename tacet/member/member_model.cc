#include "tacet/member/member_model.h"

#include <utility>

#include "tacet/agreement/aggregate_average.h"
#include "tacet/agreement/server_optimizer.h"
#include "tacet/base/status.h"

namespace tacet::member {

absl::StatusOr<MemberModel> MemberModel::Load(const agreement::Manifest& manifest,
                                              secagg::DigestKey key,
                                              const agreement::InitialModel& initial,
                                              MemberState& state, SharedCheckpoints* shared) {
  const agreement::ManifestSpec& spec = manifest.spec();
  MemberModel model(manifest, std::move(key), state, shared);
  const absl::StatusOr<base::Bytes> kept = state.LoadCheckpoint();
  if (kept.ok()) {
    TACET_ASSIGN_OR_RETURN(std::optional<protocol::Checkpoint> checkpoint, model.Read(*kept));
    if (checkpoint.has_value()) {
      model.Take(*std::move(checkpoint));
      model.is_kept_ = true;
      return model;
    }
  } else if (kept.status().code() != absl::StatusCode::kNotFound) {
    return kept.status();
  }
  if (initial.parameters.size() != spec.dimension || initial.Digest() != spec.initial_model) {
    return base::InvalidArgument("the initial model is not the agreed one");
  }
  model.Take({.federation = manifest.federation(),
              .training = spec.training,
              .next_round = 0,
              .model = initial.parameters,
              .velocity = std::vector<float>(protocol::StateSizeOf(spec).velocity)});
  return model;
}

absl::StatusOr<std::optional<protocol::Checkpoint>> MemberModel::Read(
    const base::Bytes& kept) const {
  const agreement::ManifestSpec& spec = manifest_->spec();
  TACET_ASSIGN_OR_RETURN(const uint32_t training,
                         protocol::TrainingOfCheckpoint(kept, manifest_->federation()));
  if (training < spec.training) return std::nullopt;
  if (training > spec.training) {
    return base::FailedPrecondition(
        "this site's state is of the training that began with epoch {}, and the manifest is of the "
        "training of epoch {}, which has ended: join the latest epoch with its invitation",
        training, spec.training);
  }
  TACET_ASSIGN_OR_RETURN(protocol::Checkpoint checkpoint,
                         protocol::ReadCheckpoint(kept, manifest_->federation(), spec.training,
                                                  protocol::StateSizeOf(spec)));
  return checkpoint;
}

absl::Status MemberModel::Apply(const secagg::Aggregate& aggregate) {
  const agreement::ManifestSpec& spec = manifest_->spec();
  TACET_ASSIGN_OR_RETURN(agreement::ServerOptimizer optimizer,
                         agreement::ServerOptimizer::Create(spec.optimizer, spec.dimension));
  TACET_RETURN_IF_ERROR(optimizer.RestoreVelocity(checkpoint().velocity));
  protocol::Checkpoint next{.federation = checkpoint().federation,
                            .training = checkpoint().training,
                            .next_round = next_round() + 1,
                            .model = checkpoint().model,
                            .velocity = {}};
  optimizer.Apply(next_round(), agreement::AverageOf(*manifest_, aggregate), next.model);
  next.velocity = std::move(optimizer).velocity();
  return Install(std::move(next));
}

absl::Status MemberModel::Install(protocol::Checkpoint checkpoint) {
  if (!is_kept_) {  // so that there is an earlier one, of this training
    TACET_RETURN_IF_ERROR(state_->SaveCheckpoint(protocol::WriteCheckpoint(this->checkpoint())));
    is_kept_ = true;
  }
  TACET_RETURN_IF_ERROR(state_->SaveCheckpoint(protocol::WriteCheckpoint(checkpoint)));
  Take(std::move(checkpoint));
  return absl::OkStatus();
}

absl::StatusOr<std::optional<protocol::Checkpoint>> MemberModel::Earlier() const {
  const absl::StatusOr<base::Bytes> kept = state_->LoadEarlierCheckpoint();
  if (kept.status().code() == absl::StatusCode::kNotFound) return std::nullopt;
  TACET_RETURN_IF_ERROR(kept.status());
  return Read(*kept);
}

absl::Status MemberModel::StepBack() {
  TACET_ASSIGN_OR_RETURN(std::optional<protocol::Checkpoint> earlier, Earlier());
  if (!earlier.has_value()) {
    return base::FailedPrecondition("the state before round {} is not kept", next_round());
  }
  TACET_RETURN_IF_ERROR(state_->StepBack());
  Take(*std::move(earlier));
  return absl::OkStatus();
}

void MemberModel::Take(protocol::Checkpoint checkpoint) {
  const protocol::StateDigests digests = protocol::DigestsOf(checkpoint, key_);
  DigestedState state{.checkpoint = std::move(checkpoint), .digests = digests};
  current_ = shared_ != nullptr ? shared_->Share(std::move(state))
                                : std::make_shared<const DigestedState>(std::move(state));
}

}  // namespace tacet::member
