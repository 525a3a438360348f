// The program as its users run it: a process, its files, its exit code.
#ifndef TACET_TESTS_INTEGRATION_PROGRAM_FOR_TEST_H_
#define TACET_TESTS_INTEGRATION_PROGRAM_FOR_TEST_H_

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tacet/base/json.h"
#include "tacet/base/temporary_folder_for_test.h"

namespace tacet::app {

inline std::string ReadAll(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Outcome {
  int exit_code = 0;  // -1: killed
  std::string out;
  std::string err;
};

// The number of that name in an object.
inline double Number(const base::JsonValue& value, std::string_view key) {
  const base::JsonValue* member = value.Find(key);
  EXPECT_NE(member, nullptr) << key;
  return member == nullptr ? 0 : *member->AsDouble();
}

class ProgramTest : public ::testing::Test {
 protected:
  // Runs `tacet ARGUMENTS`; kills it after `kill_after_ms` unless that is negative.
  Outcome Tacet(std::vector<std::string> arguments, int kill_after_ms = -1) {
    return Run(TACET_PROGRAM, std::move(arguments), kill_after_ms);
  }
  // The same of any program.
  Outcome Run(const std::string& program, std::vector<std::string> arguments,
              int kill_after_ms = -1) {
    const pid_t child = Start(program, std::move(arguments));
    if (kill_after_ms >= 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(kill_after_ms));
      kill(child, SIGKILL);
    }
    return WaitFor(child);
  }

  // Runs `program` with what `arguments` gives each time and kills it at random moments until it
  // ends by itself. A machine so fast that it ends before the third kill starts again, after
  // `clear`, and is killed sooner.
  Outcome KillUntilDone(const std::function<std::vector<std::string>()>& arguments,
                        const std::function<void()>& clear,
                        const std::string& program = TACET_PROGRAM) {
    constexpr int kAtLeast = 3, kAtMost = 25;
    std::mt19937 generator(1);
    for (int longest_ms = 150;; longest_ms /= 2) {
      std::uniform_int_distribution<int> moment(longest_ms / 30, longest_ms);
      Outcome outcome = {.exit_code = -1, .out = {}, .err = {}};
      int runs = 0;
      for (; outcome.exit_code == -1; ++runs) {
        outcome = Run(program, arguments(), runs < kAtMost ? moment(generator) : -1);
      }
      if (runs > kAtLeast || outcome.exit_code != 0) return outcome;
      clear();
    }
  }

  // A process with its output in the files `name`stdout and `name`stderr; one at a time of each.
  pid_t Start(const std::string& program, std::vector<std::string> arguments,
              const std::string& name = "") {
    // Emptied here: nobody may take what another process said before for this one's words.
    const std::string out = path_ / (name + "stdout"), err = path_ / (name + "stderr");
    for (const std::string& file : {out, err}) std::ofstream(file, std::ios::trunc);
    const pid_t child = fork();
    if (child == 0) {
      dup2(open(out.c_str(), O_WRONLY | O_APPEND), STDOUT_FILENO);
      dup2(open(err.c_str(), O_WRONLY | O_APPEND), STDERR_FILENO);
      // Ledgers of sites, which runs of other tests must not see.
      setenv("XDG_DATA_HOME", path_.c_str(), 1);
      const std::string runtime = path_ / "runtime";
      mkdir(runtime.c_str(), 0700);
      setenv("XDG_RUNTIME_DIR", runtime.c_str(), 1);
      if (chdir(path_.c_str()) != 0) _exit(126);
      std::vector<char*> argv = {const_cast<char*>(program.c_str())};
      for (std::string& argument : arguments) argv.push_back(argument.data());
      argv.push_back(nullptr);
      execvp(program.c_str(), argv.data());
      _exit(127);
    }
    return child;
  }
  Outcome WaitFor(pid_t child, const std::string& name = "") const {
    int status = 0;
    waitpid(child, &status, 0);
    return {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
            .out = Read(name + "stdout"),
            .err = Read(name + "stderr")};
  }

  std::string WriteConfig(const std::string& text, const std::string& name = "config.toml") {
    std::ofstream(path_ / name) << text;
    return (path_ / name).string();
  }

  std::string Read(const std::string& name) const { return ReadAll(path_ / name); }
  base::JsonValue ReadJson(const std::string& name) const {
    auto value = base::JsonValue::Parse(Read(name));
    EXPECT_TRUE(value.ok()) << value.status();
    return *std::move(value);
  }

  base::TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_.path();
};

// A federation of 12 drawn writers that trains in a moment.
inline constexpr char kSmall[] = R"(
[data]
handwriting_writers = 12
handwriting_min_samples = 10
handwriting_max_samples = 20
handwriting_classes = 4
[model]
name = "logistic"
[federation]
rounds = 3
cohort = 6
min_participants = 6
[privacy]
clip_norm = 0.5
coordinate_bound = 0.1
noise_multiplier = 3
scale = 1e-3
)";

}  // namespace tacet::app

#endif  // TACET_TESTS_INTEGRATION_PROGRAM_FOR_TEST_H_
