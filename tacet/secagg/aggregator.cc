#include "tacet/secagg/aggregator.h"

#include "tacet/base/status.h"
#include "tacet/secagg/closed_round.h"

namespace tacet::secagg {

Aggregator::Aggregator(const he::AggregationParams& params, const Attempt& attempt,
                       uint32_t min_participants)
    : params_(params),
      attempt_(attempt),
      min_participants_(min_participants),
      adder_(he::NewAdder(params)) {}

absl::Status Aggregator::Submit(uint64_t participant, std::span<const uint8_t> upload) {
  if (closed_) {
    return base::FailedPrecondition("round {} attempt {} is closed", attempt_.round,
                                    attempt_.attempt);
  }
  TACET_ASSIGN_OR_RETURN(const UploadView view, ReadUpload(upload, attempt_, params_));
  const Accepted accepted{.nonce = view.nonce, .tag = view.tag, .checksum = view.checksum};
  if (const auto before = accepted_.find(participant); before != accepted_.end()) {
    if (before->second == accepted) return absl::OkStatus();
    return base::AlreadyExists(
        "the participant has already sent another upload for round {} attempt {}", attempt_.round,
        attempt_.attempt);
  }
  if (nonce_owner_.contains(view.nonce)) {
    return base::AlreadyExists("field `nonce` of the upload was used by another upload");
  }
  if (count() >= params_.max_participants()) {
    return base::FailedPrecondition("round {} attempt {} already has its {} uploads",
                                    attempt_.round, attempt_.attempt, params_.max_participants());
  }
  TACET_RETURN_IF_ERROR(adder_->Add(view.ciphertext));
  tag_sum_ = he::AddTags(tag_sum_, view.tag);
  accepted_.emplace(participant, accepted);
  nonce_owner_.emplace(view.nonce, participant);
  return absl::OkStatus();
}

absl::StatusOr<base::Bytes> Aggregator::Close() {
  if (count() < min_participants_) {
    return base::FailedPrecondition(
        "round {} attempt {} has {} uploads, {} are needed: it is not opened", attempt_.round,
        attempt_.attempt, count(), min_participants_);
  }
  closed_ = true;
  ClosedRound round{.attempt = attempt_, .nonces = {}, .tag_sum = tag_sum_, .closed_sum = {}};
  for (const auto& [nonce, participant] : nonce_owner_) round.nonces.push_back(nonce);
  round.closed_sum = adder_->Close();
  return WriteClosedRound(round);
}

}  // namespace tacet::secagg
