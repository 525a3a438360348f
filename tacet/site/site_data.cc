#include "tacet/site/site_data.h"

#include "tacet/base/plain_text.h"
#include "tacet/base/status.h"
#include "tacet/data/files_digest.h"

namespace tacet::site {

std::string NameOfData(const std::filesystem::path& path) {
  constexpr size_t kMaxNameBytes = 200;
  const std::filesystem::path last =
      path.has_filename() ? path.filename() : path.parent_path().filename();
  const std::string name = base::PlainText(last.string(), kMaxNameBytes);
  return name.empty() ? "data" : name;
}

absl::StatusOr<simulation::SimulatedData> DataOfFiles(const std::filesystem::path& path) {
  TACET_ASSIGN_OR_RETURN(const crypto::Digest digest, data::FilesDigest(path));
  return simulation::SimulatedData{.name = NameOfData(path), .digest = digest};
}

}  // namespace tacet::site
