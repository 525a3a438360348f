#include "apps/tacet/simulate/simulate_command.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <iterator>
#include <memory>
#include <optional>
#include <string>

#include "fmt/chrono.h"
#include "fmt/core.h"

#include "apps/tacet/program/console.h"
#include "apps/tacet/simulate/ranks.h"
#include "apps/tacet/simulate/training_run.h"
#include "tacet/accounting/guarantee_in_words.h"
#include "tacet/accounting/privacy_rows.h"
#include "tacet/agreement/charged_terms.h"
#include "tacet/base/status.h"
#include "tacet/base/text_sink.h"
#include "tacet/config/run_config.h"
#include "tacet/run/run_output.h"
#include "tacet/simulation/rank_team.h"

namespace tacet::app::simulate {
namespace {

using storage::file::RunDirectory;

constexpr size_t kMaxConfigBytes = size_t{1} << 20;

class SimulateCommand : public program::Command {
 public:
  std::string_view name() const override { return "simulate"; }
  std::string_view summary() const override {
    return "simulate a federation in one process, or in several under mpirun: clip, noise, seal, "
           "add and decrypt every update";
  }

  void Register(program::Options& options) override {
    options.AddString("config", "TOML file with the settings (docs/formats/configuration.md)",
                      &flags_.config_path);
    options.AddString("data",
                      "folder of IDX files, or a CSV file; when not given, the program generates "
                      "synthetic handwriting",
                      &flags_.data);
    options.AddString("out", "run directory; when not given, a new one below runs/", &flags_.out);
    options.AddFlag("resume", "resume the run in the directory of --out", &flags_.resume);
    options.AddUint("rounds", "T, number of rounds to train", &flags_.rounds);
    options.AddUint(
        "threads",
        "worker threads of each process; when not given, its share of the machine's processors",
        &flags_.threads);
    options.AddString("parameters", "encryption scheme: compact, paper or paper-secret-key",
                      &flags_.parameters);
    options.AddUint(
        "seed", "seed of initialisation, split and batches; it never fixes cohorts, noise or keys",
        &flags_.seed);
    options.AddUint(
        "insecure-seed",
        "seed that fixes cohorts, noise and keys too, for debugging: it protects nobody",
        &flags_.insecure_seed);
    options.AddDouble("budget-epsilon",
                      "epsilon that may be spent at the configured delta; the run ends before the "
                      "round that would exceed it (0: no budget)",
                      &flags_.budget_epsilon);
    options.AddFlag("no-encryption", "add updates in the clear (labelled)", &flags_.no_encryption);
    options.AddFlag("no-noise", "add no noise: no privacy guarantee (labelled)", &flags_.no_noise);
    options.AddFlag("no-clip", "do not clip norms, only coordinates: no guarantee (labelled)",
                    &flags_.no_clip);
    options.AddFlag("no-quantisation", "add real numbers; needs --no-encryption (labelled)",
                    &flags_.no_quantisation);
    options.AddFlag("json", "print the summary as JSON, progress on standard error", &flags_.json);
  }

  absl::Status Run() override {
    TACET_ASSIGN_OR_RETURN(const std::unique_ptr<Ranks> ranks, JoinRanks());
    const absl::Status done = ranks->group().rank() == 0 ? Lead(*ranks) : Assist(*ranks);
    // A run that was stopped has ended for all already.
    if (!done.ok() && done.code() != absl::StatusCode::kCancelled) ranks->EndAll(done);
    return done;
  }

