#include "tacet/agreement.h"

#include <utility>

#include "tacet/agreement/pair_keys.h"
#include "tacet/api/core/guarantee.h"
#include "tacet/api/core/options.h"
#include "tacet/api/core/parts.h"
#include "tacet/base/status.h"
#include "tacet/secagg/closed_round.h"
#include "tacet/secagg/upload.h"

namespace tacet {
namespace api {

absl::StatusOr<secagg::Attempt> AttemptOf(const Agreement& agreement, const AttemptId& attempt) {
  const CheckedAgreement& checked = Access::Of(agreement);
  const agreement::ManifestSpec& spec = checked.manifest.spec();
  if (attempt.round >= spec.rounds) {
    return base::InvalidArgument("round {} was not agreed: the agreement has rounds 0 to {}",
                                 attempt.round, spec.rounds - 1);
  }
  if (attempt.attempt > spec.spare_attempts) {
    return base::InvalidArgument(
        "attempt {} of round {} was not agreed: the agreement has attempts 0 to {} a round",
        attempt.attempt, attempt.round, spec.spare_attempts);
  }
  return secagg::Attempt{.manifest_hash = checked.manifest.hash(),
                         .number = {.epoch = checked.options.epoch,
                                    .round = attempt.round,
                                    .attempt = attempt.attempt},
                         .model_digest = attempt.model_digest};
}

}  // namespace api

Agreement::Agreement(std::shared_ptr<const api::CheckedAgreement> parts)
    : parts_(std::move(parts)) {}

absl::StatusOr<Agreement> Agreement::Create(const AgreementOptions& options) {
  TACET_ASSIGN_OR_RETURN(agreement::ManifestSpec spec, api::ManifestSpecOf(options));
  TACET_RETURN_IF_ERROR(agreement::CheckMemberKeys(spec.members));
  TACET_ASSIGN_OR_RETURN(agreement::Manifest manifest,
                         agreement::Manifest::Create(std::move(spec)));
  AgreementOptions complete = api::WithDefaults(options, manifest.spec());
  return Agreement(std::make_shared<const api::CheckedAgreement>(
      api::CheckedAgreement{.options = std::move(complete), .manifest = std::move(manifest)}));
}

const AgreementOptions& Agreement::options() const { return parts_->options; }
const Digest& Agreement::digest() const { return parts_->manifest.hash(); }
uint32_t Agreement::min_participants() const { return parts_->manifest.terms().min_participants(); }
uint32_t Agreement::max_participants() const { return parts_->manifest.terms().max_participants(); }
uint32_t Agreement::votes_needed() const {
  return parts_->manifest.terms().aggregation().sharing().votes();
}
uint64_t Agreement::attempt_budget() const { return parts_->manifest.attempt_budget(); }

size_t Agreement::upload_bytes() const {
  return secagg::UploadBytes(parts_->manifest.terms().aggregation());
}
size_t Agreement::max_closed_round_bytes() const {
  return secagg::ClosedRoundBytes(parts_->manifest.terms().aggregation(), max_participants());
}

absl::Status Agreement::CheckKeyPacket(uint64_t member, std::span<const uint8_t> packet) const {
  if (member >= options().members.size()) {
    return base::InvalidArgument("member is {}, the agreement has members 0 to {}", member,
                                 options().members.size() - 1);
  }
  return agreement::CheckKeyPacket(parts_->manifest, options().epoch, member, packet);
}

double Agreement::sum_stddev(uint32_t participants) const {
  return parts_->manifest.terms().mechanism().sum_stddev(participants);
}

absl::StatusOr<Guarantee> Agreement::GuaranteeAfter(uint64_t attempts) const {
  if (attempts < 1 || attempts > attempt_budget()) {
    return base::InvalidArgument("attempts is {}, the agreement permits 1 to {}", attempts,
                                 attempt_budget());
  }
  TACET_ASSIGN_OR_RETURN(const accounting::Guarantees guarantees,
                         agreement::GuaranteesOf(parts_->manifest, attempts));
  return api::PublicGuarantee(guarantees, options().federation.delta);
}

}  // namespace tacet
