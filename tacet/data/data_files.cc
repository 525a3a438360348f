#include "tacet/data/data_files.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <system_error>

#include "tacet/base/status.h"

namespace tacet::data {
namespace {

constexpr uint64_t kMaxFileBytes = uint64_t{1} << 32;

}  // namespace

absl::StatusOr<std::vector<std::filesystem::path>> DataFiles(
    const std::filesystem::path& path, std::initializer_list<std::string_view> endings) {
  const auto fits = [&](const std::filesystem::path& file) {
    return std::ranges::count(endings, file.extension().string()) > 0;
  };
  std::vector<std::filesystem::path> files;
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    if (fits(path)) files.push_back(path);
    return files;
  }
  for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    if (fits(entry->path())) files.push_back(entry->path());
  }
  if (error) return base::Unavailable("cannot read {}: {}", path.string(), error.message());
  std::ranges::sort(files);
  return files;
}

absl::StatusOr<std::string> ReadDataFile(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return base::InvalidArgument("{}: this is a folder, expected a file", path.string());
  }
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  const std::streamoff bytes = in ? static_cast<std::streamoff>(in.tellg()) : -1;
  if (bytes < 0) return base::NotFound("{}: the file cannot be read", path.string());
  if (static_cast<uint64_t>(bytes) > kMaxFileBytes) {
    return base::InvalidArgument("{}: {} bytes, at most {} are read", path.string(), bytes,
                                 kMaxFileBytes);
  }
  in.seekg(0);
  std::string text(static_cast<size_t>(bytes), '\0');
  in.read(text.data(), bytes);
  if (in.gcount() != bytes) {
    return base::DataLoss("{}: {} bytes expected, {} read", path.string(), bytes, in.gcount());
  }
  return text;
}

}  // namespace tacet::data
