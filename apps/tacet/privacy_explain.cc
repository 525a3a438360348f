#include "apps/tacet/privacy_explain.h"

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

}  // namespace

absl::StatusOr<std::string> ExplainPrivacy(const FederationPrivacySpec& spec,
                                           const std::vector<PrivacyRow>& rows,
                                           double false_accusations) {
  TACET_ASSIGN_OR_RETURN(const std::vector<ObservedRounds> views,
                         accounting::ObserveFederation(spec));
  std::string out = fmt::format(
      "What is promised\n"
      "Hidden is {}: whether it is what it is or {}. With probability {} per federation, delta, "
      "the "
      "promise may fail.\n\n",
      UnitPhrase(spec),
      spec.neighbouring == Neighbouring::kReplaceOne ? "any other data in its place"
                                                     : "nothing at all (its noise is sent anyway)",
      spec.delta);
  for (const ObservedRounds& view : views) {
    const PrivacyRow* headline = accounting::Headline(rows, view.view);
    if (view.standing != Standing::kGuarantee) {
      continue;
    }
    const bool is_headline = headline != nullptr && headline->releases == view.releases;
    if (headline == nullptr) {
      out +=
          fmt::format("- {}: nothing is promised ({}).\n\n", Audience(view.view, spec), view.note);
      continue;
    }
    TACET_ASSIGN_OR_RETURN(const double power,
                           accounting::AttackPower({{.round = view.round, .count = view.releases}},
                                                   false_accusations));
    double epsilon = *headline->epsilon;
    std::string_view by = accounting::AccountantName(headline->accountant);
    if (!is_headline) {  // another number of participations
      for (const PrivacyRow& row : rows) {
        if (row.view == view.view && row.releases == view.releases && row.epsilon &&
            (row.epsilon < epsilon)) {
          epsilon = *row.epsilon;
          by = accounting::AccountantName(row.accountant);
        }
      }
    }
    out += fmt::format(
        "- {} ({}): epsilon {:.3f} ({}). Of those it may accuse it identifies at most {:.1f} %, if "
        "no more than {:g} % of its accusations may hit the innocent.\n\n",
        Audience(view.view, spec), view.note, epsilon, by, 100 * power, 100 * false_accusations);
  }
  out +=
      "What is not promised\n"
      "- The server together with a key holder opens single uploads: against the two of them "
      "nothing is promised.\n"
      "- Amplification by sampling holds only against those who cannot learn ";
  if (spec.unit != Unit::kClient) {
    out += "which records a site drew. The draw must never leave the site.\n";
  } else {
    out += "the cohorts. Whoever sees the traffic learns them";
    out += spec.cover_uploads ? ", unless every client uploads, as planned here.\n" : ".\n";
  }
  out +=
      "- Whether a client exists, is reachable or uploads is not hidden.\n"
      "- Accuracy and loss on members' data, early stopping and tuning on them are outside epsilon "
      "unless noised and charged.\n"
      "- A client that sends something else than its clipped and noised update loses its own "
      "protection and can spoil the model, not the promise to the others as long as K_min honest "
      "noise shares remain.\n"
      "- What was promised holds for this federation: the same data in another one is charged "
      "again, and the costs add up.\n";
  return out;
}

}  // namespace tacet::app
