#ifndef TACET_APPS_TACET_DATA_DATA_COMMAND_H_
#define TACET_APPS_TACET_DATA_DATA_COMMAND_H_

#include <memory>

#include "apps/tacet/program/command.h"

namespace tacet::app::data {

// `tacet data`
std::unique_ptr<program::Command> NewDataCommand();

}  // namespace tacet::app::data

#endif  // TACET_APPS_TACET_DATA_DATA_COMMAND_H_
