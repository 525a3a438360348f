// `tacet server`: a federation's server.
#ifndef TACET_APPS_TACET_SERVER_SERVER_COMMAND_H_
#define TACET_APPS_TACET_SERVER_SERVER_COMMAND_H_

#include <memory>
#include <string>

#include "apps/tacet/program/command.h"

namespace tacet::app::server {

std::unique_ptr<program::Command> NewServerCommand(std::string version);

}  // namespace tacet::app::server

#endif  // TACET_APPS_TACET_SERVER_SERVER_COMMAND_H_
