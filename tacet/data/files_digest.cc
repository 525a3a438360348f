#include "tacet/data/files_digest.h"

#include <algorithm>
#include <fstream>
#include <system_error>
#include <vector>

#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/data/load.h"

namespace tacet::data {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPieceBytes = size_t{1} << 20;

absl::StatusOr<crypto::Digest> FileDigest(const fs::path& path) {
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

// Data of a model that tacet does not know: of any form.
absl::StatusOr<std::vector<fs::path>> AllFiles(const fs::path& path) {
  std::error_code error;
  std::vector<fs::path> files;
  if (fs::is_regular_file(path, error)) {
    files.push_back(path);
    return files;
  }
  if (!fs::is_directory(path, error)) return files;
  auto entry = fs::recursive_directory_iterator(path, error);
  while (!error && entry != fs::recursive_directory_iterator()) {
    if (entry->path().filename().native().starts_with('.')) {
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file(error)) {
      files.push_back(entry->path());
    }
    if (!error) entry.increment(error);
  }
  if (error) return base::Unavailable("cannot read {}: {}", path.string(), error.message());
  return files;
}

}  // namespace

absl::StatusOr<crypto::Digest> FilesDigest(const fs::path& path) {
  TACET_ASSIGN_OR_RETURN(std::vector<fs::path> files, FilesOfDataset(path));
  if (files.empty()) {
    TACET_ASSIGN_OR_RETURN(files, AllFiles(path));
  }
  if (files.empty()) return base::NotFound("{}: there are no files of data", path.string());
  std::vector<crypto::Digest> digests;
  for (const fs::path& file : files) {
    TACET_ASSIGN_OR_RETURN(digests.emplace_back(), FileDigest(file));
  }
  std::ranges::sort(digests);
  crypto::Sha256Hasher hasher;
  for (const crypto::Digest& digest : digests) hasher.Update(digest);
  return hasher.Finish();
}

}  // namespace tacet::data
