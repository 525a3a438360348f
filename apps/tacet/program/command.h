// Commands of a program, and the driver that parses a command line and runs one.
#ifndef TACET_APPS_TACET_PROGRAM_COMMAND_H_
#define TACET_APPS_TACET_PROGRAM_COMMAND_H_

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "apps/tacet/program/options.h"

namespace tacet::app::program {

// `tacet NAME [flags]`, or `tacet NAME SUBCOMMAND [flags]`. One object serves one run of the
// program.
class Command {
 public:
  virtual ~Command() = default;

  virtual std::string_view name() const = 0;
  // One line for `tacet --help`.
  virtual std::string_view summary() const = 0;
  virtual void Register(Options& options) = 0;
  // Called once, after parsing. An error is printed as "PROGRAM: MESSAGE".
  virtual absl::Status Run() = 0;
  // After a run without an error.
  virtual int exit_code() const { return 0; }
  // A chosen subcommand runs in place of the command, which then takes no flags itself.
  virtual std::vector<Command*> subcommands() { return {}; }
  // Whether one of the subcommands has to be chosen. Else the command runs when none is.
  virtual bool needs_subcommand() const { return true; }
};

// A command that only holds others.
class CommandGroup final : public Command {
 public:
  CommandGroup(std::string_view name, std::string_view summary,
               std::vector<std::unique_ptr<Command>> commands)
      : name_(name), summary_(summary), commands_(std::move(commands)) {}

  std::string_view name() const override { return name_; }
  std::string_view summary() const override { return summary_; }
  void Register(Options&) override {}
  absl::Status Run() override { return absl::OkStatus(); }
  std::vector<Command*> subcommands() override;

 private:
  std::string_view name_;
  std::string_view summary_;
  std::vector<std::unique_ptr<Command>> commands_;
};

struct Program {
  std::string_view name;     // as in "NAME: message" and `NAME --version`
  std::string_view summary;  // a sentence for --help
  std::string_view version;
};

// Work that ended before it was complete, without an error: run it again, or read the reason.
inline constexpr int kIncomplete = 3;
// A person has to decide, and there is no terminal on which to ask: nothing was changed.
inline constexpr int kNeedsPerson = 4;

// Parses the command line and runs the chosen command, which may also be `completion`: it prints
// the script by which a shell completes all others. Exit code: 0 done, or help or version was asked
// for; 1 the command failed; 2 the command line was wrong; 3 as kIncomplete, 4 as kNeedsPerson.
// Errors go to standard error.
int RunCommandLine(int argc, const char* const* argv, const Program& program,
                   std::vector<std::unique_ptr<Command>> commands);

// The same for a program that is one command: its flags follow the program's name.
int RunSingleCommand(int argc, const char* const* argv, const Program& program, Command& command);

}  // namespace tacet::app::program

#endif  // TACET_APPS_TACET_PROGRAM_COMMAND_H_
