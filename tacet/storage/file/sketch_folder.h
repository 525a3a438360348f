// Sketches of a site's populations on disk, apart from the ledgers and from every backup.
#ifndef TACET_STORAGE_FILE_SKETCH_FOLDER_H_
#define TACET_STORAGE_FILE_SKETCH_FOLDER_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/crypto/secret.h"
#include "tacet/ledger/row_sketch.h"

namespace tacet::storage::file {

// Rows that another population has, too.
struct SharedRows {
  std::string population;
  double share = 0;  // of the rows that were compared, in (0, 1]
};

// Files of LEDGERS/sketch, a folder of mode 0700: `key` and POPULATION.rows, of mode 0600;
// CACHEDIR.TAG, by which programs for backups leave a folder out (bford.info/cachedir); `lock`.
class SketchFolder {
 public:
  // Makes the folder and a key when they are missing. Errors of ReadSecretFile.
  static absl::StatusOr<SketchFolder> Open(const std::filesystem::path& ledger_folder);

  const crypto::SecretBytes& key() const { return key_; }

  // Adds `rows` to those of `population`, and returns the other populations that share some of
  // them. Errors of ReadSecretFile and ReadRowSketch name the file; nothing is written then.
  absl::StatusOr<std::vector<SharedRows>> Add(std::string_view population,
                                              const ledger::RowSketch& rows) const;

 private:
  SketchFolder(std::filesystem::path path, crypto::SecretBytes key)
      : path_(std::move(path)), key_(std::move(key)) {}
  absl::StatusOr<ledger::RowSketch> Read(const std::filesystem::path& path) const;

  std::filesystem::path path_;
  crypto::SecretBytes key_;
};

}  // namespace tacet::storage::file

#endif  // TACET_STORAGE_FILE_SKETCH_FOLDER_H_
