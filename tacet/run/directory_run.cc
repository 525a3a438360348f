#include "tacet/run/directory_run.h"

#include <system_error>
#include <utility>

#include "fmt/core.h"

#include "tacet/base/status.h"
#include "tacet/base/stopwatch.h"
#include "tacet/run/run_output.h"

namespace tacet::run {
namespace {

using storage::file::RunDirectory;

// A reporter that its caller stops and listens to.
class Observer final : public simulation::SimulationObserver {
 public:
  Observer(RunReporter& reporter, const DirectoryRun& run) : reporter_(reporter), run_(run) {}

  absl::Status OnStart(const agreement::Manifest& manifest, uint32_t next_round,
                       const trainer::Evaluation& evaluation) override {
    return reporter_.OnStart(manifest, next_round, evaluation);
  }
  absl::Status OnRefused(const secagg::AttemptNumber& attempt, simulation::Refusal why) override {
    return reporter_.OnRefused(attempt, why);
  }
  absl::Status OnRound(const simulation::RoundRecord& record) override {
    TACET_RETURN_IF_ERROR(reporter_.OnRound(record));
    return run_.on_round ? run_.on_round(record) : absl::OkStatus();
  }
  void OnNote(std::string_view text) override { reporter_.OnNote(text); }
  bool StopRequested() override { return run_.stop(); }
  bool EndRequested() override { return run_.end && run_.end(); }

 private:
  RunReporter& reporter_;
  const DirectoryRun& run_;
};

absl::Status CheckSame(const config::RunConfig& found, const config::RunConfig& config,
                       const std::filesystem::path& path) {
  const std::string keys = config::DifferingKeys(found, config);
  if (keys.empty()) return absl::OkStatus();
  return base::FailedPrecondition(
      "{} holds a run of other settings, which differ in {}: move it away, or choose another "
      "directory with --out",
      path.string(), keys);
}

}  // namespace

absl::StatusOr<TrainingEnd> RunInDirectory(const DirectoryRun& run, RunDirectory& directory,
                                           const base::TextSink& out) {
  const bool publish = run.publish_evaluation;
  RunReporter reporter(directory, run.labels,
                       {.processes = run.processes, .publish_evaluation = publish}, out);
  const base::Stopwatch watch;
  TrainingEnd end;
  Observer observer(reporter, run);
  absl::StatusOr<simulation::SimulationResult> result = run.simulation.Run(directory, observer);
  if (result.status().code() == absl::StatusCode::kCancelled) {
    return base::Annotate(result.status(), directory.path().string());
  }
  TACET_ASSIGN_OR_RETURN(end.result, std::move(result));
  end.before = reporter.before();
  end.most_frequent_class = run.most_frequent_class;
  end.evaluation_is_published = publish && end.result.evaluation.samples > 0;
  std::optional<trainer::Evaluation> evaluation;
  // Without held-out rows there is no figure; 0 would be one.
  if (publish && end.result.evaluation.samples > 0) evaluation = end.result.evaluation;
  TACET_ASSIGN_OR_RETURN(
      end.summary,
      SummaryJson({.labels = run.labels,
                   .manifest = run.simulation.manifest(),
                   .result = end.result,
                   .evaluation = evaluation,
                   .before = end.before,
                   .most_frequent_class = publish ? run.most_frequent_class : std::nullopt,
                   .seconds = watch.Seconds(),
                   .commit = reporter.commit(),
                   .machine = MachineJson().Set("network", run.form).Set("ranks", run.processes)}));
  const std::vector<float> model = run.learner.WholeModel(end.result.model);
  TACET_RETURN_IF_ERROR(directory.WriteFile(
      kModelFile, {reinterpret_cast<const uint8_t*>(model.data()), sizeof(float) * model.size()}));
  TACET_RETURN_IF_ERROR(
      directory.WriteFile(kSummaryFile, base::AsBytes(end.summary.Dump(2) + "\n")));
  return end;
}

absl::StatusOr<std::unique_ptr<RunDirectory>> NewRunDirectory(const std::filesystem::path& path,
                                                              const config::RunConfig& config) {
  TACET_ASSIGN_OR_RETURN(std::unique_ptr<RunDirectory> directory, RunDirectory::Create(path));
  TACET_RETURN_IF_ERROR(
      directory->WriteFile(kConfigFile, base::AsBytes(config::RunConfigToml(config))));
  return directory;
}

absl::StatusOr<config::RunConfig> ConfigOfRun(const std::filesystem::path& path) {
  absl::StatusOr<config::RunConfig> config = config::LoadRunConfig((path / kConfigFile).string());
  if (config.ok()) return config;
  return base::Annotate(config.status(), fmt::format("{} holds no run to resume", path.string()));
}

absl::StatusOr<std::unique_ptr<RunDirectory>> NewOrBegunRunDirectory(
    const std::filesystem::path& path, const config::RunConfig& config) {
  std::error_code error;
  if (!std::filesystem::exists(path / kConfigFile, error)) {
    absl::StatusOr<std::unique_ptr<RunDirectory>> begun = RunDirectory::Open(path);
    if (begun.status().code() == absl::StatusCode::kNotFound) return NewRunDirectory(path, config);
    TACET_RETURN_IF_ERROR(begun.status());
    // A process ended between making the directory and writing its settings.
    TACET_RETURN_IF_ERROR(
        (*begun)->WriteFile(kConfigFile, base::AsBytes(config::RunConfigToml(config))));
    return begun;
  }
  TACET_ASSIGN_OR_RETURN(const config::RunConfig found, ConfigOfRun(path));
  TACET_RETURN_IF_ERROR(CheckSame(found, config, path));
  return RunDirectory::Open(path);
}

absl::StatusOr<std::unique_ptr<RunDirectory>> RunDirectoryOfSite(const std::filesystem::path& path,
                                                                 const config::RunConfig& config) {
  TACET_ASSIGN_OR_RETURN(std::unique_ptr<RunDirectory> directory, RunDirectory::OpenOrMake(path));
  if (const absl::StatusOr<config::RunConfig> found = ConfigOfRun(path); found.ok()) {
    TACET_RETURN_IF_ERROR(CheckSame(*found, config, path));
    return directory;
  }
  TACET_RETURN_IF_ERROR(
      directory->WriteFile(kConfigFile, base::AsBytes(config::RunConfigToml(config))));
  return directory;
}

}  // namespace tacet::run
