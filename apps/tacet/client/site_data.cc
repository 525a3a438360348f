#include "apps/tacet/client/site_data.h"

#include <string>

#include "fmt/core.h"

#include "tacet/base/bytes.h"
#include "tacet/base/plain_text.h"
#include "tacet/base/status.h"
#include "tacet/crypto/hash.h"
#include "tacet/data/files_digest.h"

namespace tacet::app::client {
namespace {

constexpr size_t kMaxNameBytes = 200;

// Printable ASCII, as a ledger wants it.
std::string NameOf(const std::filesystem::path& path) {
  const std::filesystem::path last =
      path.has_filename() ? path.filename() : path.parent_path().filename();
  const std::string name = base::PlainText(last.string(), kMaxNameBytes);
  return name.empty() ? "data" : name;
}

storage::file::SiteData PartOf(storage::file::SiteData data,
                               const std::optional<uint64_t>& client) {
  if (!client.has_value()) return data;
  base::ByteWriter writer;
  writer.Raw(data.digest);
  writer.U64(*client);
  return {.name = fmt::format("{}, client {}", data.name, *client),
          .digest = crypto::Sha256(writer.bytes())};
}

}  // namespace

absl::StatusOr<storage::file::SiteData> SiteDataOfFiles(const std::filesystem::path& path,
                                                        const std::optional<uint64_t>& client) {
  TACET_ASSIGN_OR_RETURN(const crypto::Digest digest, data::FilesDigest(path));
  return PartOf({.name = NameOf(path), .digest = digest}, client);
}

absl::StatusOr<storage::file::SiteData> SiteDataOf(const std::filesystem::path& path,
                                                   const std::optional<uint64_t>& client,
                                                   const data::Dataset& all) {
  if (!path.empty()) return SiteDataOfFiles(path, client);
  return PartOf({.name = "drawn handwriting", .digest = data::DatasetDigest(all)}, client);
}

}  // namespace tacet::app::client
