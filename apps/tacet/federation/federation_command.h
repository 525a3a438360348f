// `tacet federation`: the commands of the coordinating member, never run on the server's machine.
#ifndef TACET_APPS_TACET_FEDERATION_FEDERATION_COMMAND_H_
#define TACET_APPS_TACET_FEDERATION_FEDERATION_COMMAND_H_

#include <memory>
#include <vector>

#include "apps/tacet/program/command.h"

namespace tacet::app::federation {

std::unique_ptr<program::Command> NewFederationCommand();

// Its subcommands, each in a file of its own.
std::unique_ptr<program::Command> NewFederationInitCommand();
std::unique_ptr<program::Command> NewFederationEnrolCommand();
std::unique_ptr<program::Command> NewFederationSealKeyCommand();
std::unique_ptr<program::Command> NewFederationShowCommand();
std::unique_ptr<program::Command> NewFederationRotateCommand();
// Those that change a running federation by one call each, in builds with the network.
std::vector<std::unique_ptr<program::Command>> NewFederationChangeCommands();

}  // namespace tacet::app::federation

#endif  // TACET_APPS_TACET_FEDERATION_FEDERATION_COMMAND_H_
