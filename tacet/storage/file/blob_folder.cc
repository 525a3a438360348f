#include "tacet/storage/file/blob_folder.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tacet/base/failure_cause.h"
#include "tacet/base/status.h"
#include "tacet/server/server_store_rules.h"

namespace tacet::storage::file {
namespace {

using server::BlobKey;
using server::BlobReader;
using server::BlobWriter;

constexpr std::string_view kArriving = ".part";
constexpr std::string_view kComplete = ".whole";
// Every file begins with the SHA-256 that its object is announced to have.
constexpr uint64_t kHeaderBytes = sizeof(crypto::Digest);

std::string NameOf(const BlobKey& key) {
  return base::ToHex(crypto::Sha256(server::BlobKeyBytes(key)));
}

// A file that is missing although it was there a moment ago is not the caller's mistake.
absl::Status Failure(std::string_view what, const std::filesystem::path& path) {
  const absl::Status error = SystemError(what, path);
  return base::WithCause(base::Unavailable("{}", base::Message(error)), base::CauseOf(error));
}

// The same of an object's file. Its name stays out of the log, because it follows from the member.
absl::Status ObjectFailure(std::string_view what, const std::filesystem::path& path) {
  const int code = errno;
  return base::WithCauseOf(base::Unavailable("cannot {} an object in {}: {}", what,
                                             path.parent_path().string(), std::strerror(code)),
                           code);
}

absl::Status OutOfRange(uint64_t offset, uint64_t arrived) {
  return base::OutOfRange("the part begins at byte {}, {} have arrived", offset, arrived);
}

absl::StatusOr<uint64_t> SizeOf(const File& file, const std::filesystem::path& path) {
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return ObjectFailure("read", path);
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
    return ObjectFailure("open", path);
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
  return base::DataLoss("the object of {} bytes does not have the announced digest",
                        size - std::min(size, kHeaderBytes));
}

absl::StatusOr<File> OpenComplete(const std::filesystem::path& path) {
  File file(path, O_RDONLY);
  if (file.ok()) return file;
  if (errno == ENOENT) return base::NotFound("there is no such complete object");
  return ObjectFailure("open", path);
}

// Appends to a file, and cuts it to its old length unless all was committed.
class FileWriter final : public BlobWriter {
 public:
  FileWriter(File file, std::filesystem::path path, uint64_t before, DiskCalls& disk)
      : file_(std::move(file)), path_(std::move(path)), before_(before), disk_(disk) {}
  ~FileWriter() override {
    // When this fails, more has arrived than is told, which is harmless.
    if (!committed_) (void)disk_.Truncate(file_.get(), static_cast<off_t>(before_));
  }

  absl::Status Write(std::span<const uint8_t> bytes) override {
    if (file_.WriteAll(bytes, disk_)) return absl::OkStatus();
    return failure_ = ObjectFailure("append to", path_);
  }
  absl::Status Commit() override {
    committed_ = failure_.ok();
    return failure_;
  }

 private:
  File file_;
  std::filesystem::path path_;
  uint64_t before_;
  DiskCalls& disk_;
  absl::Status failure_;
  bool committed_ = false;
};

std::filesystem::path LockPath(const std::filesystem::path& folder) { return folder / "lock"; }

absl::StatusOr<File> MakeAndLock(const std::filesystem::path& folder) {
  if (::mkdir(folder.c_str(), 0700) == 0) {
    TACET_RETURN_IF_ERROR(SyncDirectory(folder.parent_path()));
  } else if (errno != EEXIST) {
    return Failure("make", folder);
  }
  const std::filesystem::path path = LockPath(folder);
  File lock(path, O_RDWR | O_CREAT, kOwnerOnly);
  if (!lock.ok()) return Failure("open", path);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  return base::FailedPrecondition(
      "the folder {} is in use by another process: wait until that has ended", folder.string());
}

// Members would be blamed for objects that this process cannot read.
absl::Status CheckAccess(const std::filesystem::path& folder) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (::faccessat(AT_FDCWD, entry->path().c_str(), R_OK | W_OK, AT_EACCESS) == 0) continue;
    if (errno != EACCES) continue;  // it is gone
    return base::PermissionDenied(
        "{0} holds files of another user. User {1} runs this program: `chown -R {1} {0}` lets it",
        folder.string(), ::geteuid());
  }
  if (error) return base::Unavailable("cannot read {}: {}", folder.string(), error.message());
  return absl::OkStatus();
}

