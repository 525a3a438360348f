// Program `tacet-lab`: benchmarks, published experiments and load tests.
#include <memory>
#include <string>
#include <vector>

#include "fmt/core.h"

#include "lab/attack/shadow_attack_command.h"
#include "lab/baselines/baselines_command.h"
#include "lab/bench/bench_command.h"
#include "lab/kernels/conv_network.h"
#ifdef TACET_WITH_NETWORK
#include "lab/load/load_command.h"
#endif
#include "apps/tacet/program/command.h"
#include "apps/tacet/program/start.h"
#include "lab/reproduce/reproduce_command.h"
#include "tacet/base/status.h"

int main(int argc, char** argv) {
  namespace app = tacet::app;
  if (const absl::Status status = app::program::Start(); !status.ok()) {
    fmt::print(stderr, "tacet-lab: {}\n", tacet::base::Message(status));
    return 2;
  }
  tacet::lab::kernels::RegisterConvForm();
  const std::string version = app::program::FullVersion();
  std::vector<std::unique_ptr<app::program::Command>> commands;
  commands.push_back(app::reproduce::NewReproduceCommand());
  commands.push_back(app::bench::NewBenchCommand());
  commands.push_back(app::baselines::NewBaselinesCommand());
  commands.push_back(tacet::lab::attack::NewShadowAttackCommand());
#ifdef TACET_WITH_NETWORK
  commands.push_back(app::load::NewLoadCommand());
#endif
  return app::program::RunCommandLine(
      argc, argv,
      {.name = "tacet-lab",
       .summary = "Benchmarks, published experiments and load tests of tacet.",
       .version = version},
      std::move(commands));
}
