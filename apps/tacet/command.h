// What a command of the program is, and the driver that picks one.
#ifndef TACET_APPS_TACET_COMMAND_H_
#define TACET_APPS_TACET_COMMAND_H_

#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

#include "apps/tacet/options.h"

namespace tacet::app {

// `tacet NAME [flags]`. One object serves one run of the program.
class Command {
 public:
  virtual ~Command() = default;

  virtual std::string_view name() const = 0;
  // One line for `tacet --help`.
  virtual std::string_view summary() const = 0;
  virtual void Register(Options& options) = 0;
  // Called once, after parsing. An error is printed as "tacet: MESSAGE".
  virtual absl::Status Run() = 0;
};

// Parses the command line and runs the chosen command. Exit code: 0 done, or help or version was
// asked for; 1 the command failed; 2 the command line was wrong. Errors go to standard error.
int RunCommandLine(int argc, const char* const* argv, std::string_view version,
                   std::vector<std::unique_ptr<Command>> commands);

}  // namespace tacet::app

#endif  // TACET_APPS_TACET_COMMAND_H_
