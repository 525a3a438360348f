// Parties of the next epoch, and the check that none is missing because its file was lost.
#ifndef TACET_COORDINATOR_ENROLLED_PARTIES_H_
#define TACET_COORDINATOR_ENROLLED_PARTIES_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/agreement/signed_manifest.h"
#include "tacet/storage/file/coordinator_folder.h"

namespace tacet::coordinator {

// FailedPrecondition names the file and the remedy where a party of the present epoch is in neither
// `sites` nor `removed`, and where the request of one has an exchange key of an epoch that ended:
// the file is a copy from then, and the party has deleted that key, or was removed. OK before the
// first manifest is signed.
absl::Status CheckAllEnrolled(const std::vector<storage::file::EnrolledSite>& sites,
                              const std::set<std::string>& removed,
                              const storage::file::CoordinatorFolder& folder);

// Those that are enrolled and not in `removed`; NotFound for a name there that nobody has. Errors
// of CheckAllEnrolled.
absl::StatusOr<std::vector<storage::file::EnrolledSite>> EnrolledWithout(
    const std::set<std::string>& removed, const storage::file::CoordinatorFolder& folder);

}  // namespace tacet::coordinator

#endif  // TACET_COORDINATOR_ENROLLED_PARTIES_H_
