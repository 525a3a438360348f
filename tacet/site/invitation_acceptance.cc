#include "tacet/site/invitation_acceptance.h"

#include <chrono>
#include <set>
#include <utility>

#include "fmt/core.h"

#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/config/agreed_query.h"
#include "tacet/config/policy_file.h"
#include "tacet/config/site_config.h"
#include "tacet/site/site_policy.h"
#include "tacet/statistics/query_learner.h"
#include "tacet/storage/file/posix_file.h"
#include "tacet/table/calendar_day.h"

namespace tacet::site {
namespace {

using policy::AcceptanceRecord;
using storage::file::Membership;

constexpr std::string_view kAcceptances = "acceptances";

// What the next epoch does with the site's data, as far as its manifest says.
struct NextUse {
  policy::DataUse use;
  bool external_model = false;
};

absl::StatusOr<NextUse> UseIn(const Membership& next) {
  const agreement::SignedManifest& manifest = next.manifest;
  TACET_ASSIGN_OR_RETURN(const config::RunConfig agreed,
                         config::ParseRunConfig(manifest.annex(), "the agreement"));
  if (config::IsQuery(agreed)) {
    TACET_ASSIGN_OR_RETURN(const config::LoadedQuery loaded,
                           config::ParseQuery(agreed.query.text, "the agreed query"));
    TACET_RETURN_IF_ERROR(statistics::CheckQueryTerms(*loaded.query, manifest.manifest().spec()));
  }
  TACET_ASSIGN_OR_RETURN(
      policy::DataUse use,
      config::DataUseOf(agreed, manifest.members()[*next.member].name, std::nullopt));
  return NextUse{.use = std::move(use), .external_model = config::IsExternal(agreed)};
}

void Object(InvitationDecision& decision, std::string key, std::string text) {
  decision.acceptance.objections.push_back({.key = std::move(key), .text = std::move(text)});
}

}  // namespace

std::filesystem::path AcceptancesPath(const std::filesystem::path& home) {
  return home / kAcceptances;
}

absl::StatusOr<AcceptanceRecord> LoadAcceptances(const std::filesystem::path& home,
                                                 const crypto::PublicKey& site) {
  TACET_ASSIGN_OR_RETURN(const base::Bytes bytes, storage::file::ReadFile(AcceptancesPath(home)));
  return policy::ReadAcceptanceRecord(bytes, site);
}

std::string AcceptancesText(const AcceptanceRecord& record) {
  std::string text;
  for (const policy::AcceptedEpoch& accepted : record.epochs) {
    std::string who;
    switch (accepted.by) {
      case policy::AcceptedBy::kPerson:
        who = "accepted by a person";
        break;
      case policy::AcceptedBy::kPolicy:
        who = fmt::format("accepted by the policy, number {}", accepted.serial);
        break;
      case policy::AcceptedBy::kUnchanged:
        who = "joined: no member, server or term had changed";
        break;
    }
    const std::chrono::sys_seconds time{std::chrono::seconds(accepted.unix_seconds)};
    text += fmt::format("{:<11} {}{}{}, on {}\n", fmt::format("epoch {}", accepted.epoch), who,
                        accepted.kinds.empty() ? "" : ": ", policy::ChangeKindNames(accepted.kinds),
                        table::DayText(std::chrono::floor<std::chrono::days>(time)));
  }
  return text;
}

absl::StatusOr<InvitationDecision> DecideInvitation(const InvitationQuestion& question) {
  InvitationDecision decision;
  if (!question.joined.member.has_value() || !question.next.member.has_value()) {
    Object(decision, "policy", "a server has no policy");
    return decision;
  }
  const absl::StatusOr<std::optional<SignedPolicy>> loaded =
      LoadSitePolicy(PolicyPath(question.home, question.policy), question.keys.officer);
  if (!loaded.ok() || !loaded->has_value()) {
    Object(decision, "policy",
           loaded.ok() ? "this site has no policy that accepts without a person"
                       : base::Message(loaded.status()));
    return decision;
  }
  const policy::SitePolicy& policy = (*loaded)->policy;
  const absl::StatusOr<AcceptanceRecord> record =
      LoadAcceptances(question.home, question.keys.signing.public_key());
  std::set<crypto::PublicKey> known;
  if (record.ok()) {
    known = record->KnownIn(question.joined.manifest.manifest().hash());
    if (policy.serial < record->LastSerial()) {
      Object(decision, "policy.serial",
             fmt::format("is {}, and number {} has accepted an epoch: an older policy was put back",
                         policy.serial, record->LastSerial()));
    }
  } else {
    Object(decision, std::string(kAcceptances),
           fmt::format("{}. A person accepts this epoch, and the record begins with it",
                       base::Message(record.status())));
  }
  absl::StatusOr<NextUse> next = UseIn(question.next);
  if (!next.ok()) {
    Object(decision, "annex", base::Message(next.status()));
    return decision;
  }
  TACET_ASSIGN_OR_RETURN(policy::Acceptance judged,
                         policy::JudgeInvitation(policy, {.before = question.joined.manifest,
                                                          .now = question.next.manifest,
                                                          .known = known,
                                                          .use = std::move(next->use),
                                                          .external_model = next->external_model}));
  decision.serial = policy.serial;
  decision.acceptance.kinds = std::move(judged.kinds);
  for (policy::Violation& objection : judged.objections) {
    decision.acceptance.objections.push_back(std::move(objection));
  }
  return decision;
}

std::string ObjectionsText(const policy::Acceptance& acceptance) {
  std::string text;
  for (const policy::Violation& objection : acceptance.objections) {
    text += fmt::format("{}: {}\n", objection.key, objection.text);
  }
  return text;
}

absl::StatusOr<Membership> JoinAccepted(storage::file::SiteFolder& folder,
                                        const AcceptedInvitation& accepted) {
  if (accepted.next.member.has_value()) {
    TACET_ASSIGN_OR_RETURN(const agreement::MemberKeys keys, folder.UnlockKeys(accepted.unlocker));
    // A record that is lost or damaged begins again: no key is known then.
    absl::StatusOr<AcceptanceRecord> record =
        LoadAcceptances(accepted.home, keys.signing.public_key());
    const AcceptanceRecord now =
        policy::AfterAccepting(record.ok() ? *std::move(record) : AcceptanceRecord(),
                               accepted.joined, accepted.next.manifest, accepted.accepted);
    TACET_RETURN_IF_ERROR(storage::file::ReplaceFile(
        AcceptancesPath(accepted.home), policy::WriteAcceptanceRecord(now, keys.signing),
        storage::file::DiskCalls::System(), storage::file::kOwnerOnly));
  }
  return folder.Join(accepted.invitation, accepted.coordinator, accepted.unlocker);
}

}  // namespace tacet::site
