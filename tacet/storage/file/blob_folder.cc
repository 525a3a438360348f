#include "tacet/storage/file/blob_folder.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tacet/base/status.h"
#include "tacet/server/server_store_rules.h"

namespace tacet::storage::file {
namespace {

using protocol::FetchedPart;
using server::BlobKey;

constexpr mode_t kOwnerOnly = 0600;
constexpr std::string_view kArriving = ".part";
constexpr std::string_view kComplete = ".whole";
// Every file begins with the SHA-256 that its object is announced to have.
constexpr uint64_t kHeaderBytes = sizeof(crypto::Digest);

std::string NameOf(const BlobKey& key) {
  return base::ToHex(crypto::Sha256(server::BlobKeyBytes(key)));
}

// A file that is missing although it was there a moment ago is not the caller's mistake.
absl::Status Failure(std::string_view what, const std::filesystem::path& path) {
  return base::Unavailable("{}", base::Message(SystemError(what, path)));
}

absl::Status OutOfRange(uint64_t offset, uint64_t arrived) {
  return absl::OutOfRangeError(
      fmt::format("the part begins at byte {}, {} have arrived", offset, arrived));
}

absl::StatusOr<uint64_t> SizeOf(const File& file, const std::filesystem::path& path) {
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return Failure("read", path);
  return static_cast<uint64_t>(info.st_size);
}

// Announced content of the file at `path`; nothing has arrived when there is no such file or not
// even that in it.
struct Announced {
  crypto::Digest digest{};
  uint64_t bytes = 0;  // that have arrived
};
absl::StatusOr<std::optional<Announced>> ReadAnnounced(const std::filesystem::path& path) {
  const File file(path, O_RDONLY);
  if (!file.ok()) {
    if (errno == ENOENT) return std::nullopt;
    return Failure("open", path);
  }
  TACET_ASSIGN_OR_RETURN(const uint64_t size, SizeOf(file, path));
  if (size < kHeaderBytes) return std::nullopt;
  TACET_ASSIGN_OR_RETURN(const base::Bytes header, ReadRange(file, path, 0, kHeaderBytes));
  Announced announced{.digest = {}, .bytes = size - kHeaderBytes};
  std::copy(header.begin(), header.end(), announced.digest.begin());
  return announced;
}

// The object in a file, unless it has another digest than `digest`.
absl::StatusOr<base::Bytes> ReadObject(const File& file, const std::filesystem::path& path,
                                       const crypto::Digest& digest) {
  TACET_ASSIGN_OR_RETURN(const uint64_t size, SizeOf(file, path));
  if (size >= kHeaderBytes) {
    TACET_ASSIGN_OR_RETURN(base::Bytes object,
                           ReadRange(file, path, kHeaderBytes, size - kHeaderBytes));
    if (crypto::Sha256(object) == digest) return object;
  }
  return base::DataLoss("the object of {} bytes in {} does not have the announced digest",
                        size - std::min(size, kHeaderBytes), path.string());
}

absl::StatusOr<File> OpenComplete(const std::filesystem::path& path) {
  File file(path, O_RDONLY);
  if (file.ok()) return file;
  if (errno == ENOENT) return base::NotFound("there is no complete object {}", path.string());
  return Failure("open", path);
}

}  // namespace

absl::StatusOr<std::unique_ptr<FileSpool>> FileSpool::Open(const std::filesystem::path& folder,
                                                           DiskCalls& disk) {
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return Failure("make", folder);
  const std::filesystem::path lock_path = folder / "lock";
  File lock(lock_path, O_RDWR | O_CREAT, kOwnerOnly);
  if (!lock.ok()) return Failure("open", lock_path);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return base::FailedPrecondition(
        "the folder {} is in use by another process: wait until that has ended", folder.string());
  }
  return std::unique_ptr<FileSpool>(new FileSpool(folder, std::move(lock), disk));
}

std::filesystem::path FileSpool::ArrivingPath(const BlobKey& key) const {
  return folder_ / (NameOf(key).append(kArriving));
}

std::filesystem::path FileSpool::CompletePath(const BlobKey& key) const {
  return folder_ / (NameOf(key).append(kComplete));
}

absl::Status FileSpool::Remove(const std::filesystem::path& path) const {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  return Failure("remove", path);
}

// Of an object that is not complete; one with another digest is removed.
absl::StatusOr<uint64_t> FileSpool::ArrivingBytes(const BlobKey& key,
                                                  const crypto::Digest& digest) const {
  const std::filesystem::path path = ArrivingPath(key);
  TACET_ASSIGN_OR_RETURN(const std::optional<Announced> arriving, ReadAnnounced(path));
  if (arriving.has_value() && arriving->digest == digest) return arriving->bytes;
  TACET_RETURN_IF_ERROR(Remove(path));
  return 0;
}

absl::StatusOr<uint64_t> FileSpool::Arrived(const BlobKey& key, const crypto::Digest& digest) {
  TACET_ASSIGN_OR_RETURN(const std::optional<Announced> complete, ReadAnnounced(CompletePath(key)));
  if (complete.has_value() && complete->digest == digest) return complete->bytes;
  return ArrivingBytes(key, digest);
}

