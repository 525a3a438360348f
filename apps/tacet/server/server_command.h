// `tacet server`: a federation's server.
#ifndef TACET_APPS_TACET_SERVER_SERVER_COMMAND_H_
#define TACET_APPS_TACET_SERVER_SERVER_COMMAND_H_

#include <memory>
#include <string>

#include "apps/tacet/program/command.h"

namespace tacet::app {

std::unique_ptr<Command> NewServerCommand(std::string version);

}  // namespace tacet::app

#endif  // TACET_APPS_TACET_SERVER_SERVER_COMMAND_H_
