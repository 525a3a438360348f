// Policy of a site: what its privacy officer allows federations to do with the site's data. It is
// read by the member, signed by the officer, and never sent (docs/formats/policy.md).
#ifndef TACET_POLICY_SITE_POLICY_H_
#define TACET_POLICY_SITE_POLICY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/accounting/privacy_event.h"
#include "tacet/base/json.h"
#include "tacet/crypto/signing.h"
#include "tacet/dp/noise_law.h"
#include "tacet/ledger/ledger_format.h"
#include "tacet/policy/change_kind.h"

namespace tacet::policy {

// A kind of use; the other is agreement::kQueryModel.
inline constexpr std::string_view kTraining = "training";
// In `columns`: every column.
inline constexpr std::string_view kEveryColumn = "*";

struct SitePolicy {
  // [policy]
  std::vector<std::string> sites = {};  // names of the sites that it is for
  uint64_t serial = 0;                  // >= 1; a later policy has a larger one
  // Officer who may take over: a site may pin this key in place of the one that signed.
  std::optional<crypto::PublicKey> successor = std::nullopt;
  // [privacy]
  double epsilon_per_year = 0;  // most, of one data set in any year; > 0
  double delta = 0;             // most; in (0, 1)
  std::vector<accounting::Unit> units = {};
  std::vector<accounting::Neighbouring> neighbouring = {accounting::Neighbouring::kReplaceOne,
                                                        accounting::Neighbouring::kZeroOut};
  std::vector<dp::NoiseLaw> noise_laws = {dp::NoiseLaw::kGaussian, dp::NoiseLaw::kDiscreteLaplace};
  uint64_t colluders = 0;    // least
  uint64_t appearances = 0;  // least; for units record and person
  // [federation]
  uint64_t min_participants = 0;   // least
  uint32_t committee_seats = 0;    // least
  uint32_t committee_corrupt = 0;  // least
  uint32_t committee_packing = 0;  // most; 0: any
  bool dummy_uploads = false;      // true: needed
  // [data]
  uint64_t records = 0;                   // least, at this site
  std::vector<std::string> columns = {};  // that may be used
  std::string person_column = {};         // that names persons; empty: any
  // [training]
  std::vector<std::string> kinds = {};  // of use that are allowed
  // [query]
  // Names of the kinds of question that are allowed (docs/formats/query.md); none: every kind.
  std::vector<std::string> question_kinds = {};
  double floor = 0;         // least floor of a query; >= 0
  bool site_groups = true;  // whether a question may be about some sites only
  // [acceptance]
  // Changes that the site joins without a person; none: it asks.
  std::vector<ChangeKind> accepted_kinds = {};
  // Most that all permitted attempts of one agreement may cost then; none: epsilon_per_year.
  std::optional<double> accepted_epsilon = std::nullopt;
  // Most members then whose keys no person at this site has accepted.
  uint64_t unknown_members = 0;
  // [ledger]
  std::string ledger_folder = {};  // the only one, an absolute path
  // The people of these data: the folder's own population, or one of other people, who have a
  // ledger of their own. Only a policy can say so.
  std::string population = std::string(ledger::kMainPopulation);
  std::optional<ledger::ChargingRule> rule = std::nullopt;

  // The smallest unit allowed, which the site's ledger counts.
  accounting::Unit smallest_unit() const;
};

// Reads the TOML file's sections and keys. InvalidArgument names `source` and the key that is
// unknown, missing, of the wrong type or out of range.
absl::StatusOr<SitePolicy> ReadSitePolicy(const base::JsonValue& root, std::string_view source);

}  // namespace tacet::policy

#endif  // TACET_POLICY_SITE_POLICY_H_
