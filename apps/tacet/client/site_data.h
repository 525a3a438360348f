// Data of a site as its ledger knows them.
#ifndef TACET_APPS_TACET_CLIENT_SITE_DATA_H_
#define TACET_APPS_TACET_CLIENT_SITE_DATA_H_

#include <cstdint>
#include <filesystem>
#include <optional>

#include "absl/status/statusor.h"

#include "tacet/data/dataset.h"
#include "tacet/storage/file/ledger_folder.h"

namespace tacet::app::client {

// Name and digest of the files in `path`, however they are read, or of one client's part of them.
absl::StatusOr<storage::file::SiteData> SiteDataOfFiles(const std::filesystem::path& path,
                                                        const std::optional<uint64_t>& client);
// The same of data that were read from `path`, or drawn where that is empty.
absl::StatusOr<storage::file::SiteData> SiteDataOf(const std::filesystem::path& path,
                                                   const std::optional<uint64_t>& client,
                                                   const data::Dataset& all);

}  // namespace tacet::app::client

#endif  // TACET_APPS_TACET_CLIENT_SITE_DATA_H_
