// Lock of a file that several processes use in turns.
#ifndef TACET_STORAGE_FILE_FILE_LOCK_H_
#define TACET_STORAGE_FILE_FILE_LOCK_H_

#include "tacet/storage/file/posix_file.h"

namespace tacet::storage::file {

// Waits until only this open file is locked (flock), at most for so long; false when another one
// still is. The lock ends with UnlockFile, with the file, or with the process.
bool LockFile(const File& file, double max_wait_seconds);
void UnlockFile(const File& file);

}  // namespace tacet::storage::file

#endif  // TACET_STORAGE_FILE_FILE_LOCK_H_
