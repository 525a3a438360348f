#include "tacet/member/member_model.h"

#include <utility>

#include "tacet/agreement/aggregate_average.h"
#include "tacet/agreement/server_optimizer.h"
#include "tacet/base/status.h"

namespace tacet::member {

absl::StatusOr<MemberModel> MemberModel::Load(const agreement::Manifest& manifest,
                                              secagg::DigestKey key,
                                              const agreement::InitialModel& initial,
                                              MemberState& state, bool keeps_last,
                                              SharedCheckpoints* shared) {
  const agreement::ManifestSpec& spec = manifest.spec();
  MemberModel model(manifest, std::move(key), state, shared);
  std::optional<protocol::Checkpoint> kept;
  if (keeps_last) {
    TACET_ASSIGN_OR_RETURN(kept, model.ReadLast());
  }
  if (kept.has_value()) {
    model.Take(*std::move(kept));
    model.is_kept_ = true;
    return model;
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

// A damaged state is as good as none. The one before it is kept as long as this member gave no
// unmask share for a sum that starts from the last one.
absl::StatusOr<std::optional<protocol::Checkpoint>> MemberModel::ReadLast() {
  absl::StatusOr<std::optional<protocol::Checkpoint>> last = ReadKept(state_->LoadCheckpoint());
  if (last.status().code() != absl::StatusCode::kDataLoss) return last;
  TACET_ASSIGN_OR_RETURN(std::optional<protocol::Checkpoint> earlier, Earlier());
  if (earlier.has_value()) TACET_RETURN_IF_ERROR(state_->StepBack());
  return earlier;
}

absl::StatusOr<std::optional<protocol::Checkpoint>> MemberModel::ReadKept(
    const absl::StatusOr<base::Bytes>& kept) const {
  if (kept.status().code() == absl::StatusCode::kNotFound) return std::nullopt;
  TACET_RETURN_IF_ERROR(kept.status());
  const agreement::ManifestSpec& spec = manifest_->spec();
  TACET_ASSIGN_OR_RETURN(const uint32_t training,
                         protocol::TrainingOfCheckpoint(*kept, manifest_->federation()));
  if (training < spec.training) return std::nullopt;
  if (training > spec.training) {
    return base::FailedPrecondition(
        "this site's state is of the training that began with epoch {}, and the manifest is of the "
        "training of epoch {}, which has ended: join the latest epoch with its invitation",
        training, spec.training);
  }
  TACET_ASSIGN_OR_RETURN(protocol::Checkpoint checkpoint,
                         protocol::ReadCheckpoint(*kept, manifest_->federation(), spec.training,
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
  agreement::ApplyAverage(*manifest_, aggregate, next_round(), optimizer, next.model);
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
  absl::StatusOr<std::optional<protocol::Checkpoint>> earlier =
      ReadKept(state_->LoadEarlierCheckpoint());
  if (earlier.status().code() == absl::StatusCode::kDataLoss) return std::nullopt;
  return earlier;
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
