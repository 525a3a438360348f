#include "apps/tacet/simulate_command.h"

#include <cmath>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "fmt/chrono.h"
#include "fmt/core.h"

#include "apps/tacet/run_config.h"
#include "apps/tacet/run_output.h"
#include "tacet/base/status.h"
#include "tacet/base/stopwatch.h"
#include "tacet/federation/simulation.h"
#include "tacet/learning/handwriting.h"
#include "tacet/learning/load.h"
#include "tacet/storage/file/run_directory.h"
#include "tacet/transport/local/local_channel.h"

namespace tacet::app {
namespace {

using storage::file::RunDirectory;

// How a ledger knows this data: its name in printable ASCII, and a digest of all samples.
federation::SimulatedData LedgerData(const learning::Dataset& dataset) {
  federation::SimulatedData data{.name = dataset.name().substr(0, 255),
                                 .digest = learning::DatasetDigest(dataset)};
  for (char& letter : data.name) {
    if (letter < ' ' || letter > '~') letter = '?';
  }
  if (data.name.empty()) data.name = "data";
  return data;
}

class SimulateCommand : public Command {
 public:
  std::string_view name() const override { return "simulate"; }
  std::string_view summary() const override {
    return "train a federation in one process: every update clipped, noised, sealed, added, opened";
  }

  void Register(Options& options) override {
    options.AddString("config", "TOML file with the settings (docs/formats/configuration.md)",
                      &config_path_);
    options.AddString("data",
                      "folder of IDX files or a CSV file; without any, the program draws "
                      "handwriting",
                      &data_);
    options.AddString("out", "run directory; a new one below runs/ when not given", &out_);
    options.AddFlag("resume", "go on with the run in the directory given by --out", &resume_);
    options.AddUint("rounds", "T, rounds to train", &rounds_);
    options.AddUint("threads", "worker threads; all processors when not given", &threads_);
    options.AddString("parameters", "encryption scheme: compact, paper or paper-secret-key",
                      &parameters_);
    options.AddString("precision", "of training: auto, f32 or bf16", &precision_);
    options.AddUint("seed", "fixes initialisation, split and batches; never cohorts, noise or keys",
                    &seed_);
    options.AddUint("insecure-seed",
                    "fixes cohorts, noise and keys too: for debugging, protects nobody",
                    &insecure_seed_);
    options.AddDouble("budget-epsilon",
                      "epsilon that may be spent at the configured delta; the run ends before the "
                      "round that would exceed it (0: no budget)",
                      &budget_epsilon_);
    options.AddFlag("no-encryption", "add updates in the clear (labelled)", &no_encryption_);
    options.AddFlag("no-noise", "add no noise: no privacy guarantee (labelled)", &no_noise_);
    options.AddFlag("no-clip", "do not clip norms, only coordinates: no guarantee (labelled)",
                    &no_clip_);
    options.AddFlag("no-quantisation", "add real numbers; needs --no-encryption (labelled)",
                    &no_quantisation_);
    options.AddFlag("json", "print the summary as JSON, progress on standard error", &json_);
  }

