// Folder of a process whose machine lost its power: only what was synchronised is left.
#ifndef TACET_TESTS_INTEGRATION_SYNCED_COPY_FOR_TEST_H_
#define TACET_TESTS_INTEGRATION_SYNCED_COPY_FOR_TEST_H_

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <sys/stat.h>

namespace tacet::app {

// Environment of a process that keeps what it synchronises below `root` (synced_copy_for_test.cc).
inline std::vector<std::string> SyncedCopyOf(const std::filesystem::path& root,
                                             const std::filesystem::path& copy) {
  return {"SYNCED_ROOT=" + root.string(), "SYNCED_COPY=" + copy.string()};
}

inline void WriteSynced(ino_t inode, const std::filesystem::path& copy,
                        const std::filesystem::path& folder) {
  std::ifstream entries(copy / std::to_string(inode));
  for (std::string number, kind, name;
       entries >> number >> kind && entries.get() == ' ' && std::getline(entries, name);) {
    if (kind == "d") {
      std::filesystem::create_directory(folder / name);
      std::filesystem::permissions(folder / name, std::filesystem::perms::owner_all);
      WriteSynced(std::stoull(number), copy, folder / name);
    } else {
      std::ofstream file(folder / name, std::ios::binary);  // empty if it was never synchronised
      std::ifstream kept(copy / number, std::ios::binary);
      if (kept.is_open() && kept.peek() != std::ifstream::traits_type::eof()) file << kept.rdbuf();
      file.close();
      std::filesystem::permissions(
          folder / name, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    }
  }
}

// The process must have ended.
inline void LoseUnsynced(const std::filesystem::path& root, const std::filesystem::path& copy) {
  struct stat status {};
  ::stat(root.c_str(), &status);
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    std::filesystem::remove_all(entry.path());
  }
  WriteSynced(status.st_ino, copy, root);
}

}  // namespace tacet::app

#endif  // TACET_TESTS_INTEGRATION_SYNCED_COPY_FOR_TEST_H_
