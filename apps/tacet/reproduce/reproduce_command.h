// `tacet reproduce`: the paper's tables, its figure and its remarks.
#ifndef TACET_APPS_TACET_REPRODUCE_REPRODUCE_COMMAND_H_
#define TACET_APPS_TACET_REPRODUCE_REPRODUCE_COMMAND_H_

#include <memory>

#include "apps/tacet/program/command.h"

namespace tacet::app {

std::unique_ptr<Command> NewReproduceCommand();

}  // namespace tacet::app

#endif  // TACET_APPS_TACET_REPRODUCE_REPRODUCE_COMMAND_H_
