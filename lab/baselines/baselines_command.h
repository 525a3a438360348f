// `tacet-lab baselines`: noise, bytes and accuracy of four mechanisms at equal epsilon.
#ifndef TACET_LAB_BASELINES_BASELINES_COMMAND_H_
#define TACET_LAB_BASELINES_BASELINES_COMMAND_H_

#include <memory>

#include "apps/tacet/program/command.h"

namespace tacet::app::baselines {

std::unique_ptr<program::Command> NewBaselinesCommand();

}  // namespace tacet::app::baselines

#endif  // TACET_LAB_BASELINES_BASELINES_COMMAND_H_
