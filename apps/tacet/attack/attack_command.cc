#include "apps/tacet/attack/attack_command.h"

#include <cstdio>
#include <optional>
#include <string>

#include "fmt/core.h"

#include "apps/tacet/attack/attack_output.h"
#include "apps/tacet/attack/attacked_run.h"
#include "apps/tacet/attack/membership_attack.h"
#include "tacet/base/bytes.h"
#include "tacet/base/parallel.h"
#include "tacet/base/status.h"
#include "tacet/run/run_output.h"

namespace tacet::app::attack {
namespace {

using storage::file::RunDirectory;

class AttackCommand : public program::Command {
 public:
  std::string_view name() const override { return "attack"; }
  std::string_view summary() const override {
    return "membership inference test of a run's model, compared with the bound of its epsilon";
  }

  void Register(program::Options& options) override {
    options.AddPositional("directory", "directory of a finished run", {}, true, &directory_);
    options.AddString("data", "path of the run's data, if they were moved", &data_);
    options.AddChoice(
        "unit", "unit whose membership is tested; all: the unit of the run's epsilon, and records",
        {"all", "client", "person", "record"}, &settings_.unit);
    options.AddUint("shadows",
                    "number of shadow models, each trained on a random half of the candidates",
                    &settings_.shadows);
    options.AddChoice(
        "shadow-model",
        "architecture of the shadow models; auto: the run's own, but mlp instead of femnist-cnn "
        "where the run has no model.start",
        {"auto", "femnist-cnn", "femnist-cnn-norm", "mlp", "logistic"}, &settings_.shadow_model);
    options.AddUint("shadow-rounds",
                    "rounds of training for each shadow model; 0: as many as the run had",
                    &settings_.shadow_rounds);
    options.AddUint("clients",
                    "number of clients whose samples are used, spread evenly (unit client or "
                    "person: so many members and so many others); 0: all",
                    &settings_.clients);
    options.AddFlag("check-power",
                    "also attack a model that was made to remember its samples; an attack that "
                    "finds nothing there proves nothing",
                    &settings_.check_power);
    options.AddUint("power-epochs", "epochs over all samples with which that model is trained",
                    &settings_.power_epochs);
    options.AddUint("seed", "seed of the attacker's random choices", &settings_.seed);
    options.AddUint("threads", "worker threads; when not given, one a processor", &threads_);
    options.AddFlag("json", "print JSON, progress on standard error", &json_);
  }

  absl::Status Run() override {
    std::FILE* const progress = json_ ? stderr : stdout;
    settings_.threads = threads_.value_or(base::Processors());
    if (settings_.threads < 1 || settings_.threads > 1024) {
      return base::InvalidArgument("--threads is {}, expected 1 to 1024", settings_.threads);
    }
    TACET_ASSIGN_OR_RETURN(const std::unique_ptr<RunDirectory> directory, OpenDirectory());
    TACET_ASSIGN_OR_RETURN(const AttackedRun run, AttackedRun::Open(*directory, data_));
    TACET_ASSIGN_OR_RETURN(const AttackResult result,
                           AttackRun(run, directory->path(), settings_, progress));
    const std::string json = AttackJson(result, run, settings_).Dump(2) + "\n";
    TACET_RETURN_IF_ERROR(directory->WriteFile(run::kAttackFile, base::AsBytes(json)));
    fmt::print("{}", json_ ? json : AttackText(result, run, settings_));
    if (!result.exceeds_bound()) return absl::OkStatus();
    return base::FailedPrecondition("more members were found than the run's epsilon allows");
  }

 private:
  absl::StatusOr<std::unique_ptr<RunDirectory>> OpenDirectory() const {
    absl::StatusOr<std::unique_ptr<RunDirectory>> directory = RunDirectory::Open(directory_);
    if (directory.status().code() != absl::StatusCode::kNotFound) return directory;
    return base::NotFound("{} is not the directory of a run", directory_);
  }

  std::string directory_;
  std::optional<std::string> data_;
  std::optional<uint64_t> threads_;
  AttackSettings settings_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<program::Command> NewAttackCommand() { return std::make_unique<AttackCommand>(); }

}  // namespace tacet::app::attack
