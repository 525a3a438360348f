// `tacet keys`: care for keys at rest.
#ifndef TACET_APPS_TACET_KEYS_KEYS_COMMAND_H_
#define TACET_APPS_TACET_KEYS_KEYS_COMMAND_H_

#include <memory>

#include "apps/tacet/program/command.h"

namespace tacet::app::keys {

std::unique_ptr<program::Command> NewKeysCommand();

}  // namespace tacet::app::keys

#endif  // TACET_APPS_TACET_KEYS_KEYS_COMMAND_H_
