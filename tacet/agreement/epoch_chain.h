// Chain of a federation's epochs: each manifest names the hash of the one before.
#ifndef TACET_AGREEMENT_EPOCH_CHAIN_H_
#define TACET_AGREEMENT_EPOCH_CHAIN_H_

#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/bytes.h"

namespace tacet::agreement {

// Whether a training that began under `before` may continue under `now`: same model, and one
// guarantee for both (accounting::CheckSameGuarantee). FailedPrecondition says what differs.
absl::Status CheckSameTraining(const ManifestSpec& before, const ManifestSpec& now);

// Whether `next` may follow `before`. PermissionDenied when it belongs to another federation or
// coordinator, skips an epoch, names another predecessor, or continues with a training that is
// neither the one of `before` nor begins with it. An epoch that begins a training may change every
// term. FailedPrecondition when one that continues is not the same training, or when too few of its
// committee were members before: the model of the rounds that are done is attested by a majority
// of the committee, and newcomers do not have it.
absl::Status CheckSuccessor(const EpochLink& before, const EpochLink& next);

// The epochs of signed manifests, which must be a whole chain: `manifests` from epoch 0 on.
// DataLoss for one that is damaged, errors of CheckSuccessor, PermissionDenied when the first epoch
// is missing.
absl::StatusOr<std::vector<EpochLink>> ReadChain(std::span<const base::Bytes> manifests);

// Whether the chain `offered` begins with `known`. PermissionDenied when it is shorter (an epoch
// that has ended) or another one (a fork: two manifests were signed for one epoch).
absl::Status CheckContinues(std::span<const EpochLink> known, std::span<const EpochLink> offered);

}  // namespace tacet::agreement

#endif  // TACET_AGREEMENT_EPOCH_CHAIN_H_
