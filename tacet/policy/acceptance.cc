#include "tacet/policy/acceptance.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "fmt/core.h"
#include "fmt/ranges.h"

#include "tacet/agreement/manifest_changes.h"
#include "tacet/base/status.h"

namespace tacet::policy {
namespace {

using agreement::ManifestChange;
using agreement::ManifestMember;
using agreement::SignedManifest;
using enum JudgedBy;

constexpr std::array kJudgedTerms = {
    JudgedTerm{"federation", kChain},
    JudgedTerm{"training", kChain},
    JudgedTerm{"model", kSame},
    JudgedTerm{"dimension", kSame},
    JudgedTerm{"initial_model", kSame},
    JudgedTerm{"clients", kKeys},
    JudgedTerm{"federation.cohort", kMembers},
    JudgedTerm{"federation.min_participants", kPolicy},
    JudgedTerm{"federation.rounds", kMechanism},
    JudgedTerm{"federation.spare_attempts", kMechanism},
    JudgedTerm{"federation.committee_seats", kPolicy},
    JudgedTerm{"federation.committee_corrupt", kPolicy},
    JudgedTerm{"federation.committee_packing", kPolicy},
    JudgedTerm{"committee_members", kKeys},
    JudgedTerm{"federation.sampling", kSame},
    JudgedTerm{"privacy.clip_norm", kMechanism},
    JudgedTerm{"privacy.coordinate_bound", kMechanism},
    JudgedTerm{"privacy.noise_stddev", kMechanism},
    JudgedTerm{"noise_law", kPolicy},
    JudgedTerm{"privacy.scale", kSame},
    JudgedTerm{"privacy.delta", kPolicy},
    JudgedTerm{"privacy.sampler", kSame},
    JudgedTerm{"run.no_noise", kPolicy},
    JudgedTerm{"run.no_clip", kPolicy},
    JudgedTerm{"aggregation.parameters", kPolicy},
    JudgedTerm{"server.learning_rate", kSame},
    JudgedTerm{"server.learning_rate_final", kSame},
    JudgedTerm{"server.momentum", kSame},
    JudgedTerm{"privacy.budget_epsilon", kMechanism},
    JudgedTerm{"aggregation.plaintext_bits", kMembers},
    JudgedTerm{"privacy.unit", kPolicy},
    JudgedTerm{"privacy.neighbouring", kPolicy},
    JudgedTerm{"privacy.record_rate", kMechanism},
    JudgedTerm{"privacy.expected_batch", kMembers},
    JudgedTerm{"privacy.appearances", kPolicy},
    JudgedTerm{"privacy.colluders", kPolicy},
    JudgedTerm{"federated_part", kSame},
    JudgedTerm{"whole_dimension", kSame},
    JudgedTerm{"annex", kSame},
    JudgedTerm{"federation.dummy_uploads", kPolicy},
    JudgedTerm{"federation.max_participations", kNotWeaker},
};

class Judgement {
 public:
  Judgement(const SitePolicy& policy, const InvitationChange& change)
      : policy_(policy), change_(change) {}

  absl::StatusOr<Acceptance> Run() && {
    TACET_ASSIGN_OR_RETURN(const std::vector<ManifestChange> changes,
                           agreement::ManifestChanges(change_.before, change_.now));
    for (const ManifestChange& change : changes) Judge(change);
    if (begins()) {
      const bool query = change_.now.manifest().spec().model == agreement::kQueryModel;
      AddKind(query ? ChangeKind::kQuery : ChangeKind::kTraining);
      if (change_.external_model) {
        Object("model.name", "is external: code of this site trains it, which a person chooses");
      }
    }
    if (SomeoneLeft()) AddKind(ChangeKind::kRemoval);
    if (acceptance_.kinds.empty()) AddKind(ChangeKind::kRenewal);
    Keys();
    TACET_RETURN_IF_ERROR(Limits());
    return std::move(acceptance_);
  }

 private:
  // Another training than the one that the site is in: of an epoch in between, perhaps.
  bool begins() const { return change_.before.training() != change_.now.training(); }

