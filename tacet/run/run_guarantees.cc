#include "tacet/run/run_guarantees.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <string>
#include <utility>

#include "tacet/agreement/charged_terms.h"
#include "tacet/agreement/privacy_warnings.h"
#include "tacet/base/parallel.h"
#include "tacet/base/status.h"
#include "tacet/report/privacy_json.h"
#include "tacet/run/run_output.h"

namespace tacet::run {

namespace {

// A statement to make in words.
struct Statement {
  std::vector<agreement::ChargedTerms> terms;
  accounting::Guarantees guarantees;
  absl::StatusOr<accounting::PrivacyStatement> text{};
};

// Privacy cost of a run for each observer; with a statement when there is a guarantee to state.
struct Priced {
  base::JsonValue rows;
  base::JsonValue permitted_attempts;
  base::JsonValue charged_epsilon;
  std::optional<Statement> statement;
};

absl::StatusOr<Priced> PriceOf(const run::RunRecord& run) {
  Priced priced;
  absl::StatusOr<std::vector<agreement::ChargedTerms>> terms = run::TermsOf(run);
  if (terms.status().code() == absl::StatusCode::kFailedPrecondition) {
    priced.rows = base::JsonValue::MakeObject()
                      .Set("epsilon", base::JsonValue())
                      .Set("reason", base::Message(terms.status()));
    return priced;
  }
  TACET_RETURN_IF_ERROR(terms.status());
  TACET_ASSIGN_OR_RETURN(priced.charged_epsilon, agreement::ChargedEpsilon(*terms));
  std::vector<agreement::ChargedTerms> permitted = agreement::PermittedTerms(*terms);
  priced.permitted_attempts = agreement::AttemptsIn(permitted);
  TACET_ASSIGN_OR_RETURN(accounting::Guarantees guarantees, agreement::GuaranteesOf(permitted));
  TACET_ASSIGN_OR_RETURN(const std::vector<std::string> warnings,
                         agreement::PrivacyWarnings(permitted.back().plan.spec()));
  priced.rows = report::PrivacyJson(guarantees, warnings);
  if (guarantees.headline() != nullptr) {
    priced.statement = {.terms = std::move(permitted), .guarantees = std::move(guarantees)};
  }
  return priced;
}

}  // namespace

absl::StatusOr<std::vector<RunGuarantees>> GuaranteesOf(std::span<const run::RunRecord> runs) {
  std::vector<RunGuarantees> results(runs.size());
  // Statements to make, by the rows that they are about: those hold all that a statement needs.
  std::map<std::string, Statement> statements;
  std::vector<Statement*> of_run(runs.size());
  for (size_t i = 0; i < runs.size(); ++i) {
    absl::StatusOr<Priced> priced = PriceOf(runs[i]);
    if (!priced.ok()) return base::Annotate(priced.status(), runs[i].path.string());
    results[i].rows = std::move(priced->rows);
    results[i].permitted_attempts = std::move(priced->permitted_attempts);
    results[i].charged_epsilon = std::move(priced->charged_epsilon);
    if (!priced->statement) continue;
    const std::string key = results[i].rows.Dump();
    of_run[i] = &statements.try_emplace(key, *std::move(priced->statement)).first->second;
  }
  std::vector<Statement*> waiting;
  for (auto& [rows, statement] : statements) waiting.push_back(&statement);
  std::atomic<size_t> next = 0;
  base::RunOnThreads(std::min(base::Processors(), waiting.size()), [&](size_t) {
    for (size_t i = next++; i < waiting.size(); i = next++) {
      waiting[i]->text = agreement::StatePrivacy(waiting[i]->terms, waiting[i]->guarantees);
    }
  });
  for (size_t i = 0; i < runs.size(); ++i) {
    if (of_run[i] == nullptr) continue;
    if (!of_run[i]->text.ok()) {
      return base::Annotate(of_run[i]->text.status(), runs[i].path.string());
    }
    results[i].statement = *of_run[i]->text;
  }
  return results;
}

}  // namespace tacet::run
