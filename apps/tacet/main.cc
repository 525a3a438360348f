// The program: the list of its commands.
#include <memory>
#include <string>
#include <vector>

#include "fmt/core.h"
#include <malloc.h>

#include "apps/tacet/attack/attack_command.h"
#include "apps/tacet/audit/audit_command.h"
#include "apps/tacet/bench/bench_command.h"
#include "apps/tacet/client/client_command.h"
#include "apps/tacet/federation/federation_command.h"
#include "apps/tacet/privacy/ledger_command.h"
#include "apps/tacet/privacy/privacy_command.h"
#include "apps/tacet/program/command.h"
#include "apps/tacet/program/commit.h"
#include "apps/tacet/report/report_command.h"
#include "apps/tacet/reproduce/reproduce_command.h"
#ifdef TACET_WITH_NETWORK
#include "apps/tacet/load/load_command.h"
#include "apps/tacet/server/server_command.h"
#endif
#include "apps/tacet/run/simulate_command.h"
#include "tacet/base/cpu.h"
#include "tacet/base/status.h"

namespace {

// Buffers of megabytes come and go with every update: they stay with the process instead of being
// given back to the system and cleared by it each time, which took as long as encrypting.
void KeepLargeBuffers() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
}

}  // namespace

int main(int argc, char** argv) {
  KeepLargeBuffers();
  if (const absl::Status status = tacet::base::CheckSimdEnvironment(); !status.ok()) {
    fmt::print(stderr, "tacet: {}\n", tacet::base::Message(status));
    return 2;
  }
  const std::string version =
      fmt::format("{} (commit {})", TACET_VERSION, tacet::app::BuildCommit());
  std::vector<std::unique_ptr<tacet::app::Command>> commands;
  commands.push_back(tacet::app::NewSimulateCommand());
  commands.push_back(tacet::app::NewFederationCommand());
  commands.push_back(tacet::app::NewClientCommand());
#ifdef TACET_WITH_NETWORK
  commands.push_back(tacet::app::NewServerCommand(version));
  commands.push_back(tacet::app::NewLoadCommand());
#endif
  commands.push_back(tacet::app::NewPrivacyCommand());
  commands.push_back(tacet::app::NewLedgerCommand());
  commands.push_back(tacet::app::NewAuditCommand());
  commands.push_back(tacet::app::NewReportCommand(version));
  commands.push_back(tacet::app::NewAttackCommand());
  commands.push_back(tacet::app::NewReproduceCommand());
  commands.push_back(tacet::app::NewBenchCommand());
  return tacet::app::RunCommandLine(argc, argv, version, std::move(commands));
}
