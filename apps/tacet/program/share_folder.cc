#include "apps/tacet/program/share_folder.h"

#include <system_error>

#include "apps/tacet/program/sibling_program.h"
#include "tacet/base/status.h"

namespace tacet::app::program {

absl::StatusOr<std::filesystem::path> FindShareFolder(std::string_view relative,
                                                      std::string_view flag) {
  std::error_code error;
  if (std::filesystem::is_directory(relative, error)) return std::filesystem::path(relative);
  std::filesystem::path folder = ProgramFolder();
  while (!folder.empty()) {
    for (const std::filesystem::path& candidate :
         {folder / "share" / "tacet" / relative, folder / relative}) {
      if (std::filesystem::is_directory(candidate, error)) return candidate;
    }
    if (folder == folder.parent_path()) break;
    folder = folder.parent_path();
  }
  return base::NotFound(
      "the folder {} is neither here, nor in share/tacet next to the program, nor above it: name "
      "one with --{}",
      relative, flag);
}

}  // namespace tacet::app::program
