#include "tacet/report/privacy_json.h"

#include <utility>

#include "tacet/base/json_lists.h"

namespace tacet::report {

using accounting::PrivacyRow;
using accounting::Standing;

namespace {

base::JsonValue RowJson(const PrivacyRow& row) {
  base::JsonValue item;
  item.Set("name", accounting::AccountantName(row.accountant))
      .Set("observer", accounting::ObserverName(row.observer))
      .Set("unit", accounting::UnitName(row.unit))
      .Set("neighbouring", accounting::NeighbouringName(row.neighbouring))
      .Set("sampling", accounting::SamplingName(row.sampling))
      .Set("standing", accounting::StandingName(row.standing))
      .Set("epsilon", base::OrNull(row.epsilon));
  if (row.hypothetical) item.Set("hypothetical", true);
  if (row.epsilon_lower) {
    item.Set("epsilon_lower", *row.epsilon_lower);
  }
  if (row.order > 0) {
    item.Set("order", row.order);
  }
  item.Set("delta", row.delta);
  if (row.implementation) {
    item.Set("implementation", base::JsonValue::MakeObject()
                                   .Set("epsilon", row.implementation->epsilon)
                                   .Set("delta", row.implementation->delta));
  }
  if (row.standing == Standing::kNone) {
    item.Set("reason", row.note);
  } else {
    item.Set("releases", row.releases)
        .Set("noise_law", dp::NoiseLawName(row.noise_law))
        .Set("noise_stddev", row.noise_stddev)
        .Set("sampling_rate", row.sampling_rate)
        .Set("note", row.note);
  }
  return item;
}

}  // namespace

base::JsonValue GuaranteesJson(const accounting::Guarantees& guarantees) {
  base::JsonValue list = base::JsonValue::MakeArray();
  base::JsonValue headlines = base::JsonValue::MakeArray();
  base::JsonValue worst;
  for (const PrivacyRow& row : guarantees.rows) {
    base::JsonValue item = RowJson(row);
    if (&row == guarantees.headline()) worst = item;
    if (&row == guarantees.HeadlineOf(row.observer)) headlines.Append(item);
    list.Append(std::move(item));
  }
  return base::JsonValue::MakeObject()
      .Set("accountants", std::move(list))
      .Set("headlines", std::move(headlines))
      .Set("worst", std::move(worst));
}

base::JsonValue PrivacyJson(const accounting::Guarantees& guarantees,
                            const std::vector<std::string>& warnings) {
  if (guarantees.rows.empty()) {
    return base::JsonValue::MakeObject()
        .Set("epsilon", base::JsonValue())
        .Set("reason", "the run was made without noise or without clipping: no guarantee");
  }
  return GuaranteesJson(guarantees).Set("warnings", base::JsonList(warnings));
}

base::JsonValue EventJson(const accounting::SamplingEvent& event) {
  base::JsonValue json = base::JsonValue::MakeObject();
  json.Set("sampling", accounting::SamplingName(event.sampling))
      .Set("rate", event.sampling_rate)
      .Set("noise_stddev", event.noise_stddev)
      .Set("clip_norm", event.clip_norm);
  if (event.pure_epsilon > 0) json.Set("pure_epsilon", event.pure_epsilon);
  return json;
}

base::JsonValue StatementJson(const accounting::PrivacyStatement& statement) {
  base::JsonValue list = base::JsonValue::MakeArray();
  for (const accounting::PrivacyGuarantee& guarantee : statement.guarantees) {
    base::JsonValue item = base::JsonValue::MakeObject()
                               .Set("observer", accounting::ObserverName(guarantee.observer))
                               .Set("audience", guarantee.audience)
                               .Set("note", guarantee.note)
                               .Set("releases", guarantee.releases);
    if (guarantee.bound) {
      item.Set("epsilon", guarantee.bound->epsilon)
          .Set("accountant", guarantee.bound->accountant)
          .Set("true_positive_rate", guarantee.bound->true_positive_rate)
          .Set("attacker", accounting::AttackerSentence(statement, *guarantee.bound));
    } else {
      item.Set("epsilon", base::JsonValue());
    }
    list.Append(std::move(item));
  }
  return base::JsonValue::MakeObject()
      .Set("hidden", statement.hidden)
      .Set("neighbour", statement.neighbour)
      .Set("units", statement.units)
      .Set("delta", statement.delta)
      .Set("meaning", accounting::MeaningOfEpsilonAndDelta(statement))
      .Set("false_positive_rate", statement.false_positive_rate)
      .Set("guarantees", std::move(list))
      .Set("limits", base::JsonList(statement.limits));
}

}  // namespace tacet::report
