// `tacet privacy`: the privacy guarantee of a federation against each observer.
#ifndef TACET_APPS_TACET_PRIVACY_PRIVACY_COMMAND_H_
#define TACET_APPS_TACET_PRIVACY_PRIVACY_COMMAND_H_

#include <memory>

#include "apps/tacet/program/command.h"

namespace tacet::app::privacy {

std::unique_ptr<program::Command> NewPrivacyCommand();

}  // namespace tacet::app::privacy

#endif  // TACET_APPS_TACET_PRIVACY_PRIVACY_COMMAND_H_
