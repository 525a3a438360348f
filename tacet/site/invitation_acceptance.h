// Acceptance of invitations at a site: the decision by the officer's policy, and the record of who
// accepted each epoch. `tacet client join` uses it, and so may a client that runs.
#ifndef TACET_SITE_INVITATION_ACCEPTANCE_H_
#define TACET_SITE_INVITATION_ACCEPTANCE_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "absl/status/statusor.h"

#include "tacet/agreement/member_keys.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/locked_secret.h"
#include "tacet/crypto/signing.h"
#include "tacet/policy/acceptance.h"
#include "tacet/policy/acceptance_record.h"
#include "tacet/storage/file/site_folder.h"

namespace tacet::site {

// HOME/acceptances
std::filesystem::path AcceptancesPath(const std::filesystem::path& home);

// The site's record; NotFound before the first epoch that it says something about, DataLoss when it
// is damaged.
absl::StatusOr<policy::AcceptanceRecord> LoadAcceptances(const std::filesystem::path& home,
                                                         const crypto::PublicKey& site);

// The acceptances of each epoch, by whom and when: a line each, the last epoch last.
std::string AcceptancesText(const policy::AcceptanceRecord& record);

// Keeps the number of the policy that is in force, so that an older one that is put back accepts
// nothing, also before anything was joined or charged under this one. Nothing without a policy or
// a record. Errors are those of the disk.
absl::Status NotePolicyInForce(const std::filesystem::path& home,
                               const std::optional<std::string>& policy,
                               const agreement::MemberKeys& keys);

struct InvitationDecision {
  policy::Acceptance acceptance;
  uint64_t serial = 0;  // of the policy that accepts; 0 without a policy
};

struct InvitationQuestion {
  const std::filesystem::path& home;
  std::optional<std::string> policy;  // its path; none: policy.toml in the home
  const agreement::MemberKeys& keys;
  const storage::file::Membership& joined;  // last
  const storage::file::Membership& next;    // as SiteFolder::CheckInvitation gave it
};

// Whether the site joins without a person: policy::JudgeInvitation under the policy that is signed
// by the pinned officer, and the keys in the record. No table is read. A policy with a smaller
// number than one that was in force at an earlier join, or under which the ledger folder was
// charged, accepts nothing. Whatever cannot be read, judged or is missing is an objection, so a
// person decides.
InvitationDecision DecideInvitation(const InvitationQuestion& question);

// The objections, one a line: "KEY: TEXT", in printable characters.
std::string ObjectionsText(const policy::Acceptance& acceptance);

struct AcceptedInvitation {
  const std::filesystem::path& home;
  const crypto::Digest joined;  // hash of the manifest until now; zeros: none
  std::span<const uint8_t> invitation;
  const storage::file::Membership& next;  // as SiteFolder::CheckInvitation gave it
  const crypto::PublicKey& coordinator;
  const crypto::Unlocker& unlocker;
  std::optional<std::string> policy;  // InvitationQuestion::policy
  policy::AcceptedEpoch accepted;     // who, when, which kinds; the rest follows
};

// SiteFolder::Join, with the record written before it. FailedPrecondition where another process has
// joined another epoch than `joined` meanwhile. A process that is killed in between has
// joined nothing, and the same call ends its work. A damaged record is kept as
// HOME/acceptances.damaged, and a new one begins; one that cannot be read ends the call. The
// server's folder has no record.
absl::StatusOr<storage::file::Membership> JoinAccepted(storage::file::SiteFolder& folder,
                                                       const AcceptedInvitation& accepted);

}  // namespace tacet::site

#endif  // TACET_SITE_INVITATION_ACCEPTANCE_H_