  void Object(std::string key, std::string text) {
    acceptance_.objections.push_back({.key = std::move(key), .text = std::move(text)});
  }
  void AddKind(ChangeKind kind) {
    acceptance_.kinds.push_back(kind);
    if (std::ranges::find(policy_.accepted_kinds, kind) != policy_.accepted_kinds.end()) return;
    Object("acceptance.kinds",
           fmt::format("\"{}\" is not accepted without a person", ChangeKindName(kind)));
  }

  void Judge(const ManifestChange& change) {
    // What the loops below, the policy's epsilon and the first line of a training say.
    constexpr std::array<std::string_view, 5> kJudgedElsewhere = {
        "training", "member", "committee", "epsilon of all attempts", "sampling rate"};
    if (std::ranges::find(kJudgedElsewhere, change.what) != kJudgedElsewhere.end()) return;
    if (change.what == "server") return AddKind(ChangeKind::kServer);
    const auto differs = [&] {
      Object(change.what,
             fmt::format("was {}, is {}", change.before.empty() ? "not there" : change.before,
                         change.after.empty() ? "not there" : change.after));
    };
    const auto term = std::ranges::find(kJudgedTerms, change.what, &JudgedTerm::key);
    if (term == kJudgedTerms.end()) return differs();  // the authority, or a term without a rule
    switch (term->by) {
      case kKeys:
      case kPolicy:
      case kMembers:
        return;
      case kChain:
        return differs();
      case kNotWeaker:
        if (change.is_weaker) differs();
        return;
      case kMechanism:
        if (!begins() && change.is_weaker) differs();
        return;
      case kSame:
        if (!begins()) differs();
        return;
    }
  }

  bool IsKnown(const ManifestMember& member) const {
    return change_.known.contains(member.signing_key);
  }
  bool SomeoneLeft() const {
    const std::vector<ManifestMember>& members = change_.now.members();
    return std::ranges::any_of(change_.before.members(), [&](const ManifestMember& member) {
      return std::ranges::find(members, member.signing_key, &ManifestMember::signing_key) ==
             members.end();
    });
  }

  void Keys() {
    const std::vector<ManifestMember>& members = change_.now.members();
    const agreement::ManifestSpec& agreed = change_.now.manifest().spec();
    std::vector<std::string_view> unknown;
    for (const ManifestMember& member : members) {
      if (!IsKnown(member)) unknown.push_back(member.name);
    }
    for (const uint64_t member : agreed.committee_members) {
      if (IsKnown(members[member])) continue;
      Object("committee",
             fmt::format("{} has a seat, and no person at this site has accepted its key",
                         members[member].name));
    }
    const uint64_t known = members.size() - unknown.size();
    if (known < agreed.sampling.min_participants) {
      Object("members",
             fmt::format("a person at this site has accepted the keys of {}, at least {} are "
                         "needed (federation.min_participants)",
                         known, agreed.sampling.min_participants));
    }
    if (unknown.size() > policy_.unknown_members) {
      Object("acceptance.unknown_members",
             fmt::format("no person at this site has accepted the keys of {}; {} such members are "
                         "allowed",
                         fmt::join(unknown, ", "), policy_.unknown_members));
    }
  }

  // Of the policy, with its smaller epsilon.
  absl::Status Limits() {
    SitePolicy strict = policy_;
    const bool is_less = policy_.accepted_epsilon.has_value() &&
                         *policy_.accepted_epsilon < policy_.epsilon_per_year;
    if (is_less) strict.epsilon_per_year = *policy_.accepted_epsilon;
    DataUse use = change_.use;
    use.records.reset();
    TACET_ASSIGN_OR_RETURN(std::vector<Violation> violations,
                           ViolationsOf(strict, change_.now.manifest(), use));
    for (Violation& violation : violations) {
      if (is_less && violation.key == "privacy.epsilon_per_year") {
        violation.key = "acceptance.epsilon";
      }
      acceptance_.objections.push_back(std::move(violation));
    }
    return absl::OkStatus();
  }

  const SitePolicy& policy_;
  const InvitationChange& change_;
  Acceptance acceptance_;
};

}  // namespace

absl::StatusOr<Acceptance> JudgeInvitation(const SitePolicy& policy,
                                           const InvitationChange& change) {
  return Judgement(policy, change).Run();
}

std::span<const JudgedTerm> JudgedTerms() { return kJudgedTerms; }

}  // namespace tacet::policy
