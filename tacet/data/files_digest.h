// Digest of a data set's files, by which a site's ledger recognises the data however a federation
// reads them.
#ifndef TACET_DATA_FILES_DIGEST_H_
#define TACET_DATA_FILES_DIGEST_H_

#include <filesystem>

#include "absl/status/statusor.h"

#include "tacet/crypto/hash.h"

namespace tacet::data {

// SHA-256 over the sorted SHA-256 digests of the files that LoadDataset reads from `path`, or where
// it reads none, of `path` or all files below it whose own or folders' names do not begin with a
// point. The same wherever they lie and whatever they are called; another one for one more row, one
// column less, or another compression. It stays in memory, as DatasetDigest does, for the same
// reason. NotFound when there is no file; Unavailable when one cannot be read.
absl::StatusOr<crypto::Digest> FilesDigest(const std::filesystem::path& path);

}  // namespace tacet::data

#endif  // TACET_DATA_FILES_DIGEST_H_
