// Search for the files of a data set, and reading of them.
#ifndef TACET_DATA_DATA_FILES_H_
#define TACET_DATA_DATA_FILES_H_

#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tacet::data {

// `path` itself when it is not a folder, else what the folder holds, in the order of their names;
// of either only what has one of these endings (".csv"). Unavailable when the folder cannot be read
// to its end: fewer files would be another data set.
absl::StatusOr<std::vector<std::filesystem::path>> DataFiles(
    const std::filesystem::path& path, std::initializer_list<std::string_view> endings);

// A whole file of up to 4 GiB. NotFound when it cannot be opened, InvalidArgument for a folder or
// a larger file, DataLoss when it ends early.
absl::StatusOr<std::string> ReadDataFile(const std::filesystem::path& path);

}  // namespace tacet::data

#endif  // TACET_DATA_DATA_FILES_H_
