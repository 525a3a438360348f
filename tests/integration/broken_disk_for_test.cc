// Library that breaks the disk of a process, loaded before all other libraries (LD_PRELOAD).
// BROKEN_ROOT names a folder whose changes are steps: making, writing, synchronising, renaming,
// shortening and deleting a file or a folder.
//
// BROKEN_STEPS names a file of 8 bytes in which steps are counted. With BROKEN_KILL the process is
// killed before the step of that number, from 0. With BROKEN_STOP it is stopped before a step of an
// entry, such as `delete state/*.share`, that matches the pattern. With BROKEN_HOLD, such a step
// waits as long as the file of that name holds a pattern that it matches. BROKEN_SKIP such steps
// are let through first. With BROKEN_FULL a write to a file that matches finds no room, as long as
// the file BROKEN_SWITCH exists.
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include <dlfcn.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

namespace fs = std::filesystem;

const char* broken_root = nullptr;
const char* full = nullptr;
const char* full_switch = nullptr;
const char* stop_before = nullptr;
uint64_t skip = 0;
const char* hold = nullptr;
std::atomic<uint64_t>* steps = nullptr;
uint64_t kill_before = UINT64_MAX;

template <typename F>
F* Next(const char* name) {
  return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}

__attribute__((constructor)) void Begin() {
  broken_root = std::getenv("BROKEN_ROOT");
  full = std::getenv("BROKEN_FULL");
  full_switch = std::getenv("BROKEN_SWITCH");
  stop_before = std::getenv("BROKEN_STOP");
  if (const char* const first = std::getenv("BROKEN_SKIP"))
    skip = std::strtoull(first, nullptr, 10);
  hold = std::getenv("BROKEN_HOLD");
  if (const char* const at = std::getenv("BROKEN_KILL"))
    kill_before = std::strtoull(at, nullptr, 10);
  const char* const counted = std::getenv("BROKEN_STEPS");
  if (counted == nullptr) return;
  const int file = ::open(counted, O_RDWR | O_CLOEXEC);
  void* const memory = ::mmap(nullptr, sizeof(*steps), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory != MAP_FAILED) steps = static_cast<std::atomic<uint64_t>*>(memory);
}

// Below the root: without it. Else empty.
std::string Below(const fs::path& path) {
  const std::string inside = std::string(broken_root) + "/";
  std::error_code failed;
  std::string whole = fs::absolute(path, failed).lexically_normal();
  return !failed && whole.starts_with(inside) ? whole.substr(inside.size()) : std::string();
}

std::string PathOf(int descriptor) {
  char path[4096];
  const ssize_t size =
      ::readlink(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), path, sizeof(path));
  return size < 0 ? std::string() : std::string(path, static_cast<size_t>(size));
}

void Step() {
  if (steps == nullptr) return;
  if (steps->fetch_add(1) == kill_before) ::kill(::getpid(), SIGKILL);
}

void StepOf(int descriptor) {
  if (broken_root == nullptr) return;
  const std::string path = PathOf(descriptor);
  if (path == broken_root || !Below(path).empty()) Step();
}

bool IsHeld(const std::string& step) {
  if (hold == nullptr) return false;
  std::ifstream file(hold);
  std::string pattern;
  return std::getline(file, pattern) && ::fnmatch(pattern.c_str(), step.c_str(), 0) == 0;
}

// For an entry that is made or deleted.
void StepAt(const char* what, const char* path) {
  if (broken_root == nullptr) return;
  const std::string below = Below(path);
  if (below.empty() && fs::path(path) != broken_root) return;
  const std::string step = std::string(what).append(1, ' ').append(below);
  const bool stops = stop_before != nullptr && ::fnmatch(stop_before, step.c_str(), 0) == 0;
  if ((stops || IsHeld(step)) && skip > 0) {
    --skip;
  } else if (stops) {
    stop_before = nullptr;
    ::raise(SIGSTOP);
  } else {
    while (IsHeld(step)) ::usleep(5000);
  }
  Step();
}

bool IsFull(int descriptor) {
  if (broken_root == nullptr || full == nullptr || ::access(full_switch, F_OK) != 0) return false;
  std::string below = Below(PathOf(descriptor));
  if (below.ends_with(".new")) below.resize(below.size() - 4);
  if (below.empty() || ::fnmatch(full, below.c_str(), 0) != 0) return false;
  errno = ENOSPC;
  return true;
}

template <typename F>
int Open(F* next, const char* path, int flags, mode_t mode) {
  if ((flags & (O_CREAT | O_TRUNC)) != 0) StepAt("make", path);
  return next(path, flags, mode);
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return Open(Next<int(const char*, int, ...)>("open"), path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return Open(Next<int(const char*, int, ...)>("open64"), path, flags, mode);
}

ssize_t write(int descriptor, const void* bytes, size_t size) {
  static const auto next = Next<ssize_t(int, const void*, size_t)>("write");
  StepOf(descriptor);
  return IsFull(descriptor) ? -1 : next(descriptor, bytes, size);
}

ssize_t writev(int descriptor, const iovec* parts, int count) {
  static const auto next = Next<ssize_t(int, const iovec*, int)>("writev");
  StepOf(descriptor);
  return IsFull(descriptor) ? -1 : next(descriptor, parts, count);
}

ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t at) {
  static const auto next = Next<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  StepOf(descriptor);
  return IsFull(descriptor) ? -1 : next(descriptor, bytes, size, at);
}

ssize_t pwrite64(int descriptor, const void* bytes, size_t size, off64_t at) {
  static const auto next = Next<ssize_t(int, const void*, size_t, off64_t)>("pwrite64");
  StepOf(descriptor);
  return IsFull(descriptor) ? -1 : next(descriptor, bytes, size, at);
}

int fsync(int descriptor) {
  static const auto next = Next<int(int)>("fsync");
  StepOf(descriptor);
  return next(descriptor);
}

int fdatasync(int descriptor) {
  static const auto next = Next<int(int)>("fdatasync");
  StepOf(descriptor);
  return next(descriptor);
}

int ftruncate(int descriptor, off_t size) {
  static const auto next = Next<int(int, off_t)>("ftruncate");
  StepOf(descriptor);
  return next(descriptor, size);
}

int ftruncate64(int descriptor, off64_t size) {
  static const auto next = Next<int(int, off64_t)>("ftruncate64");
  StepOf(descriptor);
  return next(descriptor, size);
}

int rename(const char* from, const char* to) {
  static const auto next = Next<int(const char*, const char*)>("rename");
  StepAt("make", to);
  return next(from, to);
}

int link(const char* from, const char* to) {
  static const auto next = Next<int(const char*, const char*)>("link");
  StepAt("make", to);
  return next(from, to);
}

int unlink(const char* path) {
  static const auto next = Next<int(const char*)>("unlink");
  StepAt("delete", path);
  return next(path);
}

int remove(const char* path) {
  static const auto next = Next<int(const char*)>("remove");
  StepAt("delete", path);
  return next(path);
}

int mkdir(const char* path, mode_t mode) {
  static const auto next = Next<int(const char*, mode_t)>("mkdir");
  StepAt("make", path);
  return next(path, mode);
}

}  // extern "C"
