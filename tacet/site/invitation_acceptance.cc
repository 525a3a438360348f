#include "tacet/site/invitation_acceptance.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <system_error>
#include <utility>

#include "fmt/core.h"
#include <fcntl.h>

#include "tacet/base/bytes.h"
#include "tacet/base/plain_text.h"
#include "tacet/base/status.h"
#include "tacet/config/agreed_query.h"
#include "tacet/config/policy_file.h"
#include "tacet/config/site_config.h"
#include "tacet/site/site_policy.h"
#include "tacet/statistics/query_learner.h"
#include "tacet/storage/file/file_lock.h"
#include "tacet/storage/file/ledger_folder.h"
#include "tacet/storage/file/posix_file.h"
#include "tacet/table/calendar_day.h"

namespace tacet::site {
namespace {

using policy::AcceptanceRecord;
using storage::file::Membership;

constexpr std::string_view kAcceptances = "acceptances";

// The next epoch's use of the site's data, as far as its manifest says.
struct NextUse {
  policy::DataUse use;
  bool external_model = false;
};

absl::StatusOr<NextUse> UseIn(const Membership& next) {
  const agreement::SignedManifest& manifest = next.manifest;
  TACET_ASSIGN_OR_RETURN(const config::RunConfig agreed,
                         config::ParseRunConfig(manifest.annex(), "the agreement"));
  // The policy judges the use by the annex, and its kind by the terms.
  const std::string& model = manifest.manifest().spec().model;
  if (agreed.model.name != model) {
    return base::InvalidArgument("model.name is \"{}\", the agreement's model is \"{}\"",
                                 agreed.model.name, model);
  }
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

// The largest number of a policy that this site knows to have been in force.
absl::StatusOr<uint64_t> LatestPolicy(const policy::SitePolicy& policy,
                                      const AcceptanceRecord& record) {
  const std::filesystem::path ledgers(policy.ledger_folder);
  std::error_code error;
  if (!std::filesystem::exists(ledgers, error) && !error) return record.latest_policy;
  TACET_ASSIGN_OR_RETURN(const storage::file::LedgerFolder folder,
                         storage::file::LedgerFolder::Open(ledgers));
  TACET_ASSIGN_OR_RETURN(const uint64_t charged, folder.LatestPolicy());
  return std::max(record.latest_policy, charged);
}

void CheckNotReplaced(const policy::SitePolicy& policy, const AcceptanceRecord& record,
                      InvitationDecision& decision) {
  const absl::StatusOr<uint64_t> latest = LatestPolicy(policy, record);
  if (!latest.ok()) {
    Object(decision, "ledger.folder", base::Message(latest.status()));
  } else if (policy.serial < *latest) {
    Object(decision, "policy.serial",
           fmt::format("is {}, and number {} was in force: an older policy was put back",
                       policy.serial, *latest));
  }
}

// Held while the record is read and written, and the invitation that it is about. The folder itself
// is locked, so there is no file of the lock.
absl::StatusOr<storage::file::FileLock> LockRecord(const std::filesystem::path& home) {
  constexpr double kMaxWaitSeconds = 120;
  storage::file::File folder(home, O_RDONLY | O_DIRECTORY);
  if (!folder.ok()) return storage::file::SystemError("open", home);
  if (storage::file::LockFile(folder, kMaxWaitSeconds)) {
    return storage::file::FileLock(std::move(folder));
  }
  return base::Unavailable("another process joins an epoch in {}: try again when it has ended",
                           home.string());
}

absl::Status SaveRecord(const std::filesystem::path& home, const AcceptanceRecord& record,
                        const crypto::SigningKey& site) {
  return storage::file::ReplaceFile(AcceptancesPath(home),
                                    policy::WriteAcceptanceRecord(record, site),
                                    storage::file::DiskCalls::System(), storage::file::kOwnerOnly);
}

// The epoch that the caller decided about is the folder's still.
absl::Status CheckJoined(const storage::file::SiteFolder& folder, const crypto::Digest& expected,
                         const Membership& next) {
  const absl::StatusOr<Membership> joined = folder.Joined();
  if (storage::file::IsNotJoined(joined.status())) return absl::OkStatus();
  TACET_RETURN_IF_ERROR(joined.status());
  const crypto::Digest& now = joined->manifest.manifest().hash();
  if (now == expected || now == next.manifest.manifest().hash()) return absl::OkStatus();
  return base::FailedPrecondition("another process has joined epoch {} meanwhile",
                                  joined->manifest.epoch());
}

// The record until now. A damaged one is put aside.
absl::StatusOr<AcceptanceRecord> TakeRecord(const std::filesystem::path& home,
                                            const crypto::PublicKey& site) {
  absl::StatusOr<AcceptanceRecord> record = LoadAcceptances(home, site);
  if (record.ok()) return record;
  if (record.status().code() == absl::StatusCode::kDataLoss) {
    const std::filesystem::path path = AcceptancesPath(home);
    std::filesystem::path aside = path;
    aside += ".damaged";
    std::error_code error;
    std::filesystem::rename(path, aside, error);
    if (!error) return AcceptanceRecord();
    return base::Unavailable("cannot rename {} to {}: {}", path.string(), aside.string(),
                             error.message());
  }
  if (record.status().code() == absl::StatusCode::kNotFound) return AcceptanceRecord();
  return record;
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
      case policy::AcceptedBy::kCoordinator:
        who = "joined by the coordinator's fingerprint: no person accepted its members";
        break;
    }
    const std::chrono::sys_seconds time{std::chrono::seconds(accepted.unix_seconds)};
    text += fmt::format("{:<11} {}{}{}, on {}\n", fmt::format("epoch {}", accepted.epoch), who,
                        accepted.kinds.empty() ? "" : ": ", policy::ChangeKindNames(accepted.kinds),
                        table::DayText(std::chrono::floor<std::chrono::days>(time)));
  }
  return text;
}

absl::Status NotePolicyInForce(const std::filesystem::path& home,
                               const std::optional<std::string>& policy,
                               const agreement::MemberKeys& keys) {
  const absl::StatusOr<std::optional<SignedPolicy>> in_force =
      LoadSitePolicy(PolicyPath(home, policy), keys.officer);
  if (!in_force.ok() || !in_force->has_value()) return absl::OkStatus();
  const uint64_t serial = (*in_force)->policy.serial;
  const crypto::PublicKey site = keys.signing.public_key();
  const absl::StatusOr<AcceptanceRecord> seen = LoadAcceptances(home, site);
  if (!seen.ok() || seen->latest_policy >= serial) return absl::OkStatus();
  TACET_ASSIGN_OR_RETURN(const storage::file::FileLock lock, LockRecord(home));
  TACET_ASSIGN_OR_RETURN(AcceptanceRecord record, LoadAcceptances(home, site));
  record.latest_policy = std::max(record.latest_policy, serial);
  return SaveRecord(home, record, keys.signing);
}

InvitationDecision DecideInvitation(const InvitationQuestion& question) {
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
  } else {
    Object(decision, std::string(kAcceptances),
           fmt::format("{}. A person accepts this epoch, and the record begins with it",
                       base::Message(record.status())));
  }
  CheckNotReplaced(policy, record.ok() ? *record : AcceptanceRecord(), decision);
  absl::StatusOr<NextUse> next = UseIn(question.next);
  if (!next.ok()) {
    Object(decision, "annex", base::Message(next.status()));
    return decision;
  }
  absl::StatusOr<policy::Acceptance> judged =
      policy::JudgeInvitation(policy, {.before = question.joined.manifest,
                                       .now = question.next.manifest,
                                       .chain = question.next.chain,
                                       .known = known,
                                       .use = std::move(next->use),
                                       .external_model = next->external_model});
  if (!judged.ok()) {
    Object(decision, "privacy.epsilon_per_year", base::Message(judged.status()));
    return decision;
  }
  decision.serial = policy.serial;
  decision.acceptance.kinds = std::move(judged->kinds);
  for (policy::Violation& objection : judged->objections) {
    decision.acceptance.objections.push_back(std::move(objection));
  }
  return decision;
}

