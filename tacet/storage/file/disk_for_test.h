// Disks that fail, and disks at which a process dies.
#ifndef TACET_STORAGE_FILE_DISK_FOR_TEST_H_
#define TACET_STORAGE_FILE_DISK_FOR_TEST_H_

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <span>

#include <unistd.h>

#include "tacet/storage/file/posix_file.h"

namespace tacet::storage::file {

// Fails one call, or writes a part of what it should.
class FailingDisk : public DiskCalls {
 public:
  ssize_t Write(int descriptor, std::span<const uint8_t> bytes) override {
    if (Fails()) {
      if (bytes.size() > 3) (void)DiskCalls::Write(descriptor, bytes.first(bytes.size() / 2));
      errno = ENOSPC;
      return -1;
    }
    return DiskCalls::Write(descriptor, bytes.first(std::min<size_t>(bytes.size(), 50)));
  }
  int Synchronise(int descriptor) override {
    return Fails() ? (errno = EIO, -1) : DiskCalls::Synchronise(descriptor);
  }
  int Truncate(int descriptor, off_t size) override {
    return Fails() ? (errno = EIO, -1) : DiskCalls::Truncate(descriptor, size);
  }
  int Rename(const char* from, const char* to) override {
    return Fails() ? (errno = EIO, -1) : DiskCalls::Rename(from, to);
  }

  int calls = 0;
  int fail_at = -1;  // the first call that fails, counted from 0
  int fails = 1;     // so many, one after the other

 private:
  bool Fails() {
    const int call = calls++;
    return fail_at >= 0 && call >= fail_at && call < fail_at + fails;
  }
};

// Ends the process before, in the middle of, or after its n-th call.
class DeadlyDisk : public DiskCalls {
 public:
  enum class When { kBefore, kHalfway, kAfter };
  DeadlyDisk(int die_at, When when) : die_at_(die_at), when_(when) {}

  ssize_t Write(int descriptor, std::span<const uint8_t> bytes) override {
    const bool dies = Dies();
    if (dies && when_ == When::kHalfway) {
      (void)DiskCalls::Write(descriptor, bytes.first(bytes.size() / 2));
    }
    if (dies && when_ != When::kAfter) _exit(kDied);
    const ssize_t result = DiskCalls::Write(descriptor, bytes);
    if (dies) _exit(kDied);
    return result;
  }
  int Synchronise(int descriptor) override {
    return Call([&] { return DiskCalls::Synchronise(descriptor); });
  }
  int Truncate(int descriptor, off_t size) override {
    return Call([&] { return DiskCalls::Truncate(descriptor, size); });
  }
  int Rename(const char* from, const char* to) override {
    return Call([&] { return DiskCalls::Rename(from, to); });
  }

  static constexpr int kDied = 42;

 private:
  bool Dies() { return calls_++ == die_at_; }
  template <typename F>
  int Call(F&& call) {
    const bool dies = Dies();
    if (dies && when_ != When::kAfter) _exit(kDied);
    const int result = call();
    if (dies) _exit(kDied);
    return result;
  }

  int die_at_;
  When when_;
  int calls_ = 0;
};

}  // namespace tacet::storage::file

#endif  // TACET_STORAGE_FILE_DISK_FOR_TEST_H_
