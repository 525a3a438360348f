// Ledger of a site's population: where it is, how this federation is charged to it, and what must
// not be missing from it.
#ifndef TACET_SITE_SITE_LEDGER_H_
#define TACET_SITE_SITE_LEDGER_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/agreement/manifest.h"
#include "tacet/config/run_config.h"
#include "tacet/ledger/privacy_ledger.h"
#include "tacet/member/member_state.h"
#include "tacet/policy/permission.h"
#include "tacet/site/site_policy.h"
#include "tacet/storage/file/ledger_folder.h"

namespace tacet::site {

struct SiteLedger {
  std::filesystem::path folder;
  std::unique_ptr<ledger::PrivacyLedger> ledger;
  ledger::ChargingRule rule = ledger::ChargingRule::kAnnouncedAttempts;
};

struct SiteLedgerSpec {
  const std::filesystem::path& home;
  const config::LedgerConfig& config;
  const agreement::Manifest& manifest;
  uint32_t member;  // this site's number in it
  const member::MemberState& state;
  const std::optional<SignedPolicy>& policy;
  const policy::Permission& permission;
};

// The ledger of the folder's own population or of the one that the policy names, or a new one. No
// table, name or setting of the site chooses it. HOME/ledger.anchor and HOME/state/ledger.anchor
// remember what this home has charged. Errors of LedgerFolder; FailedPrecondition when the site's
// state has begun attempts and an anchor is gone, when the population was charged under a policy
// that this home has not, or any of the folder under a later one, or when this training was charged
// by another rule; PermissionDenied when the policy demands another place or rule.
absl::StatusOr<SiteLedger> OpenSiteLedger(const SiteLedgerSpec& spec);

}  // namespace tacet::site

#endif  // TACET_SITE_SITE_LEDGER_H_
