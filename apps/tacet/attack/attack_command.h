// `tacet attack RUN_DIR`: a membership inference test of a run's model.
#ifndef TACET_APPS_TACET_ATTACK_ATTACK_COMMAND_H_
#define TACET_APPS_TACET_ATTACK_ATTACK_COMMAND_H_

#include <memory>

#include "apps/tacet/program/command.h"

namespace tacet::app::attack {

std::unique_ptr<program::Command> NewAttackCommand();

}  // namespace tacet::app::attack

#endif  // TACET_APPS_TACET_ATTACK_ATTACK_COMMAND_H_
