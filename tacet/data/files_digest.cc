#include "tacet/data/files_digest.h"

#include <algorithm>
#include <fstream>
#include <vector>

#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/data/load.h"

namespace tacet::data {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 20;

absl::StatusOr<crypto::Digest> FileDigest(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  crypto::Sha256Hasher hasher;
  base::Bytes piece(kPieceBytes);
  while (in) {
    in.read(reinterpret_cast<char*>(piece.data()), static_cast<std::streamsize>(piece.size()));
    hasher.Update(std::span(piece).first(static_cast<size_t>(in.gcount())));
  }
  if (!in.eof()) return base::Unavailable("{}: the file cannot be read", path.string());
  return hasher.Finish();
}

}  // namespace

absl::StatusOr<crypto::Digest> FilesDigest(const std::filesystem::path& path) {
  std::vector<crypto::Digest> digests;
  for (const std::filesystem::path& file : FilesOfDataset(path)) {
    TACET_ASSIGN_OR_RETURN(digests.emplace_back(), FileDigest(file));
  }
  if (digests.empty()) return base::NotFound("{}: there are no files of a data set", path.string());
  std::ranges::sort(digests);
  crypto::Sha256Hasher hasher;
  for (const crypto::Digest& digest : digests) hasher.Update(digest);
  return hasher.Finish();
}

}  // namespace tacet::data
