#include "tacet/site/external_training.h"

#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tacet/base/float_bytes.h"
#include "tacet/base/status.h"
#include "tacet/storage/file/posix_file.h"

namespace tacet::site {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kOwnerOnly = 0600;
constexpr auto kLook = std::chrono::milliseconds(20);
constexpr auto kGrace = std::chrono::seconds(5);  // between SIGTERM and SIGKILL

// A program in a process group of its own, so that what it starts ends with it.
class Program {
 public:
  static absl::StatusOr<Program> Start(std::vector<std::string> words) {
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    // Standard output may be for the process that started tacet.
    posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
    pid_t id = 0;
    const int failed = ::posix_spawnp(&id, argv[0], &files, &attributes, argv.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    if (failed == 0) return Program(id);
    return base::FailedPrecondition("cannot run {}: {}", words[0], std::strerror(failed));
  }

  // True when it ended by itself in time; otherwise it has been ended.
  bool WaitFor(double seconds, const std::function<bool()>& stop) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (!HasEnded()) {
      if (stop() || std::chrono::steady_clock::now() >= until) {
        End();
        return false;
      }
      std::this_thread::sleep_for(kLook);
    }
    return true;
  }
  // As waitpid gives it, once it has ended.
  int status() const { return status_; }

 private:
  explicit Program(pid_t id) : id_(id) {}

  bool HasEnded() {
    if (!ended_) ended_ = ::waitpid(id_, &status_, WNOHANG) == id_;
    return ended_;
  }
  void End() {
    ::kill(-id_, SIGTERM);
    const auto until = std::chrono::steady_clock::now() + kGrace;
    while (!HasEnded() && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(kLook);
    }
    ::kill(-id_, SIGKILL);  // also whatever it has left behind
    if (!ended_) ::waitpid(id_, &status_, 0);
    ended_ = true;
  }

  pid_t id_;
  bool ended_ = false;
  int status_ = 0;
};

absl::Status WriteModel(const fs::path& path, std::span<const float> model) {
  const storage::file::File file(path, O_WRONLY | O_CREAT | O_TRUNC, kOwnerOnly);
  if (file.ok() && file.WriteAll(base::FloatBytes(model))) return absl::OkStatus();
  return storage::file::SystemError("write", path);
}

// The parameters that the program left; of `expected` bytes, whatever else is there is not read.
absl::StatusOr<std::vector<float>> ReadResult(const fs::path& path, uint64_t parameters) {
  const storage::file::File file(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
  struct stat info {};
  if (!file.ok() || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return base::DataLoss("the training program left no file {}", path.string());
  }
  if (static_cast<uint64_t>(info.st_size) != parameters * sizeof(float)) {
    return base::DataLoss("{} has {} bytes, {} parameters have {}", path.string(), info.st_size,
                          parameters, parameters * sizeof(float));
  }
  TACET_ASSIGN_OR_RETURN(const base::Bytes bytes, storage::file::ReadWhole(file, path));
  base::ByteReader reader(bytes, "training result");
  TACET_ASSIGN_OR_RETURN(std::vector<float> result,
                         base::ReadFloats(reader, parameters, "parameters"));
  for (size_t i = 0; i < result.size(); ++i) {
    if (std::isfinite(result[i])) continue;
    return base::DataLoss(
        "{}: parameter {} is {}, not a finite number; correct the training program, such as by a "
        "lower learning rate",
        path.string(), i, result[i]);
  }
  return result;
}

// As posix_spawnp looks for it.
absl::Status CheckCanBeRun(const std::string& program) {
  std::vector<fs::path> places;
  if (program.find('/') != program.npos) {
    places.emplace_back(program);
  } else {
    const char* const path = std::getenv("PATH");
    std::istringstream folders(path == nullptr ? "/bin:/usr/bin" : path);
    for (std::string folder; std::getline(folders, folder, ':');) {
      places.push_back(fs::path(folder.empty() ? "." : folder) / program);
    }
  }
  int wrong = ENOENT;
  for (const fs::path& place : places) {
    std::error_code error;
    if (!fs::is_regular_file(place, error)) continue;
    if (::access(place.c_str(), X_OK) == 0) return absl::OkStatus();
    wrong = errno;
  }
  return base::FailedPrecondition(
      "cannot run {}: {}; --train-with names a program, by its path or by a name in PATH", program,
      std::strerror(wrong));
}

// Removes what an update could be told from, also after an error.
class Exchange {
 public:
  Exchange(fs::path model, fs::path result) : files_{std::move(model), std::move(result)} {
    Remove();
  }
  ~Exchange() { Remove(); }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

 private:
  void Remove() const {
    std::error_code ignored;
    for (const fs::path& file : files_) fs::remove(file, ignored);
  }
  std::vector<fs::path> files_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ExternalTraining>> ExternalTraining::Create(
    const agreement::Manifest& manifest, ExternalTrainingSpec spec) {
  if (spec.program.empty() || spec.program.front().empty()) {
    return base::InvalidArgument("which program is to train?");
  }
  if (!(spec.most_seconds > 0)) {
    return base::InvalidArgument("a training program is given {} s, it must be more than 0",
                                 spec.most_seconds);
  }
  if (manifest.spec().privacy.unit != accounting::Unit::kClient) {
    return base::InvalidArgument(
        "a program of the site's own cannot train where the unit is the {}: each one's part must "
        "be clipped, which only the built-in models are known to do",
        accounting::UnitName(manifest.spec().privacy.unit));
  }
  TACET_RETURN_IF_ERROR(CheckCanBeRun(spec.program.front()));
  return std::unique_ptr<ExternalTraining>(new ExternalTraining(std::move(spec)));
}

absl::Status ExternalTraining::Update(const trainer::AttemptContext& context,
                                      std::span<const float> model, std::span<float> update) {
  std::error_code error;
  fs::create_directories(spec_.folder, error);
  if (!error) fs::permissions(spec_.folder, fs::perms::owner_all, error);
  if (error) {
    return base::Unavailable("cannot make {}: {}", spec_.folder.string(), error.message());
  }
  const Exchange exchange(ModelFile(), ResultFile());
  TACET_RETURN_IF_ERROR(WriteModel(ModelFile(), model));
  TACET_RETURN_IF_ERROR(Run(context.round));
  TACET_ASSIGN_OR_RETURN(const std::vector<float> trained, ReadResult(ResultFile(), model.size()));
  for (size_t i = 0; i < update.size(); ++i) update[i] = trained[i] - model[i];
  return absl::OkStatus();
}

absl::Status ExternalTraining::Run(uint32_t round) const {
  std::vector<std::string> words = spec_.program;
  words.push_back(ModelFile().string());
  words.push_back(ResultFile().string());
  words.push_back(fmt::format("{}", round));
  TACET_ASSIGN_OR_RETURN(Program program, Program::Start(std::move(words)));
  if (!program.WaitFor(spec_.most_seconds, spec_.stop)) {
    if (spec_.stop()) return absl::CancelledError("the training program was stopped");
    return absl::DeadlineExceededError(
        fmt::format("the training program had {} s and did not end", spec_.most_seconds));
  }
  const int status = program.status();
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return absl::OkStatus();
  if (WIFEXITED(status)) {
    return base::FailedPrecondition("the training program ended with exit code {}",
                                    WEXITSTATUS(status));
  }
  return base::FailedPrecondition("the training program was ended by signal {}", WTERMSIG(status));
}

}  // namespace tacet::site
