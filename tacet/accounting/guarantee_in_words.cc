#include "tacet/accounting/guarantee_in_words.h"

#include "fmt/format.h"

#include "tacet/accounting/guarantee_limits.h"
#include "tacet/accounting/observers.h"
#include "tacet/accounting/true_positive_rate.h"
#include "tacet/base/status.h"

namespace tacet::accounting {

namespace {

std::string Audience(Observer observer, const FederationPrivacySpec& spec) {
  switch (observer) {
    case Observer::kExternal:
      return "Anyone who sees every model of the training but neither traffic nor cohorts";
    case Observer::kParticipantInCohort:
      return spec.privacy.unit == Unit::kClient ? "A client that took part in every round"
                                                : "Another site, which knows its own noise";
    case Observer::kParticipantOutOfCohort:
      return "A client that took part in no round";
    case Observer::kColluders:
      return "Clients that work together";
    case Observer::kCohortAware:
      if (spec.privacy.unit != Unit::kClient) {
        return "The server, its network, its operators, once they hold the models";
      }
      return spec.sampling.dummy_uploads
                 ? "Anyone who learns who took part although everybody uploads"
                 : "Anyone who knows who took part: the server, its network, its operators, once "
                   "they hold the models";
    case Observer::kTrafficAware:
      return "The server, its network, its operators, who see an upload of every client";
    case Observer::kCoalition:
      return spec.privacy.colluders == 0
                 ? "The server, should it have the epoch's key"
                 : fmt::format("The server together with {} member{}", spec.privacy.colluders,
                               spec.privacy.colluders == 1 ? "" : "s");
    case Observer::kServerWithKeyHolder:
      return "The server together with any one member";
    case Observer::kPublishedParticipant:
      return "A client, by the paper's convention";
  }
  return "";
}

std::string UnitPhrase(Unit unit) {
  switch (unit) {
    case Unit::kClient:
      return "one client's whole contribution";
    case Unit::kPerson:
      return "all records of one person";
    case Unit::kRecord:
      return "one record";
  }
  return "";
}

std::string UnitsPhrase(Unit unit) {
  switch (unit) {
    case Unit::kClient:
      return "clients";
    case Unit::kPerson:
      return "people";
    case Unit::kRecord:
      return "records";
  }
  return "";
}

// The smallest guaranteed bound of an observer over that many rounds; null when there is none.
const PrivacyRow* SmallestBound(const std::vector<PrivacyRow>& rows,
                                const ObservedRounds& observer) {
  const PrivacyRow* smallest = nullptr;
  for (const PrivacyRow& row : rows) {
    if (row.observer == observer.observer && row.releases == observer.releases && row.epsilon &&
        row.standing == Standing::kGuarantee &&
        (smallest == nullptr || *row.epsilon < *smallest->epsilon)) {
      smallest = &row;
    }
  }
  return smallest;
}

}  // namespace

absl::StatusOr<PrivacyStatement> StatePrivacy(const FederationPrivacySpec& spec,
                                              const Guarantees& guarantees,
                                              double false_positive_rate) {
  return StateTraining({&spec, 1}, guarantees, false_positive_rate);
}

absl::StatusOr<PrivacyStatement> StateTraining(TermsInTurn terms, const Guarantees& guarantees,
                                               double false_positive_rate) {
  const FederationPrivacySpec spec = Resolved(terms.back());
  TACET_ASSIGN_OR_RETURN(const std::vector<ObservedRounds> observers, ObserveTraining(terms));
  PrivacyStatement statement{
      .hidden = UnitPhrase(spec.privacy.unit),
      .neighbour = spec.privacy.neighbouring == Neighbouring::kReplaceOne
                       ? "any other data in its place"
                       : "nothing in its place (its noise is sent anyway)",
      .units = UnitsPhrase(spec.privacy.unit),
      .delta = spec.privacy.delta,
      .false_positive_rate = false_positive_rate,
      .guarantees = {},
      .limits = LimitsOf(spec),
  };
  for (const ObservedRounds& observer : observers) {
    if (observer.standing == Standing::kConvention) continue;
    PrivacyGuarantee guarantee{.observer = observer.observer,
                               .audience = Audience(observer.observer, spec),
                               .note = observer.note,
                               .releases = observer.releases,
                               .bound = std::nullopt};
    if (const PrivacyRow* row = SmallestBound(guarantees.rows, observer)) {
      TACET_ASSIGN_OR_RETURN(
          const double true_positive_rate,
          MaxTruePositiveRate({{.round = observer.round, .count = observer.releases}},
                              false_positive_rate));
      guarantee.bound = {.epsilon = *row->epsilon,
                         .accountant = AccountantName(row->accountant),
                         .true_positive_rate = true_positive_rate};
      guarantee.note = row->note;
    }
    statement.guarantees.push_back(std::move(guarantee));
  }
  return statement;
}

std::string MeaningOfEpsilonAndDelta(const PrivacyStatement& statement) {
  return fmt::format(
      "For every set of outcomes, its probability with one data set is at most e^epsilon times its "
      "probability with the other, plus delta. Delta is {}: it bounds the part of the probability "
      "that the factor e^epsilon does not cover.",
      statement.delta);
}

std::string AttackerSentence(const PrivacyStatement& statement,
                             const PrivacyGuarantee::Bound& bound) {
  return fmt::format(
      "An attacker that accepts a {:g} % false-positive rate can identify at most {:.1f} % of the "
      "{} in the training data.",
      100 * statement.false_positive_rate, 100 * bound.true_positive_rate, statement.units);
}

std::string StatementText(const PrivacyStatement& statement) {
  std::string out = fmt::format(
      "Guarantee\n"
      "Protected is {}. The guarantee compares two data sets: the real one, and one with {}. "
      "{}\n\n",
      statement.hidden, statement.neighbour, MeaningOfEpsilonAndDelta(statement));
  std::string limits = "Not guaranteed\n";
  for (const PrivacyGuarantee& guarantee : statement.guarantees) {
    if (!guarantee.bound) {
      limits += fmt::format("- {}: no guarantee ({}).\n", guarantee.audience, guarantee.note);
      continue;
    }
    out += fmt::format("- {} ({}): epsilon {:.3f} ({}). {}\n\n", guarantee.audience, guarantee.note,
                       guarantee.bound->epsilon, guarantee.bound->accountant,
                       AttackerSentence(statement, *guarantee.bound));
  }
  for (const std::string& limit : statement.limits) limits += fmt::format("- {}\n", limit);
  return out + limits;
}

}  // namespace tacet::accounting