absl::Status FileSpool::Append(const BlobKey& key, const crypto::Digest& digest, uint64_t offset,
                               std::span<const uint8_t> part) {
  TACET_ASSIGN_OR_RETURN(const std::optional<Announced> complete, ReadAnnounced(CompletePath(key)));
  if (complete.has_value() && complete->digest == digest) {
    const bool nothing = part.empty() && offset == complete->bytes;
    return nothing ? absl::OkStatus() : OutOfRange(offset, complete->bytes);
  }
  TACET_ASSIGN_OR_RETURN(const uint64_t arrived, ArrivingBytes(key, digest));
  if (offset != arrived) return OutOfRange(offset, arrived);
  const std::filesystem::path path = ArrivingPath(key);
  const File file(path, O_WRONLY | O_CREAT | O_APPEND, kOwnerOnly);
  if (!file.ok()) return Failure("open", path);
  TACET_ASSIGN_OR_RETURN(const uint64_t before, SizeOf(file, path));
  if ((before > 0 || file.WriteAll(digest, disk_)) && file.WriteAll(part, disk_)) {
    return absl::OkStatus();
  }
  const absl::Status failure = Failure("append to", path);
  // When this fails too, more of the part has arrived than is told, which is harmless.
  (void)disk_.Truncate(file.get(), static_cast<off_t>(before));
  return failure;
}

absl::StatusOr<base::Bytes> FileSpool::Complete(const BlobKey& key, const crypto::Digest& digest) {
  const std::filesystem::path complete_path = CompletePath(key);
  TACET_ASSIGN_OR_RETURN(const std::optional<Announced> complete, ReadAnnounced(complete_path));
  const bool again = complete.has_value() && complete->digest == digest;
  const std::filesystem::path path = again ? complete_path : ArrivingPath(key);
  const File file(path, O_RDONLY);
  if (!file.ok() && errno != ENOENT) return Failure("open", path);
  absl::StatusOr<base::Bytes> object =
      file.ok() ? ReadObject(file, path, digest)
                : base::DataLoss("nothing has arrived of the object with the announced digest");
  if (object.status().code() == absl::StatusCode::kDataLoss) TACET_RETURN_IF_ERROR(Remove(path));
  TACET_RETURN_IF_ERROR(object.status());
  if (!again) TACET_RETURN_IF_ERROR(MakeComplete(file, path, complete_path));
  TACET_RETURN_IF_ERROR(SyncDirectory(folder_, disk_));
  return object;
}

absl::Status FileSpool::MakeComplete(const File& file, const std::filesystem::path& arriving,
                                     const std::filesystem::path& complete) const {
  if (disk_.Synchronise(file.get()) != 0) {
    const absl::Status failure = Failure("synchronise", arriving);
    // After such an error the system may forget what it could not write, and say nothing the next
    // time: what arrived is not to be believed any more.
    TACET_RETURN_IF_ERROR(Remove(arriving));
    return failure;
  }
  if (disk_.Rename(arriving.c_str(), complete.c_str()) == 0) return absl::OkStatus();
  return Failure("rename", arriving);
}

absl::StatusOr<base::Bytes> FileSpool::Read(const BlobKey& key,
                                            const crypto::Digest& digest) const {
  const std::filesystem::path path = CompletePath(key);
  TACET_ASSIGN_OR_RETURN(const File file, OpenComplete(path));
  return ReadObject(file, path, digest);
}

absl::StatusOr<FetchedPart> FileSpool::ReadPart(const BlobKey& key, uint64_t offset,
                                                size_t most) const {
  const std::filesystem::path path = CompletePath(key);
  TACET_ASSIGN_OR_RETURN(const File file, OpenComplete(path));
  TACET_ASSIGN_OR_RETURN(const uint64_t size, SizeOf(file, path));
  const uint64_t total = size - std::min(size, kHeaderBytes);
  if (offset > total) {
    return absl::OutOfRangeError(fmt::format("byte {} of an object of {} bytes", offset, total));
  }
  TACET_ASSIGN_OR_RETURN(base::Bytes part, ReadRange(file, path, kHeaderBytes + offset,
                                                     std::min<uint64_t>(most, total - offset)));
  return FetchedPart{.total = total, .part = std::move(part)};
}

absl::Status FileSpool::KeepOnly(std::span<const BlobKey> kept) {
  std::set<std::string> names;
  for (const BlobKey& key : kept) names.insert(NameOf(key));
  std::vector<std::filesystem::path> unwanted;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder_, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::filesystem::path& path = entry->path();
    // Other files are nobody's business here.
    const bool ours = path.extension() == kArriving || path.extension() == kComplete;
    if (ours && !names.contains(path.stem().string())) unwanted.push_back(path);
  }
  if (error) {
    return base::Unavailable("cannot read {}: {}", folder_.string(), error.message());
  }
  for (const std::filesystem::path& path : unwanted) TACET_RETURN_IF_ERROR(Remove(path));
  return SyncDirectory(folder_, disk_);
}

}  // namespace tacet::storage::file
