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
#include "tacet/policy/acceptance_record.h"

namespace tacet::policy {
namespace {

using agreement::ManifestChange;
using agreement::ManifestMember;
using agreement::ManifestSpec;
using agreement::SignedManifest;
using enum JudgedBy;

constexpr std::array kJudgedTerms = {
    JudgedTerm{"federation", kChain},
    JudgedTerm{"training", kKind},
    JudgedTerm{"model", kSame},
    JudgedTerm{"dimension", kSame},
    JudgedTerm{"initial_model", kSame},
    JudgedTerm{"clients", kKeys},
    JudgedTerm{"federation.cohort", kMembers},
    JudgedTerm{"federation.min_participants", kParticipants},
    JudgedTerm{"federation.rounds", kMechanism},
    JudgedTerm{"federation.spare_attempts", kMechanism},
    JudgedTerm{"federation.committee_seats", kCommittee},
    JudgedTerm{"federation.committee_corrupt", kCommittee},
    JudgedTerm{"federation.committee_packing", kCommittee},
    JudgedTerm{"committee_members", kKeys},
    JudgedTerm{"federation.sampling", kSame},
    JudgedTerm{"privacy.clip_norm", kMechanism},
    JudgedTerm{"privacy.coordinate_bound", kMechanism},
    JudgedTerm{"privacy.noise_stddev", kMechanism},
    JudgedTerm{"noise_law", kSame},
    JudgedTerm{"privacy.scale", kSame},
    JudgedTerm{"privacy.delta", kPolicy},
    JudgedTerm{"privacy.sampler", kSame},
    JudgedTerm{"run.no_noise", kPolicy},
    JudgedTerm{"run.no_clip", kPolicy},
    JudgedTerm{"aggregation.parameters", kSame},
    JudgedTerm{"server.learning_rate", kSame},
    JudgedTerm{"server.learning_rate_final", kSame},
    JudgedTerm{"server.momentum", kSame},
    JudgedTerm{"privacy.budget_epsilon", kMechanism},
    JudgedTerm{"aggregation.plaintext_bits", kMembers},
    JudgedTerm{"privacy.unit", kUse},
    JudgedTerm{"privacy.neighbouring", kUse},
    JudgedTerm{"privacy.record_rate", kMechanism},
    JudgedTerm{"privacy.expected_batch", kMembers},
    JudgedTerm{"privacy.appearances", kUse},
    JudgedTerm{"privacy.colluders", kPolicy},
    JudgedTerm{"federated_part", kSame},
    JudgedTerm{"whole_dimension", kSame},
    JudgedTerm{"annex", kSame},
    JudgedTerm{"federation.dummy_uploads", kUse},
    JudgedTerm{"federation.max_participations", kNotWeaker},
};

std::set<crypto::PublicKey> KeysOf(const SignedManifest& manifest) {
  std::set<crypto::PublicKey> keys;
  for (const ManifestMember& member : manifest.members()) keys.insert(member.signing_key);
  return keys;
}

class Judgement {
 public:
  Judgement(const SitePolicy& policy, const InvitationChange& change)
      : policy_(policy),
        change_(change),
        was_(change.before.manifest().spec()),
        is_(change.now.manifest().spec()),
        stayed_(
            StayedMembers(KeysOf(change.before), change.before.manifest().hash(), change.chain)) {}

  absl::StatusOr<Acceptance> Run() && {
    Kinds();
    for (const ManifestChange& change : agreement::TermChanges(was_, is_)) Judge(change);
    Rate();
    Members();
    Seats();
    Keys();
    if (change_.before.authority() != change_.now.authority()) {
      Object("authority", "another one signs the certificates of members and server");
    }
    TACET_RETURN_IF_ERROR(Limits());
    return std::move(acceptance_);
  }

 private:
  // Another training than the one that the site is in: of an epoch in between, perhaps.
  bool begins() const { return was_.training != is_.training; }
  bool SameUse() const {
    return (was_.model == agreement::kQueryModel) == (is_.model == agreement::kQueryModel);
  }
  bool HaveStayed(const std::vector<ManifestMember>& members) const {
    return std::ranges::all_of(members, [this](const ManifestMember& member) {
      return stayed_.contains(member.signing_key);
    });
  }
  bool SomeoneLeft() const { return !HaveStayed(change_.before.members()); }

  void Object(std::string key, std::string text) {
    acceptance_.objections.push_back({.key = std::move(key), .text = std::move(text)});
  }
  void AddKind(ChangeKind kind) {
    acceptance_.kinds.push_back(kind);
    if (std::ranges::find(policy_.accepted_kinds, kind) != policy_.accepted_kinds.end()) return;
    Object("acceptance.kinds",
           fmt::format("\"{}\" is not accepted without a person", ChangeKindName(kind)));
  }
  void Kinds() {
    if (begins()) {
      AddKind(is_.model == agreement::kQueryModel ? ChangeKind::kQuery : ChangeKind::kTraining);
      if (change_.external_model) {
        Object("model.name", "is external: code of this site trains it, which a person chooses");
      }
    }
    if (SomeoneLeft()) AddKind(ChangeKind::kRemoval);
    if (change_.before.server() != change_.now.server()) AddKind(ChangeKind::kServer);
    if (!HaveStayed(change_.now.members())) AddKind(ChangeKind::kAddition);
    if (acceptance_.kinds.empty()) AddKind(ChangeKind::kRenewal);
  }

