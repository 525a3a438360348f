#include "tacet/report/privacy_json.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tacet/base/status.h"
#include "tacet/dp/gaussian.h"
#include "tacet/dp/mechanism_plan.h"
#include "tacet/dp/precision.h"

namespace tacet::report {

using accounting::PrivacyRow;
using accounting::Standing;

bool IsHeadline(const std::vector<PrivacyRow>& rows, const PrivacyRow& row) {
  return accounting::Headline(rows, row.view) == &row;
}

base::JsonValue PrivacyRowJson(const PrivacyRow& row,
                               const std::optional<ImplementationTerms>& terms) {
  base::JsonValue item;
  item.Set("name", accounting::AccountantName(row.accountant))
      .Set("view", accounting::ViewName(row.view))
      .Set("unit", accounting::UnitName(row.unit))
      .Set("neighbouring", accounting::NeighbouringName(row.neighbouring))
      .Set("sampling", accounting::SamplingName(row.sampling))
      .Set("standing", accounting::StandingName(row.standing))
      .Set("epsilon", row.epsilon ? base::JsonValue(*row.epsilon) : base::JsonValue());
  if (row.epsilon_lower) {
    item.Set("epsilon_lower", *row.epsilon_lower);
  }
  if (row.order > 0) {
    item.Set("order", row.order);
  }
  item.Set("delta", row.delta);
  if (terms) {
    item.Set(
        "implementation",
        base::JsonValue::MakeObject().Set("epsilon", terms->epsilon).Set("delta", terms->delta));
  }
  if (row.standing == Standing::kNone) {
    item.Set("reason", row.note);
  } else {
    item.Set("releases", row.releases)
        .Set("noise", row.noise_stddev)
        .Set("sampling_rate", row.sampling_rate)
        .Set("note", row.note);
  }
  return item;
}

std::vector<std::optional<ImplementationTerms>> TermsOfRows(
    const std::vector<PrivacyRow>& rows, const accounting::FederationPrivacySpec& given,
    const MechanismSize& size, std::string& why) {
  std::vector<std::optional<ImplementationTerms>> terms(rows.size());
  const accounting::FederationPrivacySpec spec = accounting::Resolved(given);
  const uint64_t uploads = spec.cover_uploads ? spec.pool : spec.cohort;
  const auto small = [](uint64_t n) {
    return static_cast<uint32_t>(std::min<uint64_t>(n, std::numeric_limits<uint32_t>::max()));
  };
  dp::MechanismSpec mechanism;
  mechanism.dimension = size.dimension;
  mechanism.clip_norm = spec.clip_norm;
  mechanism.coordinate_bound = size.coordinate_bound > 0 ? size.coordinate_bound : spec.clip_norm;
  mechanism.noise_stddev = spec.noise_stddev;
  mechanism.scale = size.quantisation_step;
  mechanism.cohort = small(uploads);
  mechanism.min_participants = small(spec.min_participants);
  mechanism.attempts = small(spec.rounds);
  mechanism.delta = spec.delta;
  mechanism.without_guarantee = true;
  const absl::StatusOr<dp::MechanismPlan> plan = dp::MechanismPlan::Create(mechanism);
  if (!plan.ok()) {
    why = base::Message(plan.status());
    return terms;
  }
  const double draws = plan->draws();
  const dp::GaussianSampler sampler = dp::GaussianSampler::kDefault;
  const double epsilon1 = dp::PrecisionEpsilon(plan->rounding(), draws, dp::kPrecisionDelta);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].standing != Standing::kGuarantee || !rows[i].epsilon) {
      continue;
    }
    const double epsilon = *rows[i].epsilon;
    const double delta = dp::PrecisionDelta(epsilon1, epsilon, rows[i].delta, dp::kPrecisionDelta) +
                         dp::TruncationTerm(draws, dp::GaussianBound(sampler), epsilon) +
                         draws * dp::GaussianCoarseTail(sampler) * (1 + std::exp(epsilon));
    terms[i] = ImplementationTerms{.epsilon = 2 * epsilon1, .delta = std::min(1.0, delta)};
  }
  return terms;
}

base::JsonValue PrivacyRowsJson(const std::vector<PrivacyRow>& rows,
                                const std::vector<std::optional<ImplementationTerms>>& terms) {
  base::JsonValue list = base::JsonValue::MakeArray();
  base::JsonValue headlines = base::JsonValue::MakeArray();
  for (size_t i = 0; i < rows.size(); ++i) {
    base::JsonValue item = PrivacyRowJson(rows[i], terms[i]);
    if (IsHeadline(rows, rows[i])) {
      headlines.Append(item);
    }
    list.Append(std::move(item));
  }
  return base::JsonValue::MakeObject()
      .Set("accountants", std::move(list))
      .Set("headlines", std::move(headlines));
}

}  // namespace tacet::report
