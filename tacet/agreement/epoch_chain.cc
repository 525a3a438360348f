#include "tacet/agreement/epoch_chain.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "fmt/format.h"

#include "tacet/accounting/terms_changes.h"
#include "tacet/base/status.h"

namespace tacet::agreement {
namespace {

// A round begins with the state that a majority of the committee attests.
absl::Status CheckCommitteeKnowsModel(const EpochLink& before, const EpochLink& next) {
  std::set<crypto::PublicKey> members;
  for (const MemberIdentity& member : before.agreed.members) members.insert(member.signing_key);
  const std::vector<uint64_t>& committee = next.agreed.committee_members;
  const auto stayed = static_cast<size_t>(std::ranges::count_if(committee, [&](uint64_t member) {
    return member < next.agreed.members.size() &&
           members.contains(next.agreed.members[member].signing_key);
  }));
  const size_t needed = committee.size() / 2 + 1;
  if (stayed >= needed) return absl::OkStatus();
  return base::FailedPrecondition(
      "{} of the {} committee members of epoch {} were members of epoch {}, at least {} are needed "
      "to attest the model: name them with --committee, or change fewer members in one epoch",
      stayed, committee.size(), next.epoch, before.epoch, needed);
}

}  // namespace

absl::Status CheckSameTraining(const ManifestSpec& before, const ManifestSpec& now) {
  if (now.model != before.model || now.dimension != before.dimension ||
      now.initial_model != before.initial_model || now.federated_part != before.federated_part ||
      now.whole_dimension != before.whole_dimension) {
    return base::FailedPrecondition(
        "it trains another model than before: that is another training");
  }
  const absl::Status same = accounting::CheckSameGuarantee(PrivacyOf(before, 1), PrivacyOf(now, 1));
  return same.ok() ? same : base::FailedPrecondition("{}", base::Message(same));
}

absl::Status CheckSuccessor(const EpochLink& before, const EpochLink& next) {
  if (next.agreed.federation != before.agreed.federation || next.name != before.name) {
    return base::PermissionDenied(
        "the manifest of epoch {} is of another federation: {} {}, expected {} {}", next.epoch,
        next.name, base::ToHex(next.agreed.federation).substr(0, 16), before.name,
        base::ToHex(before.agreed.federation).substr(0, 16));
  }
  if (next.coordinator != before.coordinator) {
    return base::PermissionDenied("the manifest of epoch {} is signed by another coordinator",
                                  next.epoch);
  }
  if (next.epoch != before.epoch + 1) {
    return base::PermissionDenied(
        "the manifest of epoch {} does not follow epoch {}: one is missing", next.epoch,
        before.epoch);
  }
  if (next.predecessor != before.hash) {
    return base::PermissionDenied(
        "the manifest of epoch {} follows another manifest of epoch {} than this one: two were "
        "signed for that epoch",
        next.epoch, before.epoch);
  }
  const ManifestSpec& was = before.agreed;
  const ManifestSpec& is = next.agreed;
  if (next.begins_training()) return absl::OkStatus();  // nothing of the one before continues
  if (is.training != was.training) {
    return base::PermissionDenied(
        "the manifest of epoch {} is of the training that began with epoch {}: epoch {} continues "
        "with the training of epoch {}, or begins one",
        next.epoch, is.training, next.epoch, was.training);
  }
  TACET_RETURN_IF_ERROR(base::Annotate(
      CheckSameTraining(was, is),
      fmt::format("the manifest of epoch {} continues after epoch {}", next.epoch, before.epoch)));
  return CheckCommitteeKnowsModel(before, next);
}

absl::StatusOr<std::vector<EpochLink>> ReadChain(std::span<const base::Bytes> manifests) {
  std::vector<EpochLink> chain;
  for (const base::Bytes& bytes : manifests) {
    TACET_ASSIGN_OR_RETURN(EpochLink link, ReadEpochLink(bytes));
    if (chain.empty() && link.epoch != 0) {
      return base::PermissionDenied("the chain of manifests begins with epoch {}, expected epoch 0",
                                    link.epoch);
    }
    if (!chain.empty()) TACET_RETURN_IF_ERROR(CheckSuccessor(chain.back(), link));
    chain.push_back(std::move(link));
  }
  return chain;
}

absl::Status CheckContinues(std::span<const EpochLink> known, std::span<const EpochLink> offered) {
  for (size_t epoch = 0; epoch < std::min(known.size(), offered.size()); ++epoch) {
    if (known[epoch].agreed.federation != offered[epoch].agreed.federation) {
      return base::PermissionDenied(
          "the manifest is of another federation: {} {}, expected {} {}", offered[epoch].name,
          base::ToHex(offered[epoch].agreed.federation).substr(0, 16), known[epoch].name,
          base::ToHex(known[epoch].agreed.federation).substr(0, 16));
    }
    if (known[epoch].hash == offered[epoch].hash) continue;
    return base::PermissionDenied(
        "another manifest was signed for epoch {} before: members would not agree on the same. "
        "Keep both files and ask the coordinating member",
        epoch);
  }
  if (offered.size() >= known.size()) return absl::OkStatus();
  return base::PermissionDenied("epoch {} has ended, this site is in epoch {}",
                                offered.empty() ? 0 : offered.back().epoch, known.back().epoch);
}

}  // namespace tacet::agreement
