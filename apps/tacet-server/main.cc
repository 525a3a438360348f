// Program `tacet-server`: the aggregation server of a federation.
#include <memory>
#include <string>

#include "fmt/core.h"

#include "apps/tacet-server/server_command.h"
#include "apps/tacet/program/command.h"
#include "apps/tacet/program/start.h"
#include "tacet/base/status.h"

int main(int argc, char** argv) {
  namespace program = tacet::app::program;
  if (const absl::Status status = program::Start(); !status.ok()) {
    fmt::print(stderr, "tacet-server: {}\n", tacet::base::Message(status));
    return 2;
  }
  const std::string version = program::FullVersion();
  const std::unique_ptr<program::Command> command = tacet::app::server::NewServerCommand(version);
  return program::RunSingleCommand(
      argc, argv,
      {.name = "tacet-server",
       .summary = "Aggregation server of a federation: adds encrypted updates that it cannot read.",
       .version = version},
      *command);
}
