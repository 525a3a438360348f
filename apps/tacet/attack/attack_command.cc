#include "apps/tacet/attack/attack_command.h"

#include <optional>
#include <string>
#include <vector>

#include "fmt/core.h"

#include "apps/tacet/attack/attack_output.h"
#include "apps/tacet/attack/attacked_run.h"
#include "apps/tacet/attack/membership_attack.h"
#include "tacet/base/bytes.h"
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
    options.AddUint("clients",
                    "number of clients whose samples are used, spread evenly (unit client or "
                    "person: so many members and so many others); 0: all",
                    &settings_.clients);
    options.AddFlag("json", "print JSON", &json_);
  }

  absl::Status Run() override {
    TACET_ASSIGN_OR_RETURN(const std::unique_ptr<RunDirectory> directory,
                           OpenAttackedDirectory(directory_));
    TACET_ASSIGN_OR_RETURN(const AttackedRun run, AttackedRun::Open(*directory, data_));
    TACET_ASSIGN_OR_RETURN(const AttackResult result, AttackRun(run, settings_));
    std::vector<std::string> verdict = AttackVerdict(result, run);
    verdict.push_back(
        "the loss threshold is the weakest of the known attacks; `tacet-lab attack` tries the "
        "likelihood ratio with shadow models");
    const std::string json = AttackJson(result, run, verdict).Dump(2) + "\n";
    TACET_RETURN_IF_ERROR(directory->WriteFile(run::kAttackFile, base::AsBytes(json)));
    std::string text;
    for (const UnitTest& test : result.tests) text += TestText(test);
    fmt::print("{}", json_ ? json : text + VerdictText(result, verdict));
    if (!result.exceeds_bound()) return absl::OkStatus();
    return base::FailedPrecondition("more members were found than the run's epsilon allows");
  }

 private:
  std::string directory_;
  std::optional<std::string> data_;
  AttackSettings settings_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<program::Command> NewAttackCommand() { return std::make_unique<AttackCommand>(); }

}  // namespace tacet::app::attack
