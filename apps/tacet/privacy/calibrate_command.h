// `tacet privacy calibrate`: the noise, the rounds or the cohort of a wanted epsilon.
#ifndef TACET_APPS_TACET_PRIVACY_CALIBRATE_COMMAND_H_
#define TACET_APPS_TACET_PRIVACY_CALIBRATE_COMMAND_H_

#include <memory>

#include "apps/tacet/program/command.h"

namespace tacet::app::privacy {

std::unique_ptr<program::Command> NewCalibrateCommand();

}  // namespace tacet::app::privacy

#endif  // TACET_APPS_TACET_PRIVACY_CALIBRATE_COMMAND_H_
