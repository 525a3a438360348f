// Small file systems of a test's programs, and their lack of room.
#ifndef TACET_TESTS_INTEGRATION_SMALL_DISK_FOR_TEST_H_
#define TACET_TESTS_INTEGRATION_SMALL_DISK_FOR_TEST_H_

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include <sys/mount.h>

namespace tacet::app {

// So that nobody else sees what is mounted here. In a changed root "/" is not a mount that could
// be kept apart: then the test's folder becomes one.
inline bool KeepMountsApart(const std::filesystem::path& folder) {
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0) return true;
  return ::mount(folder.c_str(), folder.c_str(), nullptr, MS_BIND, nullptr) == 0 &&
         ::mount("none", folder.c_str(), nullptr, MS_PRIVATE, nullptr) == 0;
}

// A new folder that is a file system of 8 MiB; false where it cannot be mounted, with the reason in
// errno.
inline bool MountSmallDisk(const std::filesystem::path& folder) {
  std::filesystem::create_directory(folder);
  return ::mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=8m,mode=0700") == 0;
}

// Leaves no room in a folder as long as it exists: also what is given free there is taken.
class Ballast {
 public:
  // Returns once the folder is full.
  explicit Ballast(std::filesystem::path file)
      : file_(std::move(file)), filling_([this](const std::stop_token& token) { Fill(token); }) {
    is_full_.wait(false);
  }
  ~Ballast() {
    filling_ = {};  // joined
    std::filesystem::remove(file_);
  }

 private:
  void Fill(const std::stop_token& token) {
    std::ofstream file(file_, std::ios::binary);
    const std::string block(512, 'x');
    while (!token.stop_requested()) {
      if (file.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) continue;
      is_full_ = true;
      is_full_.notify_all();
      file.clear();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  const std::filesystem::path file_;
  std::atomic<bool> is_full_ = false;
  std::jthread filling_;
};

}  // namespace tacet::app

#endif  // TACET_TESTS_INTEGRATION_SMALL_DISK_FOR_TEST_H_
