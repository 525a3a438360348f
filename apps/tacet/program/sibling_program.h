// Paths of the programs that are installed next to the running one.
#ifndef TACET_APPS_TACET_PROGRAM_SIBLING_PROGRAM_H_
#define TACET_APPS_TACET_PROGRAM_SIBLING_PROGRAM_H_

#include <filesystem>
#include <string_view>

#include "absl/status/status.h"

namespace tacet::app::program {

// Folder of the running program; empty when the system does not tell.
std::filesystem::path ProgramFolder();

// `name` in the folder of the running program; it may not exist.
std::filesystem::path SiblingProgram(std::string_view name);

// Replaces this process by the sibling `name` with arguments argv[0], argv[2], argv[3] and so on.
// Returns only when that fails: NotFound when there is no such program.
absl::Status BecomeSibling(std::string_view name, int argc, char** argv);

}  // namespace tacet::app::program

#endif  // TACET_APPS_TACET_PROGRAM_SIBLING_PROGRAM_H_
