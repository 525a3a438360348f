#include "tacet/policy/permission.h"

#include <algorithm>
#include <utility>

#include "tacet/accounting/privacy_rows.h"
#include "tacet/base/status.h"

namespace tacet::policy {
namespace {

using accounting::Unit;
using agreement::ManifestSpec;

template <typename T>
bool Has(const std::vector<T>& list, const T& value) {
  return std::ranges::find(list, value) != list.end();
}

class Checks {
 public:
  Checks(const SitePolicy& policy, const agreement::Manifest& manifest, const DataUse& use)
      : policy_(policy), manifest_(manifest), agreed_(manifest.spec()), use_(use) {}

  absl::StatusOr<std::vector<Violation>> Run() && {
    if (!Has(policy_.sites, use_.site)) {
      Violate("policy.sites", fmt::format("\"{}\" is not in it", use_.site));
    }
    Protections();
    TACET_RETURN_IF_ERROR(Epsilon());
    Units();
    Federation();
    Data();
    Questions();
    return std::move(violations_);
  }

 private:
  void Violate(std::string key, std::string text) {
    violations_.push_back({.key = std::move(key), .text = std::move(text)});
  }
  void AtLeast(std::string key, uint64_t least, uint64_t found, std::string_view agreed_key) {
    if (found >= least) return;
    Violate(std::move(key),
            fmt::format("{} is {}, at least {} is required", agreed_key, found, least));
  }

  // The keys that no policy can be without.
  void Protections() {
    if (!agreed_.mechanism.makes_guarantee() || !(agreed_.mechanism.noise_stddev > 0)) {
      Violate("privacy.epsilon_per_year",
              "the agreement leaves out noise or clipping: nothing is guaranteed");
    }
    if (agreed_.scheme != he::Scheme::kCompact || agreed_.without_encryption) {
      Violate("federation.committee_seats",
              fmt::format("aggregation.parameters is {}: no committee protects single updates",
                          he::SchemeName(agreed_.scheme)));
    }
  }

  absl::Status Epsilon() {
    if (agreed_.privacy.delta > policy_.delta) {
      Violate("privacy.delta", fmt::format("privacy.delta is {}, at most {} is allowed",
                                           agreed_.privacy.delta, policy_.delta));
    }
    if (!agreed_.mechanism.makes_guarantee() || !(agreed_.mechanism.noise_stddev > 0)) {
      return absl::OkStatus();
    }
    // At the policy's delta: a smaller one that was agreed is the stronger guarantee.
    accounting::FederationPrivacySpec judged =
        agreement::PrivacyOf(agreed_, manifest_.attempt_budget());
    judged.privacy.delta = std::max(agreed_.privacy.delta, policy_.delta);
    TACET_ASSIGN_OR_RETURN(const accounting::Guarantees guarantees,
                           accounting::GuaranteesOf(judged, accounting::Extent::kHeadline,
                                                    &manifest_.terms().mechanism()));
    double epsilon = guarantees.epsilon();
    if (agreed_.privacy.budget_epsilon > 0) {
      epsilon = std::min(epsilon, agreed_.privacy.budget_epsilon);
    }
    if (epsilon <= policy_.epsilon_per_year) return absl::OkStatus();
    Violate("privacy.epsilon_per_year",
            fmt::format("all permitted attempts together cost epsilon {:.6g} at delta {}, at most "
                        "{} is allowed",
                        epsilon, judged.privacy.delta, policy_.epsilon_per_year));
    return absl::OkStatus();
  }

  void Units() {
    if (!Has(policy_.units, agreed_.privacy.unit)) {
      Violate("privacy.units", fmt::format("privacy.unit is {}, which is not allowed",
                                           accounting::UnitName(agreed_.privacy.unit)));
    }
    if (!Has(policy_.neighbouring, agreed_.privacy.neighbouring)) {
      Violate("privacy.neighbouring",
              fmt::format("privacy.neighbouring is {}, which is not allowed",
                          accounting::NeighbouringName(agreed_.privacy.neighbouring)));
    }
    if (!Has(policy_.noise_laws, agreed_.mechanism.noise_law)) {
      Violate("privacy.noise_laws", fmt::format("noise_law is {}, which is not allowed",
                                                dp::NoiseLawName(agreed_.mechanism.noise_law)));
    }
    AtLeast("privacy.colluders", policy_.colluders, agreed_.privacy.colluders, "privacy.colluders");
    if (agreed_.privacy.unit != Unit::kClient) {
      AtLeast("privacy.appearances", policy_.appearances, agreed_.sampling.appearances,
              "privacy.appearances");
    } else if (policy_.appearances > 1 && std::ranges::any_of(policy_.units, [](Unit unit) {
                 return unit != Unit::kClient;
               })) {
      Violate("privacy.appearances",
              fmt::format("privacy.unit is client, whose epsilon is about one site alone; a unit "
                          "that appears at {} sites is not protected by it",
                          policy_.appearances));
    }
  }

