// Output of a simulated run: lines for its user, files in its directory.
#ifndef TACET_RUN_RUN_OUTPUT_H_
#define TACET_RUN_RUN_OUTPUT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/agreement/charged_terms.h"
#include "tacet/audit/audit_facts.h"
#include "tacet/base/json.h"
#include "tacet/base/stop_signal.h"
#include "tacet/base/text_sink.h"
#include "tacet/simulation/simulation.h"
#include "tacet/storage/file/run_directory.h"

namespace tacet::run {

// Files of a run directory next to those of RunDirectory (docs/formats/run-directory.md).
inline constexpr std::string_view kConfigFile = "config.toml";
inline constexpr std::string_view kMetricsFile = "metrics.jsonl";
inline constexpr std::string_view kSummaryFile = "summary.json";
inline constexpr std::string_view kModelFile = "model.f32";
inline constexpr std::string_view kStartFile = "start.json";
inline constexpr std::string_view kLedgerFile = "ledger";
inline constexpr std::string_view kAuditKeyFile = "audit.key";
inline constexpr std::string_view kAttackFile = "attack.json";
inline constexpr std::string_view kRefusedFile = "refused";
inline constexpr std::string_view kCheckpointFile = "checkpoint";
inline constexpr std::string_view kAttemptsFile = "attempts";
inline constexpr std::string_view kAttestationsFile = "attestations";
inline constexpr std::string_view kAbstentionsFile = "abstentions";

// The file of a manifest: the canonical bytes of what one process's members agreed on.
std::string ManifestFile(const crypto::Digest& hash);

// The console's line of a round: participants, epsilon so far of the worst observer that has a
// guarantee, seconds and, where the model was evaluated, accuracy and loss. `rounds` is T.
std::string RoundLine(const simulation::RoundRecord& record, uint32_t rounds,
                      const std::vector<std::string>& labels);

// Participants of each round that did not abstain, null where its sum was not seen; and in words.
base::JsonValue GiversJson(std::span<const simulation::RoundRecord> rounds);
std::string GiversText(std::span<const simulation::RoundRecord> rounds);

// One line of metrics.jsonl.
base::JsonValue RoundJson(const simulation::RoundRecord& record,
                          const std::vector<std::string>& labels);

// The processor that measured: its name, number of cores, instruction set in use.
base::JsonValue MachineJson();

// Results at the end of a run.
struct RunSummary {
  const std::vector<std::string>& labels;
  const agreement::Manifest& manifest;
  const simulation::SimulationResult& result;
  // For the last model, and for that of the run's beginning; absent when they are not published.
  const std::optional<trainer::Evaluation>& evaluation;
  const std::optional<trainer::Evaluation>& before;
  std::optional<double> most_frequent_class;  // accuracy of always answering it; likewise
  // Agreements under which the attempts were charged; empty: all of them under `manifest`.
  std::span<const agreement::ChargedTerms> terms = {};
  std::span<const simulation::RoundRecord> rounds = {};  // of a live federation
  double seconds = 0;
  std::string commit;
  base::JsonValue machine;  // MachineJson and how it trained
};
// summary.json (docs/formats/run-directory.md).
absl::StatusOr<base::JsonValue> SummaryJson(const RunSummary& run);

// The process or site that ran it, as start.json says.
struct RunPart {
  tacet::audit::RunKind kind = tacet::audit::RunKind::kSimulation;
  uint64_t processes = 1;               // of a simulation
  std::optional<uint64_t> member = {};  // of a live federation
  bool publish_evaluation = true;       // otherwise no evaluation is printed or stored
};

// As much of an evaluation as is told of a real site's data, which epsilon does not cover: accuracy
// and AUC to three decimals, loss to two significant digits.
trainer::Evaluation Rounded(trainer::Evaluation evaluation);

// Prints progress and writes metrics as the run goes.
class RunReporter final : public simulation::SimulationObserver {
 public:
  // `directory` must outlive the reporter; text goes to `out`, and each round's line of the metrics
  // to `figures`.
  RunReporter(storage::file::RunDirectory& directory, std::vector<std::string> labels,
              const RunPart& part, const base::TextSink& out,
              const base::TextSink& figures = base::TextSink())
      : directory_(directory),
        labels_(std::move(labels)),
        part_(part),
        out_(out),
        figures_(figures) {}

  absl::Status OnStart(const agreement::Manifest& manifest, uint32_t next_round,
                       const trainer::Evaluation& evaluation) override;
  absl::Status OnRefused(const secagg::AttemptNumber& attempt, simulation::Refusal why) override;
  absl::Status OnRound(const simulation::RoundRecord& record) override;
  // OnStart of a run that has no evaluation.
  absl::Status Start(const agreement::Manifest& manifest, uint32_t next_round,
                     const std::optional<trainer::Evaluation>& evaluation);
  void OnNote(std::string_view text) override;
  bool StopRequested() override { return base::StopSignal::Arrived(); }

  // For the model the whole run began with; from an earlier process when this one resumed.
  const std::optional<trainer::Evaluation>& before() const { return before_; }
  // The commits of all programs that worked on the run, in order, with ", " between.
  const std::string& commit() const { return commit_; }

 private:
  storage::file::RunDirectory& directory_;
  std::vector<std::string> labels_;
  RunPart part_;
  base::TextSink out_, figures_;
  absl::Status BeginOrResume(uint32_t next_round,
                             const std::optional<trainer::Evaluation>& evaluation);
  absl::Status WriteStart() const;
  absl::Status ReadStart();

  uint32_t rounds_ = 0;
  std::string commit_;
  std::string audit_key_;  // public, in hexadecimal
  std::optional<trainer::Evaluation> before_;
};

}  // namespace tacet::run

#endif  // TACET_RUN_RUN_OUTPUT_H_
