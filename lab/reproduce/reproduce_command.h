// `tacet-lab reproduce`: the paper's tables, its figure and its remarks.
#ifndef TACET_LAB_REPRODUCE_REPRODUCE_COMMAND_H_
#define TACET_LAB_REPRODUCE_REPRODUCE_COMMAND_H_

#include <memory>

#include "apps/tacet/program/command.h"

namespace tacet::app::reproduce {

std::unique_ptr<program::Command> NewReproduceCommand();

}  // namespace tacet::app::reproduce

#endif  // TACET_LAB_REPRODUCE_REPRODUCE_COMMAND_H_
