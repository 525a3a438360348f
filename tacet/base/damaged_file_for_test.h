// Damage of a file, for tests.
#ifndef TACET_BASE_DAMAGED_FILE_FOR_TEST_H_
#define TACET_BASE_DAMAGED_FILE_FOR_TEST_H_

#include <filesystem>
#include <fstream>

namespace tacet::base {

// Changes one bit of the byte at this place. A second call undoes it. A byte that is written
// instead may be the one that is there.
inline void FlipBit(const std::filesystem::path& path, std::streamoff at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const auto byte = static_cast<char>(file.seekg(at).get() ^ 1);
  file.seekp(at).put(byte).flush();
}

}  // namespace tacet::base

#endif  // TACET_BASE_DAMAGED_FILE_FOR_TEST_H_
