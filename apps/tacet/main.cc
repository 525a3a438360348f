// Program `tacet`: the commands of users, sites and coordinators.
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fmt/core.h"

#include "apps/tacet/attack/attack_command.h"
#include "apps/tacet/audit/audit_command.h"
#include "apps/tacet/client/client_command.h"
#include "apps/tacet/data/data_command.h"
#include "apps/tacet/federation/federation_command.h"
#include "apps/tacet/first_steps/demo_command.h"
#include "apps/tacet/first_steps/init_command.h"
#include "apps/tacet/keys/keys_command.h"
#include "apps/tacet/ledger/ledger_command.h"
#include "apps/tacet/privacy/privacy_command.h"
#include "apps/tacet/program/command.h"
#include "apps/tacet/program/sibling_program.h"
#include "apps/tacet/program/start.h"
#include "apps/tacet/report/report_command.h"
#include "apps/tacet/simulate/simulate_command.h"
#include "apps/tacet/statistics/statistics_command.h"
#include "tacet/base/status.h"

namespace {

namespace app = tacet::app;

// Listed by `tacet --help`; main() replaces the process before it is parsed.
class ServerProgram : public app::program::Command {
 public:
  std::string_view name() const override { return "server"; }
  std::string_view summary() const override {
    return "start tacet-server, the aggregation server of a federation";
  }
  void Register(app::program::Options&) override {}
  absl::Status Run() override { return absl::OkStatus(); }
};

int Fail(const absl::Status& status, int code) {
  fmt::print(stderr, "tacet: {}\n", tacet::base::Message(status));
  return code;
}

bool IsLabCommand(std::string_view name) {
  return name == "bench" || name == "reproduce" || name == "load";
}

int RunTacet(int argc, const char* const* argv) {
  const std::string version = app::program::FullVersion();
  std::vector<std::unique_ptr<app::program::Command>> commands;
  commands.push_back(app::first_steps::NewDemoCommand([](const std::vector<std::string>& words) {
    std::vector<const char*> line = {"tacet"};
    for (const std::string& word : words) line.push_back(word.c_str());
    return RunTacet(static_cast<int>(line.size()), line.data());
  }));
  commands.push_back(app::first_steps::NewInitCommand());
  commands.push_back(app::simulate::NewSimulateCommand());
  commands.push_back(app::statistics::NewStatisticsCommand());
  commands.push_back(app::data::NewDataCommand());
  commands.push_back(app::federation::NewFederationCommand());
  commands.push_back(app::client::NewClientCommand());
  commands.push_back(std::make_unique<ServerProgram>());
  commands.push_back(app::keys::NewKeysCommand());
  commands.push_back(app::privacy::NewPrivacyCommand());
  commands.push_back(app::ledger::NewLedgerCommand());
  commands.push_back(app::audit::NewAuditCommand());
  commands.push_back(app::report::NewReportCommand(version));
  commands.push_back(app::attack::NewAttackCommand());
  return app::program::RunCommandLine(
      argc, argv,
      {.name = "tacet",
       .summary = "Federated learning with secure aggregation and differential privacy.",
       .version = version},
      std::move(commands));
}

}  // namespace

int main(int argc, char** argv) {
  if (const absl::Status status = app::program::Start(); !status.ok()) return Fail(status, 2);
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "server") return Fail(app::program::BecomeSibling("tacet-server", argc, argv), 1);
  if (IsLabCommand(first)) {
    return Fail(tacet::base::InvalidArgument("`{}` is a command of tacet-lab: run `tacet-lab {}`",
                                             first, first),
                2);
  }
  return RunTacet(argc, argv);
}
