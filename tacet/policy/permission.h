// Permission to take part in a training: proof that a site's policy was asked, which a member's
// session needs before it charges or seals anything.
#ifndef TACET_POLICY_PERMISSION_H_
#define TACET_POLICY_PERMISSION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/agreement/manifest.h"
#include "tacet/agreement/signed_manifest.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/signing.h"
#include "tacet/ledger/privacy_ledger.h"
#include "tacet/policy/site_policy.h"

namespace tacet::policy {

// One question of a query, as far as a policy limits it.
struct QuestionUse {
  std::string name;
  std::string kind;                  // its name (docs/formats/query.md)
  std::vector<std::string> columns;  // that it reads
  // Its numbers are suppressed where the count behind them is below the query's floor.
  bool keeps_floor = true;
  bool names_sites = false;  // it is about some sites only
};

// The use of a site's data by a training or query, beyond what the manifest says.
struct DataUse {
  std::string site = {};  // its name in the federation
  std::string_view kind = kTraining;
  // At this site; none: not known yet, as before the table is read. Then no limit judges it.
  std::optional<uint64_t> records = std::nullopt;
  // Columns of tables that are used, in the words of the agreement; none where it does not name
  // them.
  std::optional<std::vector<std::string>> columns = std::nullopt;
  // The agreement gives columns names of its own, so that they say nothing about the file.
  bool renames_columns = false;
  std::string person_column = {};  // empty: the data do not say whose a row is
  // For a query; none for a training.
  std::vector<QuestionUse> questions = {};
  double floor = 0;
};

// Limit of a policy that a query does not keep.
struct Violation {
  std::string key;   // of the policy file
  std::string text;  // what was found, and what is allowed
};

// Every limit that the agreed query does not keep; none: it is allowed. Whatever the policy says, a
// query without noise, clipping or encryption under a committee is not. Errors of GuaranteesOf.
absl::StatusOr<std::vector<Violation>> ViolationsOf(const SitePolicy& policy,
                                                    const agreement::Manifest& manifest,
                                                    const DataUse& use);

class Permission {
 public:
  // By a policy whose signature was checked, read from `source`. PermissionDenied names `source`,
  // every key that forbids the query, and what to change.
  static absl::StatusOr<Permission> ByPolicy(const SitePolicy& policy, std::string_view source,
                                             const agreement::SignedManifest& manifest,
                                             const DataUse& use);
  // For a site that has no policy. FailedPrecondition when its identity pins an officer: then there
  // must be one.
  static absl::StatusOr<Permission> WithoutPolicy(const std::optional<crypto::PublicKey>& officer,
                                                  const agreement::SignedManifest& manifest);

  // The manifest that it is for, and the budget that the site's ledger has to keep.
  const crypto::Digest& manifest_hash() const { return manifest_hash_; }
  const std::optional<ledger::YearlyBudget>& year() const { return year_; }

 private:
  Permission(const crypto::Digest& manifest_hash, std::optional<ledger::YearlyBudget> year)
      : manifest_hash_(manifest_hash), year_(std::move(year)) {}

  crypto::Digest manifest_hash_;
  std::optional<ledger::YearlyBudget> year_;
};

}  // namespace tacet::policy

#endif  // TACET_POLICY_PERMISSION_H_
