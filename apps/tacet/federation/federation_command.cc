#include "apps/tacet/federation/federation_command.h"

#include <utility>
#include <vector>

namespace tacet::app::federation {

std::unique_ptr<program::Command> NewFederationCommand() {
  std::vector<std::unique_ptr<program::Command>> commands;
  commands.push_back(NewFederationInitCommand());
  commands.push_back(NewFederationEnrolCommand());
  commands.push_back(NewFederationSealKeyCommand());
  commands.push_back(NewFederationShowCommand());
  commands.push_back(NewFederationRotateCommand());
#ifdef TACET_WITH_NETWORK
  for (std::unique_ptr<program::Command>& command : NewFederationChangeCommands()) {
    commands.push_back(std::move(command));
  }
#endif
  return std::make_unique<program::CommandGroup>(
      "federation",
      "set up a federation; commands of the coordinating member, never run on the server",
      std::move(commands));
}

}  // namespace tacet::app::federation
