// Folder of the files that come with the program: configurations and stored results.
#ifndef TACET_APPS_TACET_PROGRAM_SHARE_FOLDER_H_
#define TACET_APPS_TACET_PROGRAM_SHARE_FOLDER_H_

#include <filesystem>
#include <string_view>

#include "absl/status/statusor.h"

namespace tacet::app::program {

// The folder `relative`, "configs/table1" for example: below the working directory, below
// share/tacet of the installation the program runs from, or below a folder that holds the program
// (a build inside the source tree). NotFound says what to give instead: `flag`.
absl::StatusOr<std::filesystem::path> FindShareFolder(std::string_view relative,
                                                      std::string_view flag);

}  // namespace tacet::app::program

#endif  // TACET_APPS_TACET_PROGRAM_SHARE_FOLDER_H_