std::string ObjectionsText(const policy::Acceptance& acceptance) {
  std::string text;
  for (const policy::Violation& objection : acceptance.objections) {
    // Columns and questions have the words of the annex.
    text += fmt::format("{}: {}\n", objection.key,
                        base::PlainText(objection.text, objection.text.size()));
  }
  return text;
}

absl::StatusOr<Membership> JoinAccepted(storage::file::SiteFolder& folder,
                                        const AcceptedInvitation& accepted) {
  std::optional<storage::file::FileLock> lock;
  if (accepted.next.member.has_value()) {
    TACET_ASSIGN_OR_RETURN(storage::file::FileLock held, LockRecord(accepted.home));
    lock.emplace(std::move(held));
    TACET_RETURN_IF_ERROR(CheckJoined(folder, accepted.joined, accepted.next));
    TACET_ASSIGN_OR_RETURN(const agreement::MemberKeys keys, folder.UnlockKeys(accepted.unlocker));
    TACET_ASSIGN_OR_RETURN(AcceptanceRecord record,
                           TakeRecord(accepted.home, keys.signing.public_key()));
    policy::AcceptedEpoch epoch = accepted.accepted;
    if (epoch.by != policy::AcceptedBy::kPolicy) {
      const absl::StatusOr<std::optional<SignedPolicy>> in_force =
          LoadSitePolicy(PolicyPath(accepted.home, accepted.policy), keys.officer);
      if (in_force.ok() && in_force->has_value()) epoch.serial = (*in_force)->policy.serial;
    }
    const AcceptanceRecord now = policy::AfterAccepting(std::move(record), accepted.joined,
                                                        accepted.next.chain, std::move(epoch));
    TACET_RETURN_IF_ERROR(SaveRecord(accepted.home, now, keys.signing));
  }
  return folder.Join(accepted.invitation, accepted.coordinator, accepted.unlocker);
}

}  // namespace tacet::site
