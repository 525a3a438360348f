#include "apps/tacet/privacy/privacy_explain.h"

#include <string_view>

#include "fmt/format.h"

#include "tacet/accounting/attack_power.h"
#include "tacet/accounting/views.h"
#include "tacet/base/status.h"

namespace tacet::app {

using accounting::FederationPrivacySpec;
using accounting::Neighbouring;
using accounting::ObservedRounds;
using accounting::PrivacyRow;
using accounting::Standing;
using accounting::Unit;
using accounting::View;

namespace {

std::string_view Audience(View view, const FederationPrivacySpec& spec) {
  switch (view) {
    case View::kOutsider:
      return "Anyone who sees every model of the training but neither traffic nor cohorts";
    case View::kParticipantInCohort:
      return spec.unit == Unit::kClient ? "A client that took part in every round"
                                        : "Another site, which knows its own noise";
    case View::kParticipantOutOfCohort:
      return "A client that took part in no round";
    case View::kColluders:
      return "Clients that work together";
    case View::kCohortKnowing:
      if (spec.unit != Unit::kClient) {
        return "The server, its network, its operators, once they hold the models";
      }
      return spec.cover_uploads
                 ? "Whoever learns who took part although everybody uploads"
                 : "Whoever knows who took part: the server, its network, its operators, once they "
                   "hold the models";
    case View::kTrafficObserver:
      return "The server, its network, its operators, who see an upload of every client";
    case View::kServerWithKeyHolder:
      return "The server together with one holder of the keys";
    case View::kPublishedParticipant:
      return "A client, by the paper's convention";
  }
  return "";
}

std::string UnitPhrase(const FederationPrivacySpec& spec) {
  switch (spec.unit) {
    case Unit::kClient:
      return "one client's whole contribution";
    case Unit::kPerson:
      return "all records of one person";
    case Unit::kRecord:
      return "one record";
  }
  return "";
}

// The smallest guaranteed bound of a view over that many rounds; null when there is none.
const PrivacyRow* SmallestBound(const std::vector<PrivacyRow>& rows, const ObservedRounds& view) {
  const PrivacyRow* smallest = nullptr;
  for (const PrivacyRow& row : rows) {
    if (row.view == view.view && row.releases == view.releases && row.epsilon &&
        row.standing == Standing::kGuarantee &&
        (smallest == nullptr || *row.epsilon < *smallest->epsilon)) {
      smallest = &row;
    }
  }
  return smallest;
}

std::vector<std::string> Limits(const FederationPrivacySpec& spec) {
  std::string sampling = "Amplification by sampling holds only against those who cannot learn ";
  if (spec.unit != Unit::kClient) {
    sampling += "which records a site drew. The draw must never leave the site.";
  } else {
    sampling += "the cohorts. Whoever sees the traffic learns them";
    sampling += spec.cover_uploads ? ", unless every client uploads, as planned here." : ".";
  }
  return {
      std::move(sampling),
      "Whether a client exists, is reachable or uploads is not hidden.",
      "Accuracy and loss on members' data, early stopping and tuning on them are outside epsilon "
      "unless noised and charged.",
      "A client that sends something else than its clipped and noised update loses its own "
      "protection and can spoil the model, not the promise to the others as long as K_min honest "
      "noise shares remain.",
      "What was promised holds for this federation: the same data in another one is charged "
      "again, and the costs add up.",
  };
}

}  // namespace

absl::StatusOr<PrivacyStatement> StatePrivacy(const FederationPrivacySpec& spec,
                                              const std::vector<PrivacyRow>& rows,
                                              double false_accusations) {
  TACET_ASSIGN_OR_RETURN(const std::vector<ObservedRounds> views,
                         accounting::ObserveFederation(spec));
  PrivacyStatement statement{
      .hidden = std::string(UnitPhrase(spec)),
      .neighbour = spec.neighbouring == Neighbouring::kReplaceOne
                       ? "any other data in its place"
                       : "nothing at all (its noise is sent anyway)",
      .delta = spec.delta,
      .false_accusations = false_accusations,
      .promises = {},
      .limits = Limits(spec),
  };
  for (const ObservedRounds& view : views) {
    if (view.standing == Standing::kConvention) continue;
    PrivacyPromise promise{.view = view.view,
                           .audience = std::string(Audience(view.view, spec)),
                           .note = view.note,
                           .releases = view.releases,
                           .bound = std::nullopt};
    if (const PrivacyRow* row = SmallestBound(rows, view)) {
      TACET_ASSIGN_OR_RETURN(
          const double power,
          accounting::AttackPower({{.round = view.round, .count = view.releases}},
                                  false_accusations));
      promise.bound = {.epsilon = *row->epsilon,
                       .accountant = accounting::AccountantName(row->accountant),
                       .power = power};
      promise.note = row->note;
    }
    statement.promises.push_back(std::move(promise));
  }
  return statement;
}

std::string StatementText(const PrivacyStatement& statement) {
  std::string out = fmt::format(
      "What is promised\n"
      "Hidden is {}: whether it is what it is or {}. With probability {} per federation, delta, "
      "the promise may fail.\n\n",
      statement.hidden, statement.neighbour, statement.delta);
  std::string nothing = "What is not promised\n";
  for (const PrivacyPromise& promise : statement.promises) {
    if (!promise.bound) {
      nothing += fmt::format("- {}: nothing is promised ({}).\n", promise.audience, promise.note);
      continue;
    }
    out += fmt::format(
        "- {} ({}): epsilon {:.3f} ({}). Of those it may accuse it identifies at most {:.1f} %, if "
        "no more than {:g} % of its accusations may hit the innocent.\n\n",
        promise.audience, promise.note, promise.bound->epsilon, promise.bound->accountant,
        100 * promise.bound->power, 100 * statement.false_accusations);
  }
  for (const std::string& limit : statement.limits) nothing += fmt::format("- {}\n", limit);
  return out + nothing;
}

base::JsonValue StatementJson(const PrivacyStatement& statement) {
  base::JsonValue promises = base::JsonValue::MakeArray();
  for (const PrivacyPromise& promise : statement.promises) {
    base::JsonValue item = base::JsonValue::MakeObject()
                               .Set("view", accounting::ViewName(promise.view))
                               .Set("audience", promise.audience)
                               .Set("note", promise.note)
                               .Set("releases", promise.releases);
    if (promise.bound) {
      item.Set("epsilon", promise.bound->epsilon)
          .Set("accountant", promise.bound->accountant)
          .Set("power", promise.bound->power);
    } else {
      item.Set("epsilon", base::JsonValue());
    }
    promises.Append(std::move(item));
  }
  base::JsonValue limits = base::JsonValue::MakeArray();
  for (const std::string& limit : statement.limits) limits.Append(limit);
  return base::JsonValue::MakeObject()
      .Set("hidden", statement.hidden)
      .Set("neighbour", statement.neighbour)
      .Set("delta", statement.delta)
      .Set("false_accusations", statement.false_accusations)
      .Set("promises", std::move(promises))
      .Set("limits", std::move(limits));
}

}  // namespace tacet::app
