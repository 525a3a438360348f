#ifndef TACET_APPS_TACET_TABLES_DATA_COMMAND_H_
#define TACET_APPS_TACET_TABLES_DATA_COMMAND_H_

#include <memory>

#include "apps/tacet/program/command.h"

namespace tacet::app::tables {

// `tacet data`
std::unique_ptr<program::Command> NewDataCommand();

}  // namespace tacet::app::tables

#endif  // TACET_APPS_TACET_TABLES_DATA_COMMAND_H_