  absl::Status Run() override {
    std::FILE* const progress = json_ ? stderr : stdout;
    TACET_ASSIGN_OR_RETURN(RunConfig config, ReadConfig());
    TACET_ASSIGN_OR_RETURN(federation::SimulationSpec spec, SimulationSpecOf(config));
    TACET_ASSIGN_OR_RETURN(const learning::LearnerSpec learner_spec, LearnerSpecOf(config));
    const base::Stopwatch loading;
    if (config.data.path.empty()) {
      fmt::print(progress,
                 "data        none given: handwriting of {} writers, drawn by the program\n",
                 config.data.handwriting_writers);
    }
    TACET_ASSIGN_OR_RETURN(learning::Dataset dataset, LoadRunData(config));
    spec.data = LedgerData(dataset);
    const double majority = learning::MostFrequentClassShare(dataset);
    fmt::print(
        progress, "data        {}: {} samples of {} owners in {} classes, read in {:.1f} s\n",
        dataset.name(), dataset.samples(), dataset.owners(), dataset.classes(), loading.Seconds());
    TACET_ASSIGN_OR_RETURN(const auto learner,
                           learning::NewLearner(learner_spec, std::move(dataset)));
    transport::local::LocalChannel channel;
    TACET_ASSIGN_OR_RETURN(const auto simulation,
                           federation::Simulation::Create(spec, *learner, channel));
    TACET_ASSIGN_OR_RETURN(const std::unique_ptr<RunDirectory> directory, OpenDirectory(config));
    fmt::print(progress, "directory   {}\n", directory->path().string());
    const std::vector<std::string> labels = federation::SimulationLabels(spec);
    RunReporter reporter(*directory, labels, progress);
    const base::Stopwatch watch;
    TACET_ASSIGN_OR_RETURN(const federation::SimulationResult result,
                           simulation->Run(*directory, reporter));
    TACET_ASSIGN_OR_RETURN(
        const JsonValue summary,
        Summary(simulation->manifest(), result, reporter, labels, majority, watch.Seconds()));
    const std::span<const float> model = result.model;
    TACET_RETURN_IF_ERROR(directory->WriteFile(
        kModelFile, {reinterpret_cast<const uint8_t*>(model.data()), model.size_bytes()}));
    TACET_RETURN_IF_ERROR(
        directory->WriteFile(kSummaryFile, base::AsBytes(summary.Dump(2) + "\n")));
    if (json_) {
      fmt::print("{}\n", summary.Dump(2));
    } else {
      PrintEnd(simulation->manifest(), result, reporter, majority, *directory);
    }
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<RunConfig> ReadConfig() const {
    if (resume_) return ReadResumedConfig();
    RunConfig config;
    if (config_path_.has_value()) {
      TACET_ASSIGN_OR_RETURN(config, LoadRunConfig(*config_path_));
    }
    if (data_.has_value()) config.data.path = *data_;
    if (rounds_.has_value()) config.federation.rounds = *rounds_;
    if (threads_.has_value()) config.run.threads = *threads_;
    if (parameters_.has_value()) config.aggregation.parameters = *parameters_;
    if (precision_.has_value()) config.training.precision = *precision_;
    if (seed_.has_value()) config.run.seed = *seed_;
    if (budget_epsilon_.has_value()) config.privacy.budget_epsilon = *budget_epsilon_;
    if (insecure_seed_.has_value()) config.run.insecure_seed = *insecure_seed_;
    config.run.no_encryption |= no_encryption_;
    config.run.no_noise |= no_noise_;
    config.run.no_clip |= no_clip_;
    config.run.no_quantisation |= no_quantisation_;
    return config;
  }

  absl::StatusOr<RunConfig> ReadResumedConfig() const {
    if (!out_.has_value()) {
      return base::InvalidArgument("--resume needs --out with the directory of the run");
    }
    const bool others = config_path_ || rounds_ || parameters_ || precision_ || seed_ ||
                        insecure_seed_ || budget_epsilon_ || no_encryption_ || no_noise_ ||
                        no_clip_ || no_quantisation_;
    if (others) {
      return base::InvalidArgument(
          "a resumed run keeps its settings: beside --out, only --data, --threads and --json can "
          "be given");
    }
    const std::filesystem::path path = std::filesystem::path(*out_) / kConfigFile;
    absl::StatusOr<RunConfig> config = LoadRunConfig(path.string());
    if (!config.ok()) {
      return base::Annotate(config.status(), fmt::format("{} holds no run to resume", *out_));
    }
    if (data_.has_value()) config->data.path = *data_;
    if (threads_.has_value()) config->run.threads = *threads_;
    return config;
  }

  absl::StatusOr<std::unique_ptr<RunDirectory>> OpenDirectory(const RunConfig& config) const {
    if (resume_) return RunDirectory::Open(*out_);
    const std::string path =
        out_.value_or(fmt::format("runs/{:%Y%m%d-%H%M%S}", fmt::localtime(std::time(nullptr))));
    TACET_ASSIGN_OR_RETURN(std::unique_ptr<RunDirectory> directory, RunDirectory::Create(path));
    TACET_RETURN_IF_ERROR(directory->WriteFile(kConfigFile, base::AsBytes(RunConfigToml(config))));
    return directory;
  }

  static absl::StatusOr<JsonValue> Summary(const federation::Manifest& manifest,
                                           const federation::SimulationResult& result,
                                           const RunReporter& reporter,
                                           const std::vector<std::string>& labels, double majority,
                                           double seconds) {
    JsonValue list = JsonValue::MakeArray();
    for (const std::string& label : labels) list.Append(label);
    JsonValue summary = JsonValue::MakeObject();
    summary.Set("labels", std::move(list))
        .Set("model", manifest.spec().model)
        .Set("parameters", he::SchemeName(manifest.spec().scheme))
        .Set("dimension", manifest.spec().dimension)
        .Set("clients", manifest.spec().clients)
        .Set("cohort", manifest.spec().cohort)
        .Set("unit", accounting::UnitName(manifest.spec().unit))
        .Set("neighbouring", accounting::NeighbouringName(manifest.spec().neighbouring))
        .Set("noise", manifest.spec().noise_stddev)
        .Set("rounds", result.rounds)
        .Set("charged_attempts", result.charged_attempts)
        .Set("accuracy_before",
             reporter.before() ? JsonValue(reporter.before()->accuracy) : JsonValue())
        .Set("accuracy", result.evaluation.accuracy)
        .Set("loss", result.evaluation.loss)
        .Set("auc", result.evaluation.auc ? JsonValue(*result.evaluation.auc) : JsonValue())
        .Set("most_frequent_class", majority)
        .Set("epsilon", result.epsilon)
        .Set("delta", manifest.spec().delta)
        .Set("stopped", result.stopped.empty() ? JsonValue() : JsonValue(result.stopped))
        .Set("ledger", LedgerJson(manifest, result))
        .Set("seconds", seconds);
    if (manifest.spec().unit != accounting::Unit::kClient) {
      const accounting::SamplingEvent charged = federation::ChargedEvent(manifest.spec());
      summary.Set("record_rate", manifest.spec().record_rate)
          .Set("expected_batch", manifest.spec().expected_batch)
          .Set("charged_event", JsonValue::MakeObject()
                                    .Set("sampling", accounting::SamplingName(charged.sampling))
                                    .Set("rate", charged.sampling_rate)
                                    .Set("noise", charged.noise_stddev)
                                    .Set("clip_norm", charged.clip_norm));
    }
    TACET_ASSIGN_OR_RETURN(JsonValue privacy, PrivacyJson(manifest, result.charged_attempts));
    return summary.Set("privacy", std::move(privacy));
  }

  static JsonValue LedgerJson(const federation::Manifest& manifest,
                              const federation::SimulationResult& result) {
    const double budget = manifest.spec().budget_epsilon;
    return JsonValue::MakeObject()
        .Set("charges", result.ledger_charges)
        .Set("epsilon", result.ledger.epsilon)
        .Set("accountant",
             std::isfinite(result.ledger.epsilon) ? JsonValue(result.ledger.accountant) : nullptr)
        .Set("delta", manifest.spec().delta)
        .Set("budget_epsilon", budget > 0 ? JsonValue(budget) : JsonValue());
  }

  static void PrintUnitPrivacy(const federation::Manifest& manifest,
                               const federation::SimulationResult& result,
                               const RunDirectory& directory) {
    if (!std::isfinite(result.ledger.epsilon)) {
      fmt::print("privacy     none: see the labels\n");
      return;
    }
    const bool colluders = manifest.spec().colluders > 0;
    fmt::print(
        "privacy     each {}: epsilon {:.3f} ({}, {}) for {}, the worst of all views, after {} "
        "attempts; every view stands in {}\n",
        accounting::UnitName(manifest.spec().unit), result.ledger.epsilon,
        accounting::NeighbouringName(manifest.spec().neighbouring), result.ledger.accountant,
        colluders ? fmt::format("{} other sites together", manifest.spec().colluders)
                  : "another site",
        result.charged_attempts, (directory.path() / kSummaryFile).string());
  }

  void PrintEnd(const federation::Manifest& manifest, const federation::SimulationResult& result,
                const RunReporter& reporter, double majority, const RunDirectory& directory) const {
    fmt::print(
        "\naccuracy    {:.2f} % before, {:.2f} % after; always guessing the most frequent "
        "class gives {:.2f} %\n",
        reporter.before() ? 100 * reporter.before()->accuracy : 0.0,
        100 * result.evaluation.accuracy, 100 * majority);
    if (result.evaluation.auc) {
      fmt::print("AUC         {:.4f} on {} held-out samples\n", *result.evaluation.auc,
                 result.evaluation.samples);
    }
    if (manifest.spec().unit != accounting::Unit::kClient) {
      PrintUnitPrivacy(manifest, result, directory);
    } else if (std::isfinite(result.epsilon)) {
      fmt::print(
          "privacy     epsilon {:.3f} (moments accountant) for whoever knows no cohort, after "
          "{} attempts; every view stands in {}\n",
          result.epsilon, result.charged_attempts, (directory.path() / kSummaryFile).string());
    } else {
      fmt::print("privacy     none: see the labels\n");
    }
    if (std::isfinite(result.ledger.epsilon)) {
      fmt::print("ledger      {} charges, epsilon {:.3f} ({})\n", result.ledger_charges,
                 result.ledger.epsilon, result.ledger.accountant);
    }
    if (!result.stopped.empty()) fmt::print("stopped     {}\n", result.stopped);
    fmt::print("results     {}\n", directory.path().string());
  }

  std::optional<std::string> config_path_, data_, out_, parameters_, precision_;
  std::optional<uint64_t> rounds_, threads_, seed_, insecure_seed_;
  std::optional<double> budget_epsilon_;
  bool resume_ = false;
  bool no_encryption_ = false;
  bool no_noise_ = false;
  bool no_clip_ = false;
  bool no_quantisation_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> NewSimulateCommand() { return std::make_unique<SimulateCommand>(); }

}  // namespace tacet::app
