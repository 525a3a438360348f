// Lock of a file that several processes use in turns.
#ifndef TACET_STORAGE_FILE_FILE_LOCK_H_
#define TACET_STORAGE_FILE_FILE_LOCK_H_

#include <sys/types.h>

#include "tacet/storage/file/posix_file.h"

namespace tacet::storage::file {

// Waits until only this open file is locked (flock), at most for so long; false when another one
// still is. The lock ends with UnlockFile, with the file, or with the process.
bool LockFile(const File& file, double max_wait_seconds);
void UnlockFile(const File& file);

// A locked file that is unlocked at the end of this object. A process that was forked meanwhile has
// the same open file: it would keep the lock after the file is closed here, and its copy of this
// object must not give up the lock that this process still holds.
class FileLock {
 public:
  // `locked` is locked by this process.
  explicit FileLock(File locked);
  ~FileLock();
  FileLock(FileLock&& other) noexcept = default;
  FileLock& operator=(FileLock&& other) = delete;

 private:
  File file_;
  pid_t process_;
};

}  // namespace tacet::storage::file

#endif  // TACET_STORAGE_FILE_FILE_LOCK_H_
