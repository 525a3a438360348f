// `tacet init`: a commented configuration to begin with.
#ifndef TACET_APPS_TACET_FIRST_STEPS_INIT_COMMAND_H_
#define TACET_APPS_TACET_FIRST_STEPS_INIT_COMMAND_H_

#include <memory>

#include "apps/tacet/program/command.h"

namespace tacet::app::first_steps {

std::unique_ptr<program::Command> NewInitCommand();

}  // namespace tacet::app::first_steps

#endif  // TACET_APPS_TACET_FIRST_STEPS_INIT_COMMAND_H_
