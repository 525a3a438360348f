#include "lab/attack/shadow_attack_command.h"

#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fmt/core.h"

#include "apps/tacet/attack/attack_output.h"
#include "apps/tacet/attack/attacked_run.h"
#include "lab/attack/shadow_attack.h"
#include "tacet/base/bytes.h"
#include "tacet/base/parallel.h"
#include "tacet/base/status.h"
#include "tacet/run/run_output.h"

namespace tacet::lab::attack {
namespace {

using app::attack::AttackedRun;
using app::attack::UnitTest;
using storage::file::RunDirectory;

// A power check that did not pass, by the numbers of its table.
std::string WhyItProvesNothing(const PowerCheck& power) {
  if (power.non_members < PowerCheck::kMinNonMembers) {
    return fmt::format(
        "{} non-members of the model that remembers show no false-positive rate of 1 %, {} are "
        "needed: the attack PROVES NOTHING about this run",
        power.non_members, PowerCheck::kMinNonMembers);
  }
  const tacet::attack::OperatingPoint point = power.at_one_percent();
  return fmt::format(
      "on the model that remembers, the likelihood ratio has a true-positive rate of {} % at a "
      "false-positive rate of 1 %; {:g} % with a lower limit above 1 % are needed: the attack "
      "PROVES NOTHING about this run",
      app::attack::IntervalText(point.true_positive_rate(),
                                point.TruePositiveInterval(app::attack::kShownConfidence)),
      100 * PowerCheck::kMinTruePositiveRate);
}

// The verdict of the attacks, then what the shadow models and the power checks add.
std::vector<std::string> Verdict(const ShadowAttackResult& result, const AttackedRun& run,
                                 const ShadowAttackSettings& settings) {
  std::vector<std::string> lines = app::attack::AttackVerdict(result.attacks, run);
  for (size_t i = 0; i < result.power.size(); ++i) {
    const std::optional<PowerCheck>& power = result.power[i];
    if (!power.has_value() || power->passed()) continue;
    lines.push_back(fmt::format("unit {}: {}", accounting::UnitName(result.attacks.tests[i].unit),
                                WhyItProvesNothing(*power)));
  }
  if (settings.shadows < 64) {
    lines.push_back(fmt::format(
        "{} shadow models are few; the literature's likelihood ratio attack uses 64 or more",
        settings.shadows));
  }
  return lines;
}

base::JsonValue ResultJson(const ShadowAttackResult& result, const AttackedRun& run,
                           const ShadowAttackSettings& settings,
                           const std::vector<std::string>& verdict) {
  base::JsonValue tests = base::JsonValue::MakeArray();
  for (size_t i = 0; i < result.power.size(); ++i) {
    base::JsonValue power;
    if (const std::optional<PowerCheck>& check = result.power[i]) {
      power.Set("passed", check->passed())
          .Set("epochs", check->epochs)
          .Set("members", check->members)
          .Set("non_members", check->non_members)
          .Set("attacks", app::attack::AttacksJson(check->attacks));
    }
    tests.Append(
        app::attack::TestJson(result.attacks.tests[i], run).Set("power", std::move(power)));
  }
  return app::attack::AttackJson(result.attacks, run, verdict)
      .Set("tests", std::move(tests))
      .Set("shadows", base::JsonValue::MakeObject()
                          .Set("count", settings.shadows)
                          .Set("model", result.shadow_model)
                          .Set("rounds", result.shadow_rounds)
                          .Set("owners", settings.candidates.clients)
                          .Set("seed", settings.seed));
}

std::string ResultText(const ShadowAttackResult& result, const ShadowAttackSettings& settings,
                       const std::vector<std::string>& verdict) {
  std::string out = fmt::format(
      "\nattacker    {} shadow models ({}, {} rounds), each on a random half, seed {}\n",
      settings.shadows, result.shadow_model, result.shadow_rounds, settings.seed);
  for (size_t i = 0; i < result.power.size(); ++i) {
    out += app::attack::TestText(result.attacks.tests[i]);
    const std::optional<PowerCheck>& power = result.power[i];
    if (!power.has_value()) continue;
    out +=
        fmt::format("  the same attack on a model that remembers ({} members, {} not, {} epochs)\n",
                    power->members, power->non_members, power->epochs);
    out += app::attack::AttacksText(power->attacks);
  }
  return out + app::attack::VerdictText(result.attacks, verdict);
}

class ShadowAttackCommand : public app::program::Command {
 public:
  std::string_view name() const override { return "attack"; }
  std::string_view summary() const override {
    return "membership inference test of a run's model with shadow models, compared with the "
           "bound of its epsilon";
  }

  void Register(app::program::Options& options) override {
    options.AddPositional("directory", "directory of a finished run", {}, true, &directory_);
    options.AddString("data", "path of the run's data, if they were moved", &data_);
    options.AddChoice(
        "unit", "unit whose membership is tested; all: the unit of the run's epsilon, and records",
        {"all", "client", "person", "record"}, &settings_.candidates.unit);
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
                    &settings_.candidates.clients);
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
    TACET_ASSIGN_OR_RETURN(const std::unique_ptr<RunDirectory> directory,
                           app::attack::OpenAttackedDirectory(directory_));
    TACET_ASSIGN_OR_RETURN(const AttackedRun run, AttackedRun::Open(*directory, data_));
    TACET_ASSIGN_OR_RETURN(const ShadowAttackResult result,
                           ShadowAttack(run, directory->path(), settings_, progress));
    const std::vector<std::string> verdict = Verdict(result, run, settings_);
    const std::string json = ResultJson(result, run, settings_, verdict).Dump(2) + "\n";
    TACET_RETURN_IF_ERROR(directory->WriteFile(run::kAttackFile, base::AsBytes(json)));
    fmt::print("{}", json_ ? json : ResultText(result, settings_, verdict));
    if (!result.attacks.exceeds_bound()) return absl::OkStatus();
    return base::FailedPrecondition("more members were found than the run's epsilon allows");
  }

 private:
  std::string directory_;
  std::optional<std::string> data_;
  std::optional<uint64_t> threads_;
  ShadowAttackSettings settings_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<app::program::Command> NewShadowAttackCommand() {
  return std::make_unique<ShadowAttackCommand>();
}

}  // namespace tacet::lab::attack
