// Library that keeps a copy of all that a process has synchronised, loaded before all other
// libraries (LD_PRELOAD). SYNCED_ROOT names a folder whose files are followed, SYNCED_COPY a folder
// outside of it for the copy (synced_copy_for_test.h). What existed when the process began counts
// as synchronised.
//
// A file's content is that of its last fsync or fdatasync. An entry of a folder is that of the
// folder's last fsync: a new, renamed or deleted file is durable after that only.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include <dlfcn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

namespace fs = std::filesystem;

const char* root = nullptr;
const char* copy = nullptr;

std::string Kept(ino_t inode) { return std::string(copy) + "/" + std::to_string(inode); }

// Replaces what is kept of an inode in one step: the process may be killed at any moment.
template <typename Write>
void Replace(ino_t inode, Write write) {
  const std::string beside = Kept(inode) + "." + std::to_string(::syscall(SYS_gettid));
  {
    std::ofstream file(beside, std::ios::binary);
    write(file);
  }
  std::rename(beside.c_str(), Kept(inode).c_str());
}

void KeepFile(const fs::path& path, ino_t inode) {
  Replace(inode, [&](std::ofstream& file) {
    std::ifstream from(path, std::ios::binary);
    if (from.peek() != std::ifstream::traits_type::eof()) file << from.rdbuf();
  });
}

// A line an entry: its inode, d or f, and its name.
void KeepFolder(const fs::path& path, ino_t inode) {
  Replace(inode, [&](std::ofstream& file) {
    std::error_code gone;
    for (const auto& entry : fs::directory_iterator(path, gone)) {
      struct stat status {};
      if (::lstat(entry.path().c_str(), &status) != 0) continue;
      if (!S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode)) continue;
      file << status.st_ino << (S_ISDIR(status.st_mode) ? " d " : " f ")
           << entry.path().filename().string() << "\n";
    }
  });
}

void KeepAll(const fs::path& folder) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) std::abort();
  KeepFolder(folder, status.st_ino);
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory()) {
      KeepAll(entry.path());
    } else if (entry.is_regular_file() && ::stat(entry.path().c_str(), &status) == 0) {
      KeepFile(entry.path(), status.st_ino);
    }
  }
}

__attribute__((constructor)) void Begin() {
  const char* const followed = std::getenv("SYNCED_ROOT");
  const char* const kept = std::getenv("SYNCED_COPY");
  if (followed == nullptr || kept == nullptr) return;
  copy = kept;
  fs::remove_all(copy);
  fs::create_directory(copy);
  KeepAll(followed);
  root = followed;
}

void Keep(int descriptor) {
  if (root == nullptr) return;
  std::error_code failed;
  const fs::path path = fs::read_symlink("/proc/self/fd/" + std::to_string(descriptor), failed);
  const std::string inside = std::string(root) + "/";
  if (failed || (path != root && path.string().compare(0, inside.size(), inside) != 0)) return;
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return;
  if (S_ISDIR(status.st_mode)) KeepFolder(path, status.st_ino);
  // By descriptor: another thread may be renaming the file.
  if (S_ISREG(status.st_mode)) {
    KeepFile("/proc/self/fd/" + std::to_string(descriptor), status.st_ino);
  }
}

}  // namespace

extern "C" {

int fsync(int descriptor) {
  static const auto next = reinterpret_cast<int (*)(int)>(::dlsym(RTLD_NEXT, "fsync"));
  const int result = next(descriptor);
  if (result == 0) Keep(descriptor);
  return result;
}

int fdatasync(int descriptor) {
  static const auto next = reinterpret_cast<int (*)(int)>(::dlsym(RTLD_NEXT, "fdatasync"));
  const int result = next(descriptor);
  if (result == 0) Keep(descriptor);
  return result;
}

}  // extern "C"
