#include "apps/tacet/program/options.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <type_traits>
#include <utility>

#include "CLI/CLI.hpp"
#include "fmt/core.h"

#include "apps/tacet/program/command.h"
#include "apps/tacet/program/completion.h"
#include "tacet/base/nearest_word.h"
#include "tacet/base/status.h"

namespace tacet::app::program {

namespace {

// Values from which an option's is chosen.
using Choices = std::map<const CLI::Option*, std::vector<std::string>>;

}  // namespace

struct Options::Impl {
  CLI::App* app = nullptr;
  Choices* choices = nullptr;
};

namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;

std::string Flag(std::string_view name) { return fmt::format("--{}", name); }

// Refuses text that the library would let through: a sign wraps an unsigned number around.
std::string CheckDigits(const std::string& text) {
  const bool digits = !text.empty() && std::all_of(text.begin(), text.end(),
                                                   [](char c) { return c >= '0' && c <= '9'; });
  return digits ? "" : fmt::format("{} is not a whole number", text);
}

// For a flag given twice the last counts.
template <typename T>
CLI::Option* Finish(CLI::Option* option) {
  if constexpr (std::is_same_v<T, uint64_t>) {
    option->check(CheckDigits, "");
  }
  return option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

template <typename T>
void AddPlain(CLI::App* app, std::string_view name, std::string_view help, T* target) {
  Finish<T>(app->add_option(Flag(name), *target, std::string(help)))->capture_default_str();
}

template <typename T>
void AddOptional(CLI::App* app, std::string_view name, std::string_view help,
                 std::optional<T>* target) {
  Finish<T>(app->add_option_function<T>(
      Flag(name), [target](const T& value) { *target = value; }, std::string(help)));
}

}  // namespace

void Options::AddString(std::string_view name, std::string_view help, std::string* target) {
  AddPlain(impl_.app, name, help, target);
}
void Options::AddString(std::string_view name, std::string_view help,
                        std::optional<std::string>* target) {
  AddOptional(impl_.app, name, help, target);
}
void Options::AddDouble(std::string_view name, std::string_view help, double* target) {
  AddPlain(impl_.app, name, help, target);
}
void Options::AddDouble(std::string_view name, std::string_view help,
                        std::optional<double>* target) {
  AddOptional(impl_.app, name, help, target);
}
void Options::AddUint(std::string_view name, std::string_view help, uint64_t* target) {
  AddPlain(impl_.app, name, help, target);
}
void Options::AddUint(std::string_view name, std::string_view help,
                      std::optional<uint64_t>* target) {
  AddOptional(impl_.app, name, help, target);
}

void Options::AddFlag(std::string_view name, std::string_view help, bool* target) {
  impl_.app->add_flag(Flag(name), *target, std::string(help));
}

void Options::AddChoice(std::string_view name, std::string_view help,
                        std::vector<std::string> choices, std::string* target) {
  CLI::Option* option = impl_.app->add_option(Flag(name), *target, std::string(help));
  option->check(CLI::IsMember(choices))
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
      ->capture_default_str();
  impl_.choices->emplace(option, std::move(choices));
}

void Options::AddStrings(std::string_view name, std::string_view help,
                         std::vector<std::string>* target) {
  impl_.app->add_option(Flag(name), *target, std::string(help));
}

void Options::AddPositional(std::string_view name, std::string_view help,
                            std::vector<std::string> choices, bool required, std::string* target) {
  CLI::Option* option = impl_.app->add_option(std::string(name), *target, std::string(help));
  option->required(required);
  if (!choices.empty()) {
    option->check(CLI::IsMember(choices));
    impl_.choices->emplace(option, std::move(choices));
  }
}

void Options::AddPositionals(std::string_view name, std::string_view help,
                             std::vector<std::string>* target) {
  impl_.app->add_option(std::string(name), *target, std::string(help))->required();
}

void Options::Require(std::string_view name) { impl_.app->get_option(Flag(name))->required(); }

std::vector<Command*> CommandGroup::subcommands() {
  std::vector<Command*> commands;
  for (const std::unique_ptr<Command>& command : commands_) commands.push_back(command.get());
  return commands;
}

namespace {

using KnownCommands = std::vector<std::pair<CLI::App*, Command*>>;

void AddCommand(CLI::App& parent, Command& command, KnownCommands& known, Choices& choices) {
  CLI::App* const app =
      parent.add_subcommand(std::string(command.name()), std::string(command.summary()));
  Options::Impl impl{app, &choices};
  Options options(impl);
  command.Register(options);
  known.emplace_back(app, &command);
  const std::vector<Command*> subcommands = command.subcommands();
  if (!subcommands.empty()) app->require_subcommand(command.needs_subcommand() ? 1 : 0, 1);
  for (Command* subcommand : subcommands) AddCommand(*app, *subcommand, known, choices);
}

// The words of a command and of all below it, as its help lists them.
void AppendWords(const CLI::App& app, std::string path, const Choices& choices,
                 std::vector<CommandWords>& all) {
  CommandWords words;
  words.path = std::move(path);
  for (const CLI::Option* option : app.get_options({})) {
    const auto found = choices.find(option);
    const Choices::mapped_type of_option =
        found == choices.end() ? Choices::mapped_type() : found->second;
    for (const std::string& name : option->get_lnames()) {
      words.flags.push_back({.name = "--" + name,
                             .help = option->get_description(),
                             .takes_value = option->get_expected_min() > 0,
                             .choices = of_option});
    }
    if (option->get_positional()) std::ranges::copy(of_option, std::back_inserter(words.choices));
  }
  const std::vector<const CLI::App*> below = app.get_subcommands({});
  for (const CLI::App* command : below) {
    words.subcommands.emplace_back(command->get_name(), command->get_description());
  }
  const std::string parent = words.path;
  all.push_back(std::move(words));
  for (const CLI::App* command : below) {
    AppendWords(*command, fmt::format("{} {}", parent, command->get_name()), choices, all);
  }
}

std::string MayBeMeant(std::string_view word, const std::vector<std::string>& known) {
  const std::vector<std::string_view> words(known.begin(), known.end());
  const std::optional<std::string> nearest = base::NearestWord(word, words);
  return nearest.has_value() ? fmt::format("; `{}` may be meant", *nearest)
                             : std::string("; see --help");
}

// The first command or flag of a command line that nothing knows, with the nearest that exists;
// none where the line is wrong in another way.
std::optional<std::string> UnknownWord(const CLI::App& program, int argc, const char* const* argv) {
  const CLI::App* app = &program;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.starts_with("--")) {
      const std::string flag = word.substr(0, word.find('='));
      const CLI::Option* option = app->get_option_no_throw(flag);
      if (option != nullptr) {
        if (flag == word && option->get_expected_min() > 0) ++i;  // its value
        continue;
      }
      std::vector<std::string> flags;
      for (const CLI::Option* known : app->get_options({})) {
        for (const std::string& name : known->get_lnames()) flags.push_back("--" + name);
      }
      return fmt::format("unknown flag `{}`{}", flag, MayBeMeant(flag, flags));
    }
    const std::vector<const CLI::App*> commands = app->get_subcommands({});
    if (word.starts_with("-") || commands.empty()) continue;
    std::vector<std::string> names;
    const CLI::App* chosen = nullptr;
    for (const CLI::App* command : commands) {
      names.push_back(command->get_name());
      if (names.back() == word) chosen = command;
    }
    if (chosen == nullptr) {
      return fmt::format("unknown command `{}`{}", word, MayBeMeant(word, names));
    }
    app = chosen;
  }
  return std::nullopt;
}