  void Judge(const ManifestChange& change) {
    const auto differs = [&] {
      Object(change.what, fmt::format("was {}, is {}", change.before, change.after));
    };
    const auto term = std::ranges::find(kJudgedTerms, change.what, &JudgedTerm::key);
    if (term == kJudgedTerms.end()) return differs();  // a term without a rule
    switch (term->by) {
      case kKind:
      case kKeys:
      case kMembers:
        return;
      case kChain:
        return differs();
      case kPolicy:
      case kNotWeaker:
        if (change.is_weaker) differs();
        return;
      case kUse:
        if (change.is_weaker && SameUse()) differs();
        return;
      case kParticipants:
        if (change.is_weaker && SameUse() && !SomeoneLeft()) differs();
        return;
      case kCommittee:
        if (IsWeakerCommittee(change) && !SomeoneLeft()) differs();
        return;
      case kMechanism:
        if (!begins() && change.is_weaker) differs();
        return;
      case kSame:
        if (!begins()) differs();
        return;
    }
  }
  bool IsWeakerCommittee(const ManifestChange& change) const {
    return change.is_weaker || is_.committee.seats < was_.committee.seats ||
           is_.committee.packing > was_.committee.packing;
  }

  // Epsilon judges the cohort of a training that begins.
  void Rate() {
    const auto rate = [](const ManifestSpec& spec) {
      return static_cast<double>(spec.sampling.cohort) / static_cast<double>(spec.sampling.clients);
    };
    if (begins() || SomeoneLeft() || rate(is_) <= rate(was_)) return;
    Object("federation.cohort",
           fmt::format("was {} of {}, is {} of {}", was_.sampling.cohort, was_.sampling.clients,
                       is_.sampling.cohort, is_.sampling.clients));
  }

  // The terms that a member keeps under its signing key. A new field does not compile: say here, or
  // in Seats, who judges it.
  void Members() {
    for (const ManifestMember& member : change_.now.members()) {
      const auto& [name, signing_key, sealing_key, exchange_key, kem_digest, signature, kem_key] =
          member;
      const auto before =
          std::ranges::find(change_.before.members(), signing_key, &ManifestMember::signing_key);
      if (before == change_.before.members().end()) continue;
      if (name != before->name) {
        Object("member", fmt::format("{} has the key of {}", name, before->name));
      }
      if (sealing_key != before->sealing_key) {
        Object("member", fmt::format("{} has another sealing key", name));
      }
    }
  }

  // A thief of a seat's exchange key of an ended epoch could unmask rounds of this one.
  void Seats() {
    for (const uint64_t number : is_.committee_members) {
      const ManifestMember& seat = change_.now.members()[number];
      for (const agreement::EpochLink& link : change_.chain) {
        if (link.epoch >= change_.now.epoch()) break;
        const bool is_old = std::ranges::find(link.agreed.members, seat.exchange_key,
                                              &agreement::MemberIdentity::exchange_key) !=
                            link.agreed.members.end();
        if (!is_old) continue;
        Object("committee", fmt::format("{} has a seat with an exchange key of epoch {}", seat.name,
                                        link.epoch));
        break;
      }
    }
  }

  void Keys() {
    const std::vector<ManifestMember>& members = change_.now.members();
    const std::set<crypto::PublicKey> known =
        StayedMembers(change_.known, change_.before.manifest().hash(), change_.chain);
    std::vector<std::string_view> unknown;
    for (const ManifestMember& member : members) {
      if (!known.contains(member.signing_key)) unknown.push_back(member.name);
    }
    for (const uint64_t member : is_.committee_members) {
      if (known.contains(members[member].signing_key)) continue;
      Object("committee",
             fmt::format("{} has a seat, and no person at this site has accepted its key",
                         members[member].name));
    }
    const uint64_t accepted = members.size() - unknown.size();
    if (accepted < is_.sampling.min_participants) {
      Object("members",
             fmt::format("a person at this site has accepted the keys of {}, at least {} are "
                         "needed (federation.min_participants)",
                         accepted, is_.sampling.min_participants));
    }
    if (unknown.size() > policy_.unknown_members) {
      Object("acceptance.unknown_members",
             fmt::format("no person at this site has accepted the keys of {}; {} such members are "
                         "allowed",
                         fmt::join(unknown, ", "), policy_.unknown_members));
    }
    if (unknown.size() > is_.privacy.colluders) {
      Object("privacy.colluders",
             fmt::format("no person at this site has accepted the keys of {} members, and the "
                         "guarantee holds against {} that collude",
                         unknown.size(), is_.privacy.colluders));
    }
  }

  // For the policy, with its smaller epsilon.
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
  const ManifestSpec &was_, &is_;
  const std::set<crypto::PublicKey> stayed_;  // members before and in each epoch since
  Acceptance acceptance_;
};

}  // namespace

absl::StatusOr<Acceptance> JudgeInvitation(const SitePolicy& policy,
                                           const InvitationChange& change) {
  return Judgement(policy, change).Run();
}

std::span<const JudgedTerm> JudgedTerms() { return kJudgedTerms; }

}  // namespace tacet::policy
