// `tacet privacy sweep`: guarantees along one varied quantity, as files.
#ifndef TACET_APPS_TACET_PRIVACY_SWEEP_COMMAND_H_
#define TACET_APPS_TACET_PRIVACY_SWEEP_COMMAND_H_

#include <memory>

#include "apps/tacet/program/command.h"

namespace tacet::app::privacy {

std::unique_ptr<program::Command> NewSweepCommand();

}  // namespace tacet::app::privacy

#endif  // TACET_APPS_TACET_PRIVACY_SWEEP_COMMAND_H_
