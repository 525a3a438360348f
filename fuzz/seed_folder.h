// Folder of seeds for a fuzz target whose first byte picks the format of the rest.
#ifndef TACET_FUZZ_SEED_FOLDER_H_
#define TACET_FUZZ_SEED_FOLDER_H_

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <utility>

#include "tacet/base/bytes.h"

namespace tacet::fuzz {

class SeedFolder {
 public:
  explicit SeedFolder(std::filesystem::path folder) : folder_(std::move(folder)) {
    std::filesystem::create_directories(folder_);
  }

  void Write(const std::string& name, uint8_t kind, std::span<const uint8_t> bytes) const {
    std::ofstream file(folder_ / name, std::ios::binary);
    file.put(static_cast<char>(kind));
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }

  // Whole, cut short in the middle, with one more byte at the end, and with another version.
  void WriteWithVariants(const std::string& name, uint8_t kind, const base::Bytes& bytes) const {
    Write(name, kind, bytes);
    Write(name + "-cut", kind, std::span(bytes).first(bytes.size() / 2));
    base::Bytes altered = bytes;
    altered.push_back(0);
    Write(name + "-longer", kind, altered);
    altered = bytes;
    altered[4] = 9;
    Write(name + "-version", kind, altered);
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace tacet::fuzz

#endif  // TACET_FUZZ_SEED_FOLDER_H_