  void Federation() {
    AtLeast("federation.min_participants", policy_.min_participants,
            agreed_.sampling.min_participants, "federation.min_participants");
    AtLeast("federation.committee_seats", policy_.committee_seats, agreed_.committee.seats,
            "federation.committee_seats");
    AtLeast("federation.committee_corrupt", policy_.committee_corrupt, agreed_.committee.corrupt,
            "federation.committee_corrupt");
    if (policy_.committee_packing > 0 && agreed_.committee.packing > policy_.committee_packing) {
      Violate("federation.committee_packing",
              fmt::format("federation.committee_packing is {}, at most {} is allowed",
                          agreed_.committee.packing, policy_.committee_packing));
    }
    if (policy_.dummy_uploads && !agreed_.sampling.dummy_uploads) {
      Violate("federation.dummy_uploads",
              "federation.dummy_uploads is false: it would be seen when this site takes part");
    }
  }

  void Data() {
    if (!Has(policy_.kinds, std::string(use_.kind))) {
      Violate("training.kinds", fmt::format("a {} is not allowed", use_.kind));
    }
    if (use_.records.has_value()) {
      AtLeast("data.records", policy_.records, *use_.records, "the number of records at this site");
    }
    const bool of_persons = agreed_.privacy.unit == Unit::kPerson;
    if (of_persons && !policy_.person_column.empty() &&
        use_.person_column != policy_.person_column) {
      Violate("data.person_column",
              fmt::format("data.csv_person_column is \"{}\", persons are told apart by \"{}\"",
                          use_.person_column, policy_.person_column));
    }
    Columns();
  }

  void Columns() {
    if (Has(policy_.columns, std::string(kEveryColumn))) return;
    if (!use_.columns.has_value()) {
      return Violate("data.columns", "the agreement names no columns (data.csv_features)");
    }
    if (use_.renames_columns) {
      return Violate("data.columns",
                     "data.csv_columns gives the columns names that are not the file's");
    }
    for (const std::string& column : *use_.columns) {
      if (Has(policy_.columns, column)) continue;
      Violate("data.columns",
              fmt::format("the column \"{}\"{} is not allowed", column, ReadBy(column)));
    }
  }
  std::string ReadBy(const std::string& column) const {
    for (const QuestionUse& question : use_.questions) {
      if (Has(question.columns, column)) {
        return fmt::format(", which question \"{}\" reads,", question.name);
      }
    }
    return "";
  }

  // Every question of a query by itself: none hides behind the others of its release.
  void Questions() {
    for (const QuestionUse& question : use_.questions) {
      if (!policy_.question_kinds.empty() && !Has(policy_.question_kinds, question.kind)) {
        Violate("query.kinds", fmt::format("question \"{}\" has the kind {}, which is not allowed",
                                           question.name, question.kind));
      }
      if (!policy_.site_groups && question.names_sites) {
        Violate("query.site_groups",
                fmt::format("question \"{}\" is about some sites only, which is not allowed",
                            question.name));
      }
      if (policy_.floor > 0 && !question.keeps_floor) {
        Violate("query.floor",
                fmt::format("question \"{}\" has the kind {}, which knows no count that a floor "
                            "could suppress: ask for the mean, which states the sum, too",
                            question.name, question.kind));
      }
    }
    if (!use_.questions.empty() && use_.floor < policy_.floor) {
      Violate("query.floor",
              fmt::format("floor is {}, at least {} is required", use_.floor, policy_.floor));
    }
  }

  const SitePolicy& policy_;
  const agreement::Manifest& manifest_;
  const ManifestSpec& agreed_;
  const DataUse& use_;
  std::vector<Violation> violations_;
};

}  // namespace

absl::StatusOr<std::vector<Violation>> ViolationsOf(const SitePolicy& policy,
                                                    const agreement::Manifest& manifest,
                                                    const DataUse& use) {
  return Checks(policy, manifest, use).Run();
}

absl::StatusOr<Permission> Permission::ByPolicy(const SitePolicy& policy, std::string_view source,
                                                const agreement::SignedManifest& manifest,
                                                const DataUse& use) {
  DataUse judged = use;
  judged.records = use.records.value_or(0);  // a run has counted them
  TACET_ASSIGN_OR_RETURN(const std::vector<Violation> violations,
                         ViolationsOf(policy, manifest.manifest(), judged));
  if (violations.empty()) {
    return Permission(
        manifest.manifest().hash(),
        ledger::YearlyBudget{.epsilon = policy.epsilon_per_year,
                             .delta = policy.delta,
                             .source = fmt::format("{}: privacy.epsilon_per_year", source)});
  }
  std::string list;
  for (const Violation& violation : violations) {
    list += fmt::format("{}{}: {}", list.empty() ? "" : "; ", violation.key, violation.text);
  }
  return base::PermissionDenied(
      "{} refuses epoch {} of {}: {}. Nothing was charged or sealed; the coordinator has to change "
      "the agreement, or the officer the policy",
      source, manifest.epoch(), manifest.federation(), list);
}

absl::StatusOr<Permission> Permission::WithoutPolicy(
    const std::optional<crypto::PublicKey>& officer, const agreement::SignedManifest& manifest) {
  if (officer.has_value()) {
    return base::FailedPrecondition(
        "this site's identity pins an officer, whose policy is needed: put policy.toml and its "
        "signature back");
  }
  return Permission(manifest.manifest().hash(), std::nullopt);
}

}  // namespace tacet::policy
