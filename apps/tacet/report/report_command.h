// `tacet report RUN_DIR...`: one or several runs as one HTML page.
#ifndef TACET_APPS_TACET_REPORT_REPORT_COMMAND_H_
#define TACET_APPS_TACET_REPORT_REPORT_COMMAND_H_

#include <memory>
#include <string>

#include "apps/tacet/program/command.h"

namespace tacet::app::report {

// `version` is what the page says it was written by.
std::unique_ptr<program::Command> NewReportCommand(std::string version);

}  // namespace tacet::app::report

#endif  // TACET_APPS_TACET_REPORT_REPORT_COMMAND_H_