// Exit code when parsing ends the program, none when it continues.
std::optional<int> Parse(CLI::App& app, int argc, const char* const* argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "{}: {}\n", app.get_name(),
               UnknownWord(app, argc, argv).value_or(error.what()));
    return kUsage;
  }
  return std::nullopt;
}

int Run(const CLI::App& app, Command& command) {
  const absl::Status status = command.Run();
  if (status.ok()) return command.exit_code();
  fmt::print(stderr, "{}: {}\n", app.get_name(), base::Message(status));
  return kFailed;
}

bool HasOptions(const CLI::App& app) {
  return std::ranges::any_of(app.get_options({}),
                             [](const CLI::Option* option) { return option->count() > 0; });
}

void Describe(const Program& program, CLI::App& app) {
  app.description(std::string(program.summary));
  app.name(std::string(program.name));
  app.set_version_flag("--version", fmt::format("{} {}", program.name, program.version));
}

}  // namespace

int RunCommandLine(int argc, const char* const* argv, const Program& program,
                   std::vector<std::unique_ptr<Command>> commands) {
  CLI::App app;
  Describe(program, app);
  app.require_subcommand(1);
  Choices choices;
  commands.push_back(NewCompletionCommand([&app, &choices] {
    std::vector<CommandWords> words;
    AppendWords(app, app.get_name(), choices, words);
    return words;
  }));
  KnownCommands known;
  for (const std::unique_ptr<Command>& command : commands) {
    AddCommand(app, *command, known, choices);
  }
  if (const std::optional<int> code = Parse(app, argc, argv)) return *code;
  // Each level has at most one chosen command, and a command stands before its subcommands.
  const std::pair<CLI::App*, Command*>* chosen = nullptr;
  for (const auto& candidate : known) {
    if (!candidate.first->parsed()) continue;
    if (chosen != nullptr && HasOptions(*chosen->first)) {
      fmt::print(stderr, "{}: flags of `{} {}` belong behind `{}`\n", app.get_name(),
                 chosen->first->get_name(), candidate.first->get_name(),
                 candidate.first->get_name());
      return kUsage;
    }
    chosen = &candidate;
  }
  return chosen == nullptr ? 0 : Run(app, *chosen->second);
}

int RunSingleCommand(int argc, const char* const* argv, const Program& program, Command& command) {
  CLI::App app;
  Describe(program, app);
  Choices choices;
  Options::Impl impl{&app, &choices};
  Options options(impl);
  command.Register(options);
  if (const std::optional<int> code = Parse(app, argc, argv)) return *code;
  return Run(app, command);
}

}  // namespace tacet::app::program
