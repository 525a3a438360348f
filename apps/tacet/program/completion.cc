#include "apps/tacet/program/completion.h"

#include <algorithm>

#include "fmt/core.h"
#include "fmt/ranges.h"

#include "tacet/base/status.h"

namespace tacet::app::program {
namespace {

using Texts = std::vector<std::string>;

// Both shells take a text between single quotes unchanged.
std::string Quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// One pattern of a `case` for all of these texts, and what to do.
std::string Arm(const Texts& patterns, std::string_view action) {
  if (patterns.empty()) return "";
  Texts quoted;
  for (const std::string& pattern : patterns) quoted.push_back(Quoted(pattern));
  return fmt::format("      {}) {} ;;\n", fmt::join(quoted, "|"), action);
}

// The commands below the program, "tacet client run".
Texts CommandPaths(std::span<const CommandWords> commands) {
  Texts paths;
  for (const CommandWords& command : commands.subspan(1)) paths.push_back(command.path);
  return paths;
}

// Flags that take a value, behind their commands: "tacet client run --home".
Texts FlagsWithValues(std::span<const CommandWords> commands) {
  Texts flags;
  for (const CommandWords& command : commands) {
    for (const CommandWords::Flag& flag : command.flags) {
      if (flag.takes_value) flags.push_back(fmt::format("{} {}", command.path, flag.name));
    }
  }
  return flags;
}

// A loop over the words before the current one, in variables of the shell: `command` becomes the
// command that they choose, and `flag` the flag, behind its command, whose value the current word
// is.
std::string Walk(std::span<const CommandWords> commands, std::string_view word,
                 std::string_view from, std::string_view current) {
  return fmt::format(
      "  local command={0} flag= i\n"
      "  for ((i = {1}; i < {2}; ++i)); do\n"
      "    case \"$command {3}\" in\n"
      "{4}{5}"
      "    esac\n"
      "  done\n",
      commands.front().path, from, current, word,
      Arm(CommandPaths(commands), fmt::format("command+=\" {}\"", word)),
      Arm(FlagsWithValues(commands),
          fmt::format("((i + 1 == {})) && flag=\"$command {}\"; ((++i))", current, word)));
}

// Arms of a `case` over `flag`, for values that are chosen from a list.
std::string ChoiceArms(std::span<const CommandWords> commands, std::string_view format_begin,
                       std::string_view format_end) {
  std::string arms;
  for (const CommandWords& command : commands) {
    for (const CommandWords::Flag& flag : command.flags) {
      if (flag.choices.empty()) continue;
      arms += Arm({fmt::format("{} {}", command.path, flag.name)},
                  fmt::format("{}{}{}", format_begin, fmt::join(flag.choices, " "), format_end));
    }
  }
  return arms;
}

std::string FunctionName(std::string_view program) {
  std::string name = fmt::format("_{}", program);
  std::ranges::replace(name, '-', '_');
  return name;
}

std::string BashScript(std::span<const CommandWords> commands) {
  std::string by_command;
  for (const CommandWords& command : commands) {
    Texts words = command.choices;
    for (const auto& [name, summary] : command.subcommands) words.push_back(name);
    for (const CommandWords::Flag& flag : command.flags) words.push_back(flag.name);
    by_command += Arm({command.path}, fmt::format("words='{}'", fmt::join(words, " ")));
  }
  const std::string& program = commands.front().path;
  return fmt::format(
      "# bash completion of {0}, printed by `{0} completion bash`\n"
      "{1}() {{\n"
      "{2}"
      "  local words=\n"
      "  if [ -n \"$flag\" ]; then\n"
      "    case \"$flag\" in\n"
      "{3}"
      "    esac\n"
      "  else\n"
      "    case \"$command\" in\n"
      "{4}"
      "    esac\n"
      "  fi\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"${{COMP_WORDS[COMP_CWORD]}}\"))\n"
      "}}\n"
      "complete -o default -F {1} {0}\n",
      program, FunctionName(program), Walk(commands, "${COMP_WORDS[i]}", "1", "COMP_CWORD"),
      ChoiceArms(commands, "words='", "'"), by_command);
}

std::string ZshScript(std::span<const CommandWords> commands) {
  std::string by_command;
  for (const CommandWords& command : commands) {
    Texts found;
    for (const std::string& choice : command.choices) found.push_back(Quoted(choice));
    for (const auto& [name, summary] : command.subcommands) {
      found.push_back(Quoted(fmt::format("{}:{}", name, summary)));
    }
    for (const CommandWords::Flag& flag : command.flags) {
      found.push_back(Quoted(fmt::format("{}:{}", flag.name, flag.help)));
    }
    by_command += Arm({command.path},
                      fmt::format("{}found=({})", command.subcommands.empty() ? "" : "files=0; ",
                                  fmt::join(found, " ")));
  }
  const std::string& program = commands.front().path;
  return fmt::format(
      "#compdef {0}\n"
      "# zsh completion of {0}, printed by `{0} completion zsh`\n"
      "{1}() {{\n"
      "{2}"
      "  local -a found\n"
      "  local files=1\n"
      "  if [[ -n \"$flag\" ]]; then\n"
      "    case \"$flag\" in\n"
      "{3}"
      "    esac\n"
      "  else\n"
      "    case \"$command\" in\n"
      "{4}"
      "    esac\n"
      "  fi\n"
      "  (($#found)) && _describe {0} found\n"
      "  ((files)) && _files\n"
      "}}\n"
      "if [[ \"$funcstack[1]\" = {1} ]]; then {1} \"$@\"; else compdef {1} {0}; fi\n",
      program, FunctionName(program), Walk(commands, "${words[i]}", "2", "CURRENT"),
      ChoiceArms(commands, "files=0; found=(", ")"), by_command);
}

class CompletionCommand : public Command {
 public:
  explicit CompletionCommand(std::function<std::vector<CommandWords>()> words)
      : words_(std::move(words)) {}

  std::string_view name() const override { return "completion"; }
  std::string_view summary() const override {
    return "print the script by which a shell completes commands and flags";
  }
  void Register(Options& options) override {
    options.AddPositional("shell", "for which the script is", {"bash", "zsh"}, true, &shell_);
  }
  absl::Status Run() override {
    fmt::print("{}", CompletionScript(shell_, words_()));
    return absl::OkStatus();
  }

 private:
  std::function<std::vector<CommandWords>()> words_;
  std::string shell_;
};

}  // namespace

std::string CompletionScript(std::string_view shell, std::span<const CommandWords> commands) {
  return shell == "bash" ? BashScript(commands) : ZshScript(commands);
}

std::unique_ptr<Command> NewCompletionCommand(std::function<std::vector<CommandWords>()> words) {
  return std::make_unique<CompletionCommand>(std::move(words));
}

}  // namespace tacet::app::program