 private:
  // Rank 0 reads the command line's files and has the run directory; the others need neither.
  absl::Status Lead(Ranks& ranks) const {
    const base::TextSink progress = program::Console(flags_.json ? stderr : stdout);
    TACET_ASSIGN_OR_RETURN(const config::RunConfig config, ReadConfig());
    base::Bytes text;
    std::ranges::copy(config::RunConfigToml(config), std::back_inserter(text));
    TACET_RETURN_IF_ERROR(simulation::BroadcastFromRankZero(ranks.group(), text, kMaxConfigBytes));
    TACET_ASSIGN_OR_RETURN(
        const std::unique_ptr<TrainingRun> run,
        TrainingRun::Create(WithThreads(config, ranks), progress, ranks.group()));
    TACET_ASSIGN_OR_RETURN(const std::unique_ptr<RunDirectory> directory, OpenDirectory(config));
    TACET_ASSIGN_OR_RETURN(const run::TrainingEnd end, run->Run(*directory));
    if (flags_.json) {
      fmt::print("{}\n", end.summary.Dump(2));
    } else {
      PrintEnd(run->manifest(), end, *directory);
    }
    return absl::OkStatus();
  }

  static absl::Status Assist(Ranks& ranks) {
    base::Bytes text;
    TACET_RETURN_IF_ERROR(simulation::BroadcastFromRankZero(ranks.group(), text, kMaxConfigBytes));
    TACET_ASSIGN_OR_RETURN(const config::RunConfig config,
                           config::ParseRunConfig(base::AsText(text), "the settings of rank 0"));
    TACET_ASSIGN_OR_RETURN(
        const std::unique_ptr<TrainingRun> run,
        TrainingRun::Create(WithThreads(config, ranks), base::TextSink(), ranks.group()));
    return run->Assist();
  }

  static config::RunConfig WithThreads(config::RunConfig config, const Ranks& ranks) {
    if (config.run.threads == 0) config.run.threads = ranks.processors();
    return config;
  }

  absl::StatusOr<config::RunConfig> ReadConfig() const {
    if (flags_.resume) return ReadResumedConfig();
    config::RunConfig config;
    if (flags_.config_path.has_value()) {
      TACET_ASSIGN_OR_RETURN(config, config::LoadRunConfig(*flags_.config_path));
    }
    if (config.ledger != config::LedgerConfig()) {
      return base::InvalidArgument(
          "{}: section [ledger] is for a site of a live federation; a simulation keeps its ledger "
          "in its run directory",
          *flags_.config_path);
    }
    const auto set = [&config](std::string_view key, const auto& value) {
      return value.has_value() ? config::SetKey(config, key, base::JsonValue(*value))
                               : absl::OkStatus();
    };
    TACET_RETURN_IF_ERROR(set("data.path", flags_.data));
    TACET_RETURN_IF_ERROR(set("federation.rounds", flags_.rounds));
    TACET_RETURN_IF_ERROR(set("run.threads", flags_.threads));
    TACET_RETURN_IF_ERROR(set("aggregation.parameters", flags_.parameters));
    TACET_RETURN_IF_ERROR(set("run.seed", flags_.seed));
    TACET_RETURN_IF_ERROR(set("privacy.budget_epsilon", flags_.budget_epsilon));
    TACET_RETURN_IF_ERROR(set("run.insecure_seed", flags_.insecure_seed));
    config.agreement.without_encryption |= flags_.no_encryption;
    config.agreement.mechanism.without_noise |= flags_.no_noise;
    config.agreement.mechanism.without_clipping |= flags_.no_clip;
    config.run.no_quantisation |= flags_.no_quantisation;
    return config;
  }

  absl::StatusOr<config::RunConfig> ReadResumedConfig() const {
    if (!flags_.out.has_value()) {
      return base::InvalidArgument("--resume needs --out with the directory of the run");
    }
    const bool others = flags_.config_path || flags_.rounds || flags_.parameters || flags_.seed ||
                        flags_.insecure_seed || flags_.budget_epsilon || flags_.no_encryption ||
                        flags_.no_noise || flags_.no_clip || flags_.no_quantisation;
    if (others) {
      return base::InvalidArgument(
          "a resumed run keeps its settings: besides --out, only --data, --threads and --json can "
          "be given");
    }
    TACET_ASSIGN_OR_RETURN(config::RunConfig config, run::ConfigOfRun(*flags_.out));
    if (flags_.data.has_value()) config.data.path = *flags_.data;
    if (flags_.threads.has_value()) config.run.threads = *flags_.threads;
    return config;
  }

