// `tacet load`: a server under the load of many members.
#ifndef TACET_APPS_TACET_LOAD_LOAD_COMMAND_H_
#define TACET_APPS_TACET_LOAD_LOAD_COMMAND_H_

#include <memory>

#include "apps/tacet/program/command.h"

namespace tacet::app {

std::unique_ptr<Command> NewLoadCommand();

}  // namespace tacet::app

#endif  // TACET_APPS_TACET_LOAD_LOAD_COMMAND_H_
