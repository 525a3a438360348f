#include "tacet/report/privacy_json.h"

namespace tacet::report {

using accounting::PrivacyRow;
using accounting::Standing;

bool IsHeadline(const std::vector<PrivacyRow>& rows, const PrivacyRow& row) {
  return accounting::Headline(rows, row.observer) == &row;
}

base::JsonValue PrivacyRowJson(const PrivacyRow& row,
                               const std::optional<dp::ImplementationTerms>& terms) {
  base::JsonValue item;
  item.Set("name", accounting::AccountantName(row.accountant))
      .Set("view", accounting::ObserverName(row.observer))
      .Set("unit", accounting::UnitName(row.unit))
      .Set("neighbouring", accounting::NeighbouringName(row.neighbouring))
      .Set("sampling", accounting::SamplingName(row.sampling))
      .Set("standing", accounting::StandingName(row.standing))
      .Set("epsilon", row.epsilon ? base::JsonValue(*row.epsilon) : base::JsonValue());
  if (row.hypothetical) item.Set("hypothetical", true);
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

std::vector<std::optional<dp::ImplementationTerms>> TermsOfRows(const std::vector<PrivacyRow>& rows,
                                                                const dp::MechanismPlan& plan) {
  std::vector<std::optional<dp::ImplementationTerms>> terms(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].standing != Standing::kGuarantee || !rows[i].epsilon) continue;
    terms[i] = plan.TermsAt(*rows[i].epsilon, rows[i].delta);
  }
  return terms;
}

base::JsonValue PrivacyRowsJson(const std::vector<PrivacyRow>& rows,
                                const std::vector<std::optional<dp::ImplementationTerms>>& terms) {
  base::JsonValue list = base::JsonValue::MakeArray();
  base::JsonValue headlines = base::JsonValue::MakeArray();
  base::JsonValue worst;
  const PrivacyRow* counted = accounting::WorstHeadline(rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    base::JsonValue item = PrivacyRowJson(rows[i], terms[i]);
    if (&rows[i] == counted) worst = item;
    if (IsHeadline(rows, rows[i])) {
      headlines.Append(item);
    }
    list.Append(std::move(item));
  }
  return base::JsonValue::MakeObject()
      .Set("accountants", std::move(list))
      .Set("headlines", std::move(headlines))
      .Set("worst", std::move(worst));
}

}  // namespace tacet::report