  absl::StatusOr<std::unique_ptr<RunDirectory>> OpenDirectory(
      const config::RunConfig& config) const {
    if (flags_.resume) return RunDirectory::Open(*flags_.out);
    const std::string path = flags_.out.value_or(
        fmt::format("runs/{:%Y%m%d-%H%M%S}", fmt::localtime(std::time(nullptr))));
    return run::NewRunDirectory(path, config);
  }

  static void PrintEnd(const agreement::Manifest& manifest, const run::TrainingEnd& end,
                       const RunDirectory& directory) {
    const simulation::SimulationResult& result = end.result;
    if (end.evaluation_is_published) PrintEvaluation(end);
    PrintPrivacy(manifest, result, directory);
    if (!result.stopped.empty()) fmt::print("stopped     {}\n", result.stopped);
    fmt::print("results     {}\n", directory.path().string());
  }

  static void PrintEvaluation(const run::TrainingEnd& end) {
    const simulation::SimulationResult& result = end.result;
    const auto percent = [](std::optional<double> share) {
      return share ? fmt::format("{:.2f} %", 100 * *share) : "not measured";
    };
    fmt::print(
        "\naccuracy    {} before, {} after; always guessing the most frequent class gives {}\n",
        percent(end.before ? end.before->accuracy : std::nullopt),
        percent(result.evaluation.accuracy), percent(end.most_frequent_class));
    if (result.evaluation.auc) {
      fmt::print("AUC         {:.4f} on {} held-out samples\n", *result.evaluation.auc,
                 result.evaluation.samples);
    }
  }

  static void PrintPrivacy(const agreement::Manifest& manifest,
                           const simulation::SimulationResult& result,
                           const RunDirectory& directory) {
    const absl::StatusOr<accounting::Guarantees> guarantees =
        agreement::GuaranteesOf(agreement::PermittedTerms(manifest), accounting::Extent::kHeadline);
    if (!guarantees.ok() || !std::isfinite(guarantees->epsilon())) {
      fmt::print("privacy     none: see the labels\n");
      return;
    }
    const agreement::ManifestSpec& agreed = manifest.spec();
    const accounting::PrivacyRow& worst = *guarantees->headline();
    fmt::print(
        "privacy     epsilon {:.3f} at delta {:g} per {} ({}, {}) against {}, the worst observer "
        "that has a guarantee, for all {} attempts that the agreement permits; every observer is "
        "in "
        "{}\n",
        *worst.epsilon, agreed.privacy.delta, accounting::UnitName(agreed.privacy.unit),
        accounting::NeighbouringName(agreed.privacy.neighbouring),
        accounting::AccountantName(worst.accountant), accounting::ObserverName(worst.observer),
        manifest.attempt_budget(), (directory.path() / run::kSummaryFile).string());
    fmt::print("forecast    epsilon {:.3f} for the {} attempts charged so far\n",
               result.charged_epsilon, result.charged_attempts);
    fmt::print("ledger      {} charges, epsilon {:.3f}\n", result.ledger_charges,
               result.ledger.epsilon());
    fmt::print("            {}\n", accounting::kWhyLedgersDiffer);
  }

  struct Flags {
    std::optional<std::string> config_path, data, out, parameters;
    std::optional<uint64_t> rounds, threads, seed, insecure_seed;
    std::optional<double> budget_epsilon;
    bool resume = false;
    bool no_encryption = false;
    bool no_noise = false;
    bool no_clip = false;
    bool no_quantisation = false;
    bool json = false;
  };
  Flags flags_;
};

}  // namespace

std::unique_ptr<program::Command> NewSimulateCommand() {
  return std::make_unique<SimulateCommand>();
}

}  // namespace tacet::app::simulate
