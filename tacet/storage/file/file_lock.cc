#include "tacet/storage/file/file_lock.h"

#include <chrono>
#include <thread>
#include <utility>

#include <sys/file.h>
#include <unistd.h>

#include "tacet/base/stopwatch.h"

namespace tacet::storage::file {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks(2);

}  // namespace

bool LockFile(const File& file, double max_wait_seconds) {
  const base::Stopwatch waited;
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (waited.Seconds() > max_wait_seconds) return false;
    std::this_thread::sleep_for(kBetweenLooks);
  }
  return true;
}

void UnlockFile(const File& file) { ::flock(file.get(), LOCK_UN); }

FileLock::FileLock(File locked) : file_(std::move(locked)), process_(::getpid()) {}

FileLock::~FileLock() {
  if (file_.ok() && ::getpid() == process_) UnlockFile(file_);
}

}  // namespace tacet::storage::file
