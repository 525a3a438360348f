#include "apps/tacet/program/sibling_program.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <vector>

#include <unistd.h>

#include "tacet/base/status.h"

namespace tacet::app::program {

std::filesystem::path ProgramFolder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
}

std::filesystem::path SiblingProgram(std::string_view name) { return ProgramFolder() / name; }

absl::Status BecomeSibling(std::string_view name, int argc, char** argv) {
  const std::filesystem::path path = SiblingProgram(name);
  if (!std::filesystem::exists(path)) {
    return base::NotFound("{} is not installed next to this program; it is a package of its own",
                          path.string());
  }
  std::vector<std::string> words = {std::string(name)};
  for (int i = 2; i < argc; ++i) words.emplace_back(argv[i]);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execv(path.c_str(), arguments.data());
  return base::Unavailable("cannot start {}: {}", path.string(), std::strerror(errno));
}

}  // namespace tacet::app::program
