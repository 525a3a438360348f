// `tacet-lab baselines`: bytes and accuracy of a mechanism with a given noise.
#ifndef TACET_LAB_BASELINES_BASELINES_COMMAND_H_
#define TACET_LAB_BASELINES_BASELINES_COMMAND_H_

#include <memory>

#include "apps/tacet/program/command.h"

namespace tacet::app::baselines {

std::unique_ptr<program::Command> NewBaselinesCommand();

}  // namespace tacet::app::baselines

#endif  // TACET_LAB_BASELINES_BASELINES_COMMAND_H_
