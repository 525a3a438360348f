#include "apps/tacet/first_steps/new_files.h"

#include <array>
#include <cstdint>
#include <string_view>
#include <system_error>

#include "fmt/core.h"
#include <fcntl.h>

#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/data/patients.h"
#include "tacet/storage/file/posix_file.h"

namespace tacet::app::first_steps {
namespace {

constexpr std::array<std::string_view, 4> kHospitals = {"north", "south", "east", "west"};

}  // namespace

std::vector<NewFile> PatientTables() {
  std::vector<NewFile> files;
  for (uint64_t i = 0; i < kHospitals.size(); ++i) {
    files.push_back({.path = fmt::format("patients/{}.csv", kHospitals[i]),
                     .text = tacet::data::DrawPatients({.hospital = i})});
  }
  return files;
}

absl::Status WriteNewFiles(const std::filesystem::path& folder, const std::vector<NewFile>& files) {
  for (const NewFile& file : files) {
    std::error_code error;
    if (std::filesystem::exists(std::filesystem::symlink_status(folder / file.path, error))) {
      return base::AlreadyExists(
          "{} exists, and nothing was written. Choose another folder, or move the file away",
          (folder / file.path).lexically_normal().string());
    }
  }
  for (const NewFile& file : files) {
    const std::filesystem::path path = folder / file.path;
    TACET_RETURN_IF_ERROR(storage::file::MakeFolders(path.parent_path()));
    const storage::file::File written(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC);
    if (!written.ok() || !written.WriteAll(base::AsBytes(file.text))) {
      return storage::file::SystemError("write", path);
    }
  }
  return absl::OkStatus();
}

}  // namespace tacet::app::first_steps
