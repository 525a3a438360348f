// The tables of docs/deploy.md, section "Recovery": a row a file, a column a fault. And the faults.
#ifndef TACET_TESTS_INTEGRATION_RECOVERY_TABLE_FOR_TEST_H_
#define TACET_TESTS_INTEGRATION_RECOVERY_TABLE_FOR_TEST_H_

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "fmt/core.h"
#include "gtest/gtest.h"
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tacet/base/test_size_for_test.h"
#include "tests/integration/program_for_test.h"

namespace tacet::app {

namespace fs = std::filesystem;

enum class FileFault { kLost, kDamaged, kOlder, kFullDisk, kWrongOwner };
inline constexpr std::array<std::string_view, 5> kFileFaultNames = {"lost", "damaged", "older",
                                                                    "full disk", "wrong owner"};

inline constexpr char kNoRoom[] = "No space left on device";
inline constexpr uid_t kOtherUser = 65534;

inline constexpr std::string_view kByItself = "by itself";
inline constexpr std::string_view kRestore = "restore the backup";
inline constexpr std::string_view kSameCommand = "same command";
inline constexpr std::string_view kNever = "–";

struct RecoveryRow {
  std::string file;  // a pattern, below the party's folder; or a folder/
  std::array<std::string, 5> outcomes =
      {};  // by fault: one of the above, or a command in backticks

  bool is_folder() const { return file.ends_with('/'); }
  std::string pattern() const { return is_folder() ? file + "*" : file; }
  bool Matches(const std::string& path) const {
    return ::fnmatch(pattern().c_str(), path.c_str(), 0) == 0;
  }
  bool IsBackedUp() const { return std::ranges::find(outcomes, kRestore) != outcomes.end(); }
};

// By the name of the party, as the headings have it.
using RecoveryTables = std::map<std::string, std::vector<RecoveryRow>>;

inline std::vector<std::string> CellsOf(const std::string& line) {
  std::vector<std::string> cells;
  for (size_t at = 1, end; (end = line.find('|', at)) != std::string::npos; at = end + 1) {
    const size_t first = line.find_first_not_of(' ', at);
    const size_t last = line.find_last_not_of(' ', end - 1);
    cells.push_back(first >= end ? "" : line.substr(first, last + 1 - first));
  }
  return cells;
}

// Each table follows a heading `### Files of the PARTY`, or that of the database. Its first column
// has one file or several.
inline RecoveryTables ReadRecoveryTables(const std::filesystem::path& page) {
  constexpr std::string_view kHeading = "### Files of the ";
  RecoveryTables tables;
  std::string party;
  std::ifstream text(page);
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("#")) {
      party = line.starts_with(kHeading) ? line.substr(kHeading.size()) : "";
      if (line == "### Database in PostgreSQL") party = "database";
    }
    if (party.empty() || !line.starts_with("| `")) continue;
    const std::vector<std::string> cells = CellsOf(line);
    EXPECT_EQ(cells.size(), 1 + kFileFaultNames.size()) << line;
    if (cells.size() != 1 + kFileFaultNames.size()) continue;
    RecoveryRow row;
    std::copy(cells.begin() + 1, cells.end(), row.outcomes.begin());
    for (size_t at = 0, end; (at = cells[0].find('`', at)) != std::string::npos; at = end + 1) {
      end = cells[0].find('`', at + 1);
      row.file = cells[0].substr(at + 1, end - at - 1);
      tables[party].push_back(row);
    }
  }
  return tables;
}

// Cells that are played of each fault; none: a few of all faults.
inline int Cells() { return base::TestSize("TACET_CELLS", 0); }

inline const RecoveryTables& Tables() {
  static const RecoveryTables tables = ReadRecoveryTables(TACET_SOURCE_DIR "/docs/deploy.md");
  return tables;
}

// Files below a folder, by their path in it.
inline std::set<std::string> FilesIn(const fs::path& folder) {
  std::set<std::string> files;
  if (!fs::exists(folder)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.insert(entry.path().lexically_relative(folder).string());
  }
  return files;
}

inline std::vector<std::string> FilesOf(const RecoveryRow& row, const fs::path& folder) {
  std::vector<std::string> files;
  for (const std::string& file : FilesIn(folder)) {
    if (row.Matches(file)) files.push_back(file);
  }
  return files;
}

inline void CopyOver(const fs::path& from, const fs::path& to) {
  fs::remove_all(to);
  fs::copy(from, to, fs::copy_options::recursive);
}

// A byte in the middle is another one, or the second half is missing.
inline void Damage(const fs::path& file, bool cut) {
  std::string bytes = ReadAll(file);
  if (bytes.empty()) {
    bytes = "?";
  } else if (cut) {
    bytes.resize(bytes.size() / 2);
  } else {
    bytes[bytes.size() / 2] ^= 0x55;
  }
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
}

// A copy as root's `cp` would leave it. Where this test is not root, a file that nobody may read is
// as good.
inline void Disown(const fs::path& file) {
  if (::geteuid() == 0) {
    EXPECT_EQ(::chown(file.c_str(), 0, 0), 0) << std::strerror(errno);
  }
  EXPECT_EQ(::chmod(file.c_str(), ::geteuid() == 0 ? 0600 : 0), 0) << std::strerror(errno);
}

inline void Own(const fs::path& file, uid_t user) {
  const bool is_folder = fs::is_directory(file);
  EXPECT_EQ(::chmod(file.c_str(), is_folder ? 0700 : 0600), 0) << std::strerror(errno);
  if (::geteuid() == 0) {
    EXPECT_EQ(::chown(file.c_str(), user, user), 0) << std::strerror(errno);
  }
}

inline void OwnAll(const fs::path& folder, uid_t user) {
  Own(folder, user);
  for (const auto& entry : fs::recursive_directory_iterator(folder)) Own(entry.path(), user);
}

struct PlayedCell {
  const RecoveryRow* row = nullptr;
  FileFault fault = FileFault::kLost;
  const std::string& outcome() const { return row->outcomes[static_cast<size_t>(fault)]; }
  std::string Name() const {
    return fmt::format("{}, {}: {}", row->file, kFileFaultNames[static_cast<size_t>(fault)],
                       outcome());
  }
};

inline std::vector<PlayedCell> CellsOf(const std::string& party, FileFault fault) {
  std::vector<PlayedCell> cells;
  for (const RecoveryRow& row : Tables().at(party)) cells.push_back({&row, fault});
  return cells;
}

// For a parameter of a test.
inline std::string NameOfFault(const ::testing::TestParamInfo<FileFault>& fault) {
  std::string name(kFileFaultNames[static_cast<size_t>(fault.param)]);
  std::erase(name, ' ');
  return name;
}

// A few cells of all faults.
inline std::vector<PlayedCell> DrawnCells(const std::string& party, size_t count) {
  std::vector<PlayedCell> cells;
  for (size_t fault = 0; fault < kFileFaultNames.size(); ++fault) {
    for (const PlayedCell& cell : CellsOf(party, static_cast<FileFault>(fault))) {
      if (cell.outcome() != kNever) cells.push_back(cell);
    }
  }
  std::mt19937 random(2026);
  std::ranges::shuffle(cells, random);
  cells.resize(std::min(cells.size(), count));
  return cells;
}

}  // namespace tacet::app

#endif  // TACET_TESTS_INTEGRATION_RECOVERY_TABLE_FOR_TEST_H_