// For an object that is complete.
class NothingMore final : public BlobWriter {
 public:
  explicit NothingMore(uint64_t size) : size_(size) {}
  absl::Status Write(std::span<const uint8_t>) override { return OutOfRange(size_, size_); }
  absl::Status Commit() override { return absl::OkStatus(); }

 private:
  uint64_t size_;
};

class FileReader final : public BlobReader {
 public:
  FileReader(File file, std::filesystem::path path, uint64_t size)
      : file_(std::move(file)), path_(std::move(path)), size_(size) {}

  uint64_t size() const override { return size_; }
  absl::Status Read(uint64_t offset, std::span<uint8_t> out) override {
    if (offset > size_ || out.size() > size_ - offset) {
      return base::OutOfRange("{} bytes from byte {} on of an object of {} bytes", out.size(),
                              offset, size_);
    }
    return ReadInto(file_, path_, kHeaderBytes + offset, out);
  }

 private:
  File file_;
  std::filesystem::path path_;
  uint64_t size_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<BlobFolder>> BlobFolder::Open(const std::filesystem::path& folder,
                                                             DiskCalls& disk) {
  TACET_ASSIGN_OR_RETURN(File lock, MakeAndLock(folder));
  TACET_RETURN_IF_ERROR(CheckAccess(folder));
  return std::unique_ptr<BlobFolder>(new BlobFolder(folder, std::move(lock), disk));
}

absl::Status BlobFolder::MakeAgain() {
  const base::MutexLock guard(lock_mutex_);
  struct stat held {};
  struct stat there {};
  if (::fstat(lock_.get(), &held) != 0) return Failure("read", LockPath(folder_));
  const bool is_there = ::stat(LockPath(folder_).c_str(), &there) == 0;
  if (is_there && there.st_dev == held.st_dev && there.st_ino == held.st_ino) {
    return absl::OkStatus();
  }
  absl::StatusOr<File> lock = MakeAndLock(folder_);
  if (!lock.ok()) return base::Unavailable("{}", base::Message(lock.status()));
  lock_ = *std::move(lock);
  return absl::OkStatus();
}

std::filesystem::path BlobFolder::ArrivingPath(const BlobKey& key) const {
  return folder_ / (NameOf(key).append(kArriving));
}

std::filesystem::path BlobFolder::CompletePath(const BlobKey& key) const {
  return folder_ / (NameOf(key).append(kComplete));
}

absl::Status BlobFolder::Remove(const std::filesystem::path& path) const {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  return ObjectFailure("remove", path);
}

// For an object that is not complete; one with another digest is removed.
absl::StatusOr<uint64_t> BlobFolder::ArrivingBytes(const BlobKey& key,
                                                   const crypto::Digest& digest) const {
  const std::filesystem::path path = ArrivingPath(key);
  TACET_ASSIGN_OR_RETURN(const std::optional<Announced> arriving, ReadAnnounced(path));
  if (arriving.has_value() && arriving->digest == digest) return arriving->bytes;
  TACET_RETURN_IF_ERROR(Remove(path));
  return 0;
}

absl::StatusOr<uint64_t> BlobFolder::Arrived(const BlobKey& key, const crypto::Digest& digest) {
  TACET_ASSIGN_OR_RETURN(const std::optional<Announced> complete, ReadAnnounced(CompletePath(key)));
  if (complete.has_value() && complete->digest == digest) return complete->bytes;
  return ArrivingBytes(key, digest);
}

absl::StatusOr<std::unique_ptr<BlobWriter>> BlobFolder::Begin(const BlobKey& key,
                                                              const crypto::Digest& digest,
                                                              uint64_t offset) {
  TACET_ASSIGN_OR_RETURN(const std::optional<Announced> complete, ReadAnnounced(CompletePath(key)));
  if (complete.has_value() && complete->digest == digest) {
    if (offset != complete->bytes) return OutOfRange(offset, complete->bytes);
    return std::make_unique<NothingMore>(complete->bytes);
  }
  TACET_ASSIGN_OR_RETURN(const uint64_t arrived, ArrivingBytes(key, digest));
  if (offset != arrived) return OutOfRange(offset, arrived);
  std::filesystem::path path = ArrivingPath(key);
  File file(path, O_WRONLY | O_CREAT | O_APPEND, kOwnerOnly);
  if (!file.ok() && errno == ENOENT) {
    TACET_RETURN_IF_ERROR(MakeAgain());
    file = File(path, O_WRONLY | O_CREAT | O_APPEND, kOwnerOnly);
  }
  if (!file.ok()) return ObjectFailure("open", path);
  TACET_ASSIGN_OR_RETURN(const uint64_t before, SizeOf(file, path));
  auto writer = std::make_unique<FileWriter>(std::move(file), std::move(path), before, disk_);
  if (before == 0) TACET_RETURN_IF_ERROR(writer->Write(digest));
  return writer;
}

absl::StatusOr<base::Bytes> BlobFolder::Complete(const BlobKey& key, const crypto::Digest& digest) {
  const std::filesystem::path complete_path = CompletePath(key);
  TACET_ASSIGN_OR_RETURN(const std::optional<Announced> complete, ReadAnnounced(complete_path));
  const bool again = complete.has_value() && complete->digest == digest;
  const std::filesystem::path path = again ? complete_path : ArrivingPath(key);
  const File file(path, O_RDONLY);
  if (!file.ok() && errno != ENOENT) return ObjectFailure("open", path);
  absl::StatusOr<base::Bytes> object =
      file.ok() ? ReadObject(file, path, digest)
                : base::DataLoss("nothing has arrived of the object with the announced digest");
  if (object.status().code() == absl::StatusCode::kDataLoss) TACET_RETURN_IF_ERROR(Remove(path));
  TACET_RETURN_IF_ERROR(object.status());
  if (!again) TACET_RETURN_IF_ERROR(MakeComplete(file, path, complete_path));
  TACET_RETURN_IF_ERROR(SyncDirectory(folder_, disk_));
  return object;
}

absl::Status BlobFolder::CompleteUnread(const BlobKey& key, const crypto::Digest& digest) {
  const std::filesystem::path path = ArrivingPath(key);
  TACET_ASSIGN_OR_RETURN(const std::optional<Announced> arriving, ReadAnnounced(path));
  if (!arriving.has_value() || arriving->digest != digest) {
    // It may be complete already.
    return Complete(key, digest).status();
  }
  const File file(path, O_RDONLY);
  if (!file.ok()) return ObjectFailure("open", path);
  TACET_RETURN_IF_ERROR(MakeComplete(file, path, CompletePath(key)));
  return SyncDirectory(folder_, disk_);
}

absl::Status BlobFolder::MakeComplete(const File& file, const std::filesystem::path& arriving,
                                      const std::filesystem::path& complete) const {
  if (disk_.Synchronise(file.get()) != 0) {
    const absl::Status failure = ObjectFailure("synchronise", arriving);
    // After such an error the system may forget what it could not write, and say nothing the next
    // time: what arrived is not to be believed any more.
    TACET_RETURN_IF_ERROR(Remove(arriving));
    return failure;
  }
  if (disk_.Rename(arriving.c_str(), complete.c_str()) == 0) return absl::OkStatus();
  return ObjectFailure("rename", arriving);
}

absl::StatusOr<bool> BlobFolder::Holds(const BlobKey& key, const crypto::Digest& digest) const {
  TACET_ASSIGN_OR_RETURN(const std::optional<Announced> complete, ReadAnnounced(CompletePath(key)));
  return complete.has_value() && complete->digest == digest;
}

absl::StatusOr<base::Bytes> BlobFolder::Read(const BlobKey& key, const crypto::Digest& digest) {
  const std::filesystem::path path = CompletePath(key);
  TACET_ASSIGN_OR_RETURN(const File file, OpenComplete(path));
  absl::StatusOr<base::Bytes> object = ReadObject(file, path, digest);
  if (object.status().code() == absl::StatusCode::kDataLoss) {
    // A damaged one would be in the way of the same bytes; another one is not.
    TACET_ASSIGN_OR_RETURN(const bool is_damaged, Holds(key, digest));
    if (is_damaged) TACET_RETURN_IF_ERROR(Remove(path));
  }
  return object;
}

absl::StatusOr<std::unique_ptr<BlobReader>> BlobFolder::Open(const BlobKey& key) const {
  std::filesystem::path path = CompletePath(key);
  TACET_ASSIGN_OR_RETURN(File file, OpenComplete(path));
  TACET_ASSIGN_OR_RETURN(const uint64_t size, SizeOf(file, path));
  return std::make_unique<FileReader>(std::move(file), std::move(path),
                                      size - std::min(size, kHeaderBytes));
}

absl::Status BlobFolder::KeepOnly(std::span<const BlobKey> kept) {
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
  if (error == std::errc::no_such_file_or_directory) return absl::OkStatus();
  if (error) {
    return base::Unavailable("cannot read {}: {}", folder_.string(), error.message());
  }
  for (const std::filesystem::path& path : unwanted) TACET_RETURN_IF_ERROR(Remove(path));
  return SyncDirectory(folder_, disk_);
}

}  // namespace tacet::storage::file
