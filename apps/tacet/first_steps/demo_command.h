// `tacet demo`: two federations, trained and explained.
#ifndef TACET_APPS_TACET_FIRST_STEPS_DEMO_COMMAND_H_
#define TACET_APPS_TACET_FIRST_STEPS_DEMO_COMMAND_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apps/tacet/program/command.h"

namespace tacet::app::first_steps {

// Runs `tacet` with these words in this process, and returns its exit code.
using RunTacet = std::function<int(const std::vector<std::string>& words)>;

// The demo is a list of commands of `tacet`. It shows each and runs it by `run_tacet`.
std::unique_ptr<program::Command> NewDemoCommand(RunTacet run_tacet);

}  // namespace tacet::app::first_steps

#endif  // TACET_APPS_TACET_FIRST_STEPS_DEMO_COMMAND_H_
