#ifndef TACET_APPS_TACET_RUN_SIMULATE_COMMAND_H_
#define TACET_APPS_TACET_RUN_SIMULATE_COMMAND_H_

#include <memory>

#include "apps/tacet/program/command.h"

namespace tacet::app::run {

// `tacet simulate`: a federation in one process, from a configuration to a run directory.
std::unique_ptr<program::Command> NewSimulateCommand();

}  // namespace tacet::app::run

#endif  // TACET_APPS_TACET_RUN_SIMULATE_COMMAND_H_
