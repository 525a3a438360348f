#include "tacet/api/core/guarantee.h"

#include "tacet/accounting/guarantee_in_words.h"
#include "tacet/api/core/options.h"
#include "tacet/api/core/privacy_model.h"
#include "tacet/base/status.h"

namespace tacet {
namespace api {
namespace {

GuaranteeRow PublicRow(const accounting::PrivacyRow& row) {
  GuaranteeRow result;
  result.observer = Public(row.observer);
  result.accountant = Public(row.accountant);
  result.standing = Public(row.standing);
  result.hypothetical = row.hypothetical;
  result.epsilon = row.epsilon;
  result.epsilon_lower = row.epsilon_lower;
  result.delta = row.delta;
  result.order = row.order;
  result.noise_law = Public(row.noise_law);
  result.noise_stddev = row.noise_stddev;
  result.sampling_rate = row.sampling_rate;
  result.releases = row.releases;
  if (row.implementation) {
    result.added_epsilon = row.implementation->epsilon;
    result.added_delta = row.implementation->delta;
  }
  result.note = row.note;
  return result;
}

}  // namespace

Guarantee PublicGuarantee(const accounting::Guarantees& guarantees, double delta) {
  Guarantee result;
  result.epsilon = guarantees.epsilon();
  result.delta = delta;
  if (guarantees.headline() != nullptr && guarantees.headline()->epsilon) {
    result.headline = guarantees.worst;
  }
  for (const accounting::PrivacyRow& row : guarantees.rows) result.rows.push_back(PublicRow(row));
  return result;
}

}  // namespace api

absl::StatusOr<Guarantee> ComputeGuarantee(const FederationOptions& federation) {
  TACET_ASSIGN_OR_RETURN(const accounting::FederationPrivacySpec spec,
                         api::PrivacySpecOf(federation));
  TACET_ASSIGN_OR_RETURN(const accounting::Guarantees guarantees, accounting::GuaranteesOf(spec));
  return api::PublicGuarantee(guarantees, federation.delta);
}

absl::StatusOr<std::string> ExplainGuarantee(const FederationOptions& federation,
                                             double false_positive_rate) {
  TACET_ASSIGN_OR_RETURN(const accounting::FederationPrivacySpec spec,
                         api::PrivacySpecOf(federation));
  TACET_ASSIGN_OR_RETURN(const accounting::Guarantees guarantees, accounting::GuaranteesOf(spec));
  TACET_ASSIGN_OR_RETURN(const accounting::PrivacyStatement statement,
                         accounting::StatePrivacy(spec, guarantees, false_positive_rate));
  return accounting::StatementText(statement);
}

}  // namespace tacet
