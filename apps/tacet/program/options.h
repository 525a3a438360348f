// A command's flags. The library that parses them is included by options.cc only.
#ifndef TACET_APPS_TACET_PROGRAM_OPTIONS_H_
#define TACET_APPS_TACET_PROGRAM_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tacet::app::program {

// Registers flags of one command. `name` is without dashes ("cohort" for --cohort); every target
// must outlive parsing and keeps its value when the flag is not given, which --help shows as the
// default. Integers refuse signs and fractions; a malformed value is a usage error (exit code 2).
class Options {
 public:
  struct Impl;
  explicit Options(Impl& impl) : impl_(impl) {}

  void AddString(std::string_view name, std::string_view help, std::string* target);
  void AddString(std::string_view name, std::string_view help, std::optional<std::string>* target);
  void AddDouble(std::string_view name, std::string_view help, double* target);
  void AddDouble(std::string_view name, std::string_view help, std::optional<double>* target);
  void AddUint(std::string_view name, std::string_view help, uint64_t* target);
  void AddUint(std::string_view name, std::string_view help, std::optional<uint64_t>* target);
  // True when the flag is there; takes no value.
  void AddFlag(std::string_view name, std::string_view help, bool* target);
  // One of `choices`, compared exactly.
  void AddChoice(std::string_view name, std::string_view help, std::vector<std::string> choices,
                 std::string* target);
  // May be given several times.
  void AddStrings(std::string_view name, std::string_view help, std::vector<std::string>* target);
  // A word without a flag, in the order of registration; one of `choices` unless that is empty.
  void AddPositional(std::string_view name, std::string_view help, std::vector<std::string> choices,
                     bool required, std::string* target);
  // One word or more without a flag, after all other positionals.
  void AddPositionals(std::string_view name, std::string_view help,
                      std::vector<std::string>* target);
  // Fails parsing with a usage error when the flag is missing.
  void Require(std::string_view name);

 private:
  Impl& impl_;
};

}  // namespace tacet::app::program

#endif  // TACET_APPS_TACET_PROGRAM_OPTIONS_H_
