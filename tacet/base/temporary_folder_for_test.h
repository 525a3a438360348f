// Temporary folder for one test, removed with its content.
#ifndef TACET_BASE_TEMPORARY_FOLDER_FOR_TEST_H_
#define TACET_BASE_TEMPORARY_FOLDER_FOR_TEST_H_

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include <unistd.h>

namespace tacet::base {

class TemporaryFolder {
 public:
  enum Where { kOnDisk, kInMemory };  // in memory where the system has a folder for that

  explicit TemporaryFolder(Where where = kOnDisk) {
    const bool memory = where == kInMemory && ::access("/dev/shm", W_OK) == 0;
    const std::filesystem::path parent =
        memory ? "/dev/shm" : std::filesystem::temp_directory_path();
    std::string name = (parent / "tacet-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      std::perror("cannot make a temporary folder");
      std::abort();
    }
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace tacet::base

#endif  // TACET_BASE_TEMPORARY_FOLDER_FOR_TEST_H_
