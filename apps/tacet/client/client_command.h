// `tacet client`: the commands of a site, run next to its data.
#ifndef TACET_APPS_TACET_CLIENT_CLIENT_COMMAND_H_
#define TACET_APPS_TACET_CLIENT_CLIENT_COMMAND_H_

#include <memory>

#include "apps/tacet/program/command.h"

namespace tacet::app::client {

std::unique_ptr<program::Command> NewClientCommand();

// `tacet client policy`.
std::unique_ptr<program::Command> NewClientPolicyCommand();

// `tacet client check`, in builds with the network.
std::unique_ptr<program::Command> NewClientCheckCommand();

// `tacet client run`, in builds with the network.
std::unique_ptr<program::Command> NewClientRunCommand();

}  // namespace tacet::app::client

#endif  // TACET_APPS_TACET_CLIENT_CLIENT_COMMAND_H_
