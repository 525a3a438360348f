// State of a member of a live federation in a folder (docs/formats/site-state.md).
#ifndef TACET_STORAGE_FILE_MEMBER_STATE_FOLDER_H_
#define TACET_STORAGE_FILE_MEMBER_STATE_FOLDER_H_

#include <filesystem>
#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/member/member_state.h"
#include "tacet/secagg/attempt.h"
#include "tacet/storage/file/file_lock.h"
#include "tacet/storage/file/posix_file.h"

namespace tacet::storage::file {

// Name of the folder in a site's home.
inline constexpr std::string_view kMemberState = "state";

// Files of mode 0600, each replaced as a whole; one process at a time, which a lock sees to.
class MemberStateFolder final : public member::MemberState {
 public:
  // Makes the folder when there is none. FailedPrecondition when another process uses it. `disk`
  // must outlive it.
  static absl::StatusOr<std::unique_ptr<MemberStateFolder>> Open(
      const std::filesystem::path& path, DiskCalls& disk = DiskCalls::System());

  absl::Status SaveCheckpoint(base::Bytes checkpoint) override;
  absl::StatusOr<base::Bytes> LoadCheckpoint() const override;
  absl::StatusOr<base::Bytes> LoadEarlierCheckpoint() const override;
  absl::Status ForgetEarlierCheckpoint() override;
  absl::Status StepBack() override;
  absl::Status SaveMemory(std::span<const uint8_t> memory) override;
  absl::StatusOr<base::Bytes> LoadMemory() const override;
  absl::Status SaveOpeningVote(std::span<const uint8_t> vote) override;
  absl::StatusOr<base::Bytes> LoadOpeningVote() const override;
  absl::Status SaveUpload(const secagg::Attempt& attempt, std::span<const uint8_t> upload) override;
  absl::StatusOr<base::Bytes> LoadUpload(const secagg::Attempt& attempt) const override;
  absl::Status Record(const secagg::Attempt& attempt, secagg::JournalStep step,
                      std::span<const uint8_t> message) override;
  absl::StatusOr<base::Bytes> Find(const secagg::Attempt& attempt,
                                   secagg::JournalStep step) const override;
  absl::Status KeepOnly(const secagg::AttemptNumber& attempt) override;

 private:
  MemberStateFolder(std::filesystem::path path, FileLock lock, DiskCalls& disk)
      : path_(std::move(path)), lock_(std::move(lock)), disk_(disk) {}

  // Whether SaveCheckpoint came to its end, or was never called.
  absl::StatusOr<bool> HasCheckpoint() const;
  absl::Status Save(std::string_view name, std::span<const uint8_t> content);
  // For one attempt: what was said, with the attempt that it was said about.
  absl::Status SaveEntry(const secagg::Attempt& attempt, std::string_view kind,
                         std::span<const uint8_t> message);
  absl::StatusOr<base::Bytes> LoadEntry(const secagg::Attempt& attempt,
                                        std::string_view kind) const;

  std::filesystem::path path_;
  FileLock lock_;
  DiskCalls& disk_;
};

}  // namespace tacet::storage::file

#endif  // TACET_STORAGE_FILE_MEMBER_STATE_FOLDER_H_
