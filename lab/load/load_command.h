// `tacet-lab load`: a server under the load of many members.
#ifndef TACET_LAB_LOAD_LOAD_COMMAND_H_
#define TACET_LAB_LOAD_LOAD_COMMAND_H_

#include <memory>

#include "apps/tacet/program/command.h"

namespace tacet::app::load {

std::unique_ptr<program::Command> NewLoadCommand();

}  // namespace tacet::app::load

#endif  // TACET_LAB_LOAD_LOAD_COMMAND_H_
