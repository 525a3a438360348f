// Files of a coordinator's folder whose content others there repeat. Signed manifests repeat name,
// identity, authority and agreement of the federation, and invitations repeat all manifests and the
// initial model. So a file that is lost, damaged or of an earlier epoch is written again.
#ifndef TACET_STORAGE_FILE_COORDINATOR_REPAIR_H_
#define TACET_STORAGE_FILE_COORDINATOR_REPAIR_H_

#include <filesystem>

#include "absl/status/status.h"

#include "tacet/storage/file/posix_file.h"

namespace tacet::storage::file {

// The file `name`, and the folders in it. Before the folder is locked, which takes that file.
absl::Status RepairNames(const std::filesystem::path& folder, DiskCalls& disk);
// The other files. The folder is locked, and no epoch is half begun. Nothing changes as long as no
// manifest is signed. DataLoss names a file that nothing repeats.
absl::Status RepairCopies(const std::filesystem::path& folder, DiskCalls& disk);

}  // namespace tacet::storage::file

#endif  // TACET_STORAGE_FILE_COORDINATOR_REPAIR_H_
