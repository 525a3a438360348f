// Completion of a program's command line by a shell.
#ifndef TACET_APPS_TACET_PROGRAM_COMPLETION_H_
#define TACET_APPS_TACET_PROGRAM_COMPLETION_H_

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/tacet/program/command.h"

namespace tacet::app::program {

// Words that may follow one command.
struct CommandWords {
  struct Flag {
    std::string name;  // "--home"
    std::string help;
    bool takes_value = false;
    std::vector<std::string> choices;  // of its value; empty: any text, such as a path
  };
  std::string path;  // the command with those above it: "tacet client run"
  std::vector<Flag> flags;
  std::vector<std::string> choices;                              // of words without a flag
  std::vector<std::pair<std::string, std::string>> subcommands;  // names and summaries
};

// The script of a shell, "bash" or "zsh". The first command is the program.
std::string CompletionScript(std::string_view shell, std::span<const CommandWords> commands);

// `completion SHELL`: prints the script. `words` is called when the command runs, once all commands
// are known.
std::unique_ptr<Command> NewCompletionCommand(std::function<std::vector<CommandWords>()> words);

}  // namespace tacet::app::program

#endif  // TACET_APPS_TACET_PROGRAM_COMPLETION_H_
