// Command `tacet statistics`: a query over the tables of sites, simulated in this process.
#ifndef TACET_APPS_TACET_STATISTICS_STATISTICS_COMMAND_H_
#define TACET_APPS_TACET_STATISTICS_STATISTICS_COMMAND_H_

#include <memory>

#include "apps/tacet/program/command.h"

namespace tacet::app::statistics {

std::unique_ptr<program::Command> NewStatisticsCommand();

}  // namespace tacet::app::statistics

#endif  // TACET_APPS_TACET_STATISTICS_STATISTICS_COMMAND_H_
