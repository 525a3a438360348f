// Data of a site that only their user's own program reads.
#ifndef TACET_SITE_SITE_DATA_H_
#define TACET_SITE_SITE_DATA_H_

#include <filesystem>
#include <string>

#include "absl/status/statusor.h"

#include "tacet/simulation/simulation.h"

namespace tacet::site {

// The last part of a path, in printable ASCII.
std::string NameOfData(const std::filesystem::path& path);

// Name and digest of the files in `path`, whatever they hold.
absl::StatusOr<simulation::SimulatedData> DataOfFiles(const std::filesystem::path& path);

}  // namespace tacet::site

#endif  // TACET_SITE_SITE_DATA_H_
