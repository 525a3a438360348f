// `tacet federation`: what the coordinating member does, never on the server's machine.
#ifndef TACET_APPS_TACET_FEDERATION_FEDERATION_COMMAND_H_
#define TACET_APPS_TACET_FEDERATION_FEDERATION_COMMAND_H_

#include <memory>

#include "apps/tacet/program/command.h"

namespace tacet::app {

std::unique_ptr<Command> NewFederationCommand();

// Its subcommands, each in a file of its own.
std::unique_ptr<Command> NewFederationInitCommand();
std::unique_ptr<Command> NewFederationEnrolCommand();
std::unique_ptr<Command> NewFederationSealKeyCommand();
std::unique_ptr<Command> NewFederationShowCommand();
std::unique_ptr<Command> NewFederationRotateCommand();

}  // namespace tacet::app

#endif  // TACET_APPS_TACET_FEDERATION_FEDERATION_COMMAND_H_
