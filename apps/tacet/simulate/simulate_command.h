#ifndef TACET_APPS_TACET_SIMULATE_SIMULATE_COMMAND_H_
#define TACET_APPS_TACET_SIMULATE_SIMULATE_COMMAND_H_

#include <memory>

#include "apps/tacet/program/command.h"

namespace tacet::app::simulate {

// `tacet simulate`: a federation in one process, from a configuration to a run directory.
std::unique_ptr<program::Command> NewSimulateCommand();

}  // namespace tacet::app::simulate

#endif  // TACET_APPS_TACET_SIMULATE_SIMULATE_COMMAND_H_
