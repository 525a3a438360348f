// Search for forbidden bytes in the memory, the files and the traffic of a process.
#ifndef TACET_TESTS_INTEGRATION_HAYSTACK_FOR_TEST_H_
#define TACET_TESTS_INTEGRATION_HAYSTACK_FOR_TEST_H_

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "tacet/base/bytes.h"
#include "tests/integration/opened_site_for_test.h"
#include "tests/integration/program_for_test.h"

namespace tacet::app {

// Everything that files, or the memory of a process, or messages hold.
class Haystack {
 public:
  void Add(std::string part) { parts_.push_back(std::move(part)); }
  void AddFolder(const std::filesystem::path& folder) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file()) Add(ReadAll(entry.path()));
    }
  }
  // False where this user may not read it: a process that holds keys shows its memory to an
  // administrator alone.
  bool AddMemory(pid_t process) {
    const std::string folder = "/proc/" + std::to_string(process) + "/";
    std::istringstream maps(ReadAll(folder + "maps"));
    std::ifstream memory(folder + "mem", std::ios::binary);
    for (std::string line; std::getline(maps, line);) {
      uint64_t begin = 0, end = 0;
      char access[5] = {};
      if (std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, access) != 3) continue;
      if (access[0] != 'r' || line.find("[v") != std::string::npos) continue;
      // A sanitizer's shadow, of terabytes: the program's own copies lie next to it.
      if (end - begin > kMostBytes) continue;
      std::string part(end - begin, 0);
      memory.clear();
      memory.seekg(static_cast<std::streamoff>(begin));
      memory.read(part.data(), static_cast<std::streamsize>(part.size()));
      Add(std::move(part));
    }
    return memory.is_open();
  }

  // Which of the needles, of eight bytes at least, are in it: by their places in the list.
  std::set<size_t> Find(const std::vector<std::string>& needles) const {
    // In one pass, however many there are: by a hash of their first bytes.
    std::unordered_map<uint64_t, std::vector<size_t>> beginning_with;
    std::vector<char> known(kHashes);
    for (size_t i = 0; i < needles.size(); ++i) {
      const uint64_t begin = FirstEight(needles[i].data());
      beginning_with[begin].push_back(i);
      known[Hash(begin)] = 1;
    }
    std::set<size_t> found;
    for (const std::string_view part : parts_) {
      for (size_t at = 0; at + sizeof(uint64_t) <= part.size(); ++at) {
        const uint64_t begin = FirstEight(part.data() + at);
        if (known[Hash(begin)] == 0 || !beginning_with.contains(begin)) continue;
        for (const size_t i : beginning_with[begin]) {
          if (part.substr(at).starts_with(needles[i])) found.insert(i);
        }
      }
    }
    return found;
  }
  bool Holds(std::string_view needle) const { return !Find({std::string(needle)}).empty(); }

 private:
  static constexpr uint64_t kMostBytes = uint64_t{1} << 32;
  static constexpr size_t kHashes = size_t{1} << 16;
  static uint64_t FirstEight(const char* bytes) {
    uint64_t value = 0;
    std::memcpy(&value, bytes, sizeof(value));
    return value;
  }
  static size_t Hash(uint64_t begin) { return begin * 0x9E3779B97F4A7C15 >> 48; }

  std::vector<std::string> parts_;
};

// 32 bytes from every 256th on, but for those that are all alike: zeros are everywhere.
inline std::vector<std::string> PiecesOf(std::string_view floats) {
  std::vector<std::string> pieces;
  for (size_t at = 0; at + 32 <= floats.size(); at += 256) {
    const std::string_view piece = floats.substr(at, 32);
    if (piece.find_first_not_of(piece[0]) != std::string_view::npos) pieces.emplace_back(piece);
  }
  return pieces;
}

inline std::vector<std::string> KeysOf(const OpenedSite& site) {
  std::vector<std::string> keys = {std::string(base::AsText(site.epoch_key.Expose())),
                                   std::string(base::AsText(site.keys.signing.Seed().Expose())),
                                   std::string(base::AsText(site.keys.sealing.seed().Expose())),
                                   std::string(base::AsText(site.keys.tls.der().Expose()))};
  if (site.exchange.has_value()) {
    keys.emplace_back(base::AsText(site.exchange->exchange.secret().Expose()));
    keys.emplace_back(base::AsText(site.exchange->kem.seed().Expose()));
  }
  return keys;
}

}  // namespace tacet::app

#endif  // TACET_TESTS_INTEGRATION_HAYSTACK_FOR_TEST_H_
