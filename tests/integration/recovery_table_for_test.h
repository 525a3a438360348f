// The tables of docs/deploy.md, section "Recovery": a row a file, a column a fault.
#ifndef TACET_TESTS_INTEGRATION_RECOVERY_TABLE_FOR_TEST_H_
#define TACET_TESTS_INTEGRATION_RECOVERY_TABLE_FOR_TEST_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include <fnmatch.h>

namespace tacet::app {

enum class FileFault { kLost, kDamaged, kOlder, kFullDisk, kWrongOwner };
inline constexpr std::array<std::string_view, 5> kFileFaultNames = {"lost", "damaged", "older",
                                                                    "full disk", "wrong owner"};

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

// Each table follows a heading `### Files of the PARTY`. Its first column has one file or several.
inline RecoveryTables ReadRecoveryTables(const std::filesystem::path& page) {
  constexpr std::string_view kHeading = "### Files of the ";
  RecoveryTables tables;
  std::string party;
  std::ifstream text(page);
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("#")) {
      party = line.starts_with(kHeading) ? line.substr(kHeading.size()) : "";
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

}  // namespace tacet::app

#endif  // TACET_TESTS_INTEGRATION_RECOVERY_TABLE_FOR_TEST_H_
