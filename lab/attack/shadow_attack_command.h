// `tacet-lab attack`: membership inference with shadow models.
#ifndef TACET_LAB_ATTACK_SHADOW_ATTACK_COMMAND_H_
#define TACET_LAB_ATTACK_SHADOW_ATTACK_COMMAND_H_

#include <memory>

#include "apps/tacet/program/command.h"

namespace tacet::lab::attack {

std::unique_ptr<app::program::Command> NewShadowAttackCommand();

}  // namespace tacet::lab::attack

#endif  // TACET_LAB_ATTACK_SHADOW_ATTACK_COMMAND_H_
