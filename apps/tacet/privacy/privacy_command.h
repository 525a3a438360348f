// `tacet privacy`: what a federation promises to whom.
#ifndef TACET_APPS_TACET_PRIVACY_PRIVACY_COMMAND_H_
#define TACET_APPS_TACET_PRIVACY_PRIVACY_COMMAND_H_

#include <memory>

#include "apps/tacet/program/command.h"

namespace tacet::app {

std::unique_ptr<Command> NewPrivacyCommand();

}  // namespace tacet::app

#endif  // TACET_APPS_TACET_PRIVACY_PRIVACY_COMMAND_H_
