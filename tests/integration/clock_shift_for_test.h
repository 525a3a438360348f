// Wall clock of a process that a test sets (shifted_clock_for_test.cc).
#ifndef TACET_TESTS_INTEGRATION_CLOCK_SHIFT_FOR_TEST_H_
#define TACET_TESTS_INTEGRATION_CLOCK_SHIFT_FOR_TEST_H_

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace tacet::app {

// Environment of a process whose clock a new file shifts, by nothing at first.
inline std::vector<std::string> ShiftedClockOf(const std::filesystem::path& file) {
  std::ofstream(file) << std::string(sizeof(int64_t), '\0');
  return {"LD_PRELOAD=" TACET_SHIFTED_CLOCK, "SHIFTED_CLOCK=" + file.string()};
}

inline void ShiftClock(const std::filesystem::path& file, int64_t seconds) {
  std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
  stream.write(reinterpret_cast<const char*>(&seconds), sizeof(seconds));
}

}  // namespace tacet::app

#endif  // TACET_TESTS_INTEGRATION_CLOCK_SHIFT_FOR_TEST_H_
