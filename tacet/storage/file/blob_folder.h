// Large objects on a server's disk: a folder with one file an object
// (docs/formats/server-store.md).
#ifndef TACET_STORAGE_FILE_BLOB_FOLDER_H_
#define TACET_STORAGE_FILE_BLOB_FOLDER_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/mutex.h"
#include "tacet/server/blob_store.h"
#include "tacet/storage/file/posix_file.h"

namespace tacet::storage::file {

// Holds no object in memory but the one that it returns. Calls for different objects share no lock:
// the file system is the only state. A writer that is not committed cuts off again what it wrote,
// so that the same bytes fit as soon as the disk has room. A folder that is removed under it is
// made again with the next object; those that were in it are lost.
class BlobFolder final : public server::BlobStore {
 public:
  // Makes the folder, mode 0700, when there is none. FailedPrecondition while another process uses
  // it. `disk` must outlive the blob store.
  static absl::StatusOr<std::unique_ptr<BlobFolder>> Open(const std::filesystem::path& folder,
                                                          DiskCalls& disk = DiskCalls::System());

  absl::StatusOr<uint64_t> Arrived(const server::BlobKey& key,
                                   const crypto::Digest& digest) override;
  absl::StatusOr<std::unique_ptr<server::BlobWriter>> Begin(const server::BlobKey& key,
                                                            const crypto::Digest& digest,
                                                            uint64_t offset) override;
  absl::StatusOr<base::Bytes> Complete(const server::BlobKey& key,
                                       const crypto::Digest& digest) override;
  absl::Status CompleteUnread(const server::BlobKey& key, const crypto::Digest& digest) override;
  absl::StatusOr<bool> Holds(const server::BlobKey& key,
                             const crypto::Digest& digest) const override;
  absl::StatusOr<base::Bytes> Read(const server::BlobKey& key,
                                   const crypto::Digest& digest) override;
  absl::StatusOr<std::unique_ptr<server::BlobReader>> Open(
      const server::BlobKey& key) const override;
  absl::Status KeepOnly(std::span<const server::BlobKey> kept) override;

 private:
  BlobFolder(std::filesystem::path folder, File lock, DiskCalls& disk)
      : folder_(std::move(folder)), disk_(disk), lock_(std::move(lock)) {}

  // The folder, held by this process. Unavailable when another one has it.
  absl::Status MakeAgain();

  std::filesystem::path ArrivingPath(const server::BlobKey& key) const;
  std::filesystem::path CompletePath(const server::BlobKey& key) const;
  absl::StatusOr<uint64_t> ArrivingBytes(const server::BlobKey& key,
                                         const crypto::Digest& digest) const;
  absl::Status MakeComplete(const File& file, const std::filesystem::path& arriving,
                            const std::filesystem::path& complete) const;
  absl::Status Remove(const std::filesystem::path& path) const;

  std::filesystem::path folder_;
  DiskCalls& disk_;
  base::Mutex lock_mutex_;
  File lock_ ABSL_GUARDED_BY(lock_mutex_);
};

}  // namespace tacet::storage::file

#endif  // TACET_STORAGE_FILE_BLOB_FOLDER_H_
