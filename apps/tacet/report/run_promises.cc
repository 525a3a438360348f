#include "apps/tacet/report/run_promises.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <string>

#include "apps/tacet/run/run_output.h"
#include "tacet/accounting/privacy_rows.h"
#include "tacet/base/parallel.h"
#include "tacet/base/status.h"

namespace tacet::app {

using accounting::FederationPrivacySpec;
using federation::ManifestSpec;

namespace {

// Overwrites `target` when the object has that member as a number.
absl::Status Take(const base::JsonValue& object, std::string_view key, uint64_t& target) {
  const base::JsonValue* member = object.Find(key);
  if (member == nullptr || member->is_null()) return absl::OkStatus();
  TACET_ASSIGN_OR_RETURN(target, member->AsUint());
  return absl::OkStatus();
}

absl::Status Take(const base::JsonValue& object, std::string_view key, double& target) {
  const base::JsonValue* member = object.Find(key);
  if (member == nullptr || member->is_null()) return absl::OkStatus();
  TACET_ASSIGN_OR_RETURN(target, member->AsDouble());
  return absl::OkStatus();
}

absl::Status FillFromSummary(const base::JsonValue& summary, ManifestSpec& agreed) {
  TACET_RETURN_IF_ERROR(Take(summary, "clients", agreed.clients));
  TACET_RETURN_IF_ERROR(Take(summary, "dimension", agreed.dimension));
  return Take(summary, "noise", agreed.noise_stddev);
}

// Sites are all in every round; of clients a known share is drawn.
uint64_t ClientsOf(const RunRecord& run, const ManifestSpec& agreed,
                   const accounting::SamplingEvent& charged) {
  if (agreed.unit != accounting::Unit::kClient) {
    return run.rounds.empty() ? 0 : run.rounds.back().cohort_size;
  }
  return charged.sampling_rate > 0
             ? static_cast<uint64_t>(std::llround(agreed.cohort / charged.sampling_rate))
             : 0;
}

// The noise that was charged is in proportion to that of the whole sum.
double NoiseOf(ManifestSpec agreed, const accounting::SamplingEvent& charged) {
  agreed.noise_stddev = 1;
  const double share = federation::ChargedEvent(agreed).noise_stddev;
  return share > 0 ? charged.noise_stddev / share : 0;
}

absl::Status FillFromLedger(const RunRecord& run, ManifestSpec& agreed) {
  if (!run.ledger || run.ledger->entries.empty()) {
    return base::FailedPrecondition("nothing was charged yet");
  }
  const accounting::SamplingEvent& charged = run.ledger->entries.back().event;
  agreed.clients = ClientsOf(run, agreed, charged);
  if (agreed.clients == 0) {
    return base::FailedPrecondition(
        "no round is complete yet, so how many sites there are is not known");
  }
  agreed.noise_stddev = NoiseOf(agreed, charged);
  return absl::OkStatus();
}

// What a run costs whom; with the federation to state it of when there is something to state.
struct Priced {
  base::JsonValue rows;
  std::optional<FederationPrivacySpec> spec;
};

absl::StatusOr<Priced> PriceOf(const RunRecord& run) {
  const auto nothing = [](std::string_view reason) {
    return Priced{
        .rows =
            base::JsonValue::MakeObject().Set("epsilon", base::JsonValue()).Set("reason", reason),
        .spec = std::nullopt};
  };
  const absl::StatusOr<ManifestSpec> agreed = AgreementOf(run);
  if (agreed.status().code() == absl::StatusCode::kFailedPrecondition) {
    return nothing(base::Message(agreed.status()));
  }
  TACET_RETURN_IF_ERROR(agreed.status());
  const uint64_t attempts = ChargedAttempts(run);
  if (attempts == 0) return nothing("nothing was charged yet");
  Priced priced;
  TACET_ASSIGN_OR_RETURN(priced.rows, PrivacyJson(*agreed, attempts));
  if (priced.rows.Find("reason") == nullptr) priced.spec = PrivacyOf(*agreed, attempts);
  return priced;
}

struct Statement {
  FederationPrivacySpec spec;
  absl::StatusOr<PrivacyStatement> text;
};

absl::StatusOr<PrivacyStatement> StatePromises(const FederationPrivacySpec& spec) {
  TACET_ASSIGN_OR_RETURN(const std::vector<accounting::PrivacyRow> rows,
                         accounting::PrivacyRows(spec));
  return StatePrivacy(spec, rows);
}

}  // namespace

absl::StatusOr<ManifestSpec> AgreementOf(const RunRecord& run) {
  TACET_ASSIGN_OR_RETURN(const federation::SimulationSpec spec, SimulationSpecOf(run.config));
  ManifestSpec agreed = spec.manifest;
  if (run.summary) {
    TACET_RETURN_IF_ERROR(
        base::Annotate(FillFromSummary(*run.summary, agreed), (run.path / kSummaryFile).string()));
  } else {
    TACET_RETURN_IF_ERROR(FillFromLedger(run, agreed));
  }
  if (agreed.unit != accounting::Unit::kClient) {
    agreed.cohort = static_cast<uint32_t>(agreed.clients);
  }
  return agreed;
}

uint64_t ChargedAttempts(const RunRecord& run) {
  uint64_t attempts = 0;
  if (run.ledger) {
    for (const federation::LedgerEntry& entry : run.ledger->entries) attempts += entry.count;
  } else {
    for (const federation::RoundRecord& round : run.rounds) attempts += round.attempts;
  }
  return attempts;
}

absl::StatusOr<std::vector<RunPromises>> PromisesOf(std::span<const RunRecord> runs) {
  std::vector<RunPromises> promises(runs.size());
  // Statements to make, by the rows that they are about: those hold all that a statement needs.
  std::map<std::string, Statement> statements;
  std::vector<Statement*> of_run(runs.size());
  for (size_t i = 0; i < runs.size(); ++i) {
    absl::StatusOr<Priced> priced = PriceOf(runs[i]);
    if (!priced.ok()) return base::Annotate(priced.status(), runs[i].path.string());
    promises[i].rows = std::move(priced->rows);
    if (!priced->spec) continue;
    of_run[i] = &statements[promises[i].rows.Dump()];
    of_run[i]->spec = *priced->spec;
  }
  std::vector<Statement*> waiting;
  for (auto& [rows, statement] : statements) waiting.push_back(&statement);
  std::atomic<size_t> next = 0;
  base::RunOnThreads(std::min(base::Processors(), waiting.size()), [&](size_t) {
    for (size_t i = next++; i < waiting.size(); i = next++) {
      waiting[i]->text = StatePromises(waiting[i]->spec);
    }
  });
  for (size_t i = 0; i < runs.size(); ++i) {
    if (of_run[i] == nullptr) continue;
    if (!of_run[i]->text.ok()) {
      return base::Annotate(of_run[i]->text.status(), runs[i].path.string());
    }
    promises[i].statement = *of_run[i]->text;
  }
  return promises;
}

}  // namespace tacet::app
