// A coordinator's folder that is made: wholly, or not at all.
#ifndef TACET_STORAGE_FILE_COORDINATOR_FOUNDING_H_
#define TACET_STORAGE_FILE_COORDINATOR_FOUNDING_H_

#include <cstdint>
#include <filesystem>
#include <span>

#include "absl/status/status.h"

#include "tacet/storage/file/coordinator_folder.h"
#include "tacet/storage/file/posix_file.h"

namespace tacet::storage::file {

// FillFolder was killed here before its end, and nothing was signed since.
bool IsHalfFilled(const std::filesystem::path& folder);
// Keys are locked already; `first_key` is of epoch 0.
absl::Status FillFolder(const std::filesystem::path& folder, const CoordinatorFolder::Parts& parts,
                        std::span<const uint8_t> keys, std::span<const uint8_t> first_key,
                        DiskCalls& disk);
// Removes what FillFolder made, and nothing else: a folder that holds more stays.
absl::Status ClearFolder(const std::filesystem::path& folder);

}  // namespace tacet::storage::file

#endif  // TACET_STORAGE_FILE_COORDINATOR_FOUNDING_H_
