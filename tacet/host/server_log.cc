#include "tacet/host/server_log.h"

#include <cstdint>
#include <ctime>
#include <utility>

#include "fmt/core.h"
#include <fcntl.h>

#include "tacet/base/bytes.h"
#include "tacet/base/status.h"

namespace tacet::host {
namespace {

constexpr std::string_view kToSink = "-";
constexpr mode_t kMode = 0640;

// "2026-11-22T08:40:00.123Z"
std::string TimeText(std::chrono::system_clock::time_point time) {
  const int64_t milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
  const std::time_t seconds = milliseconds / 1000;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     milliseconds % 1000);
}

}  // namespace

std::string_view LogLevelName(LogLevel level) {
  switch (level) {
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  return "";
}

ServerLog::ServerLog(std::string path, base::TextSink out, Clock clock)
    : path_(std::move(path)), out_(std::move(out)), clock_(std::move(clock)) {}

absl::StatusOr<std::unique_ptr<ServerLog>> ServerLog::Open(std::string_view path,
                                                           base::TextSink out, Clock clock) {
  auto log = std::unique_ptr<ServerLog>(
      new ServerLog(std::string(path), std::move(out), std::move(clock)));
  TACET_RETURN_IF_ERROR(log->Reopen());
  return log;
}

absl::Status ServerLog::Reopen() {
  if (path_ == kToSink) return absl::OkStatus();
  storage::file::File file(path_, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, kMode);
  if (!file.ok()) return storage::file::SystemError("write", path_);
  const base::MutexLock lock(mutex_);
  file_ = std::move(file);
  return absl::OkStatus();
}

void ServerLog::Write(LogLevel level, std::string_view event, base::JsonValue fields) {
  base::JsonValue line = base::JsonValue::MakeObject()
                             .Set("time", TimeText(clock_()))
                             .Set("level", LogLevelName(level))
                             .Set("event", event);
  for (const auto& [key, value] : fields.members()) line.Set(key, value);
  const std::string text = line.Dump() + "\n";
  const base::MutexLock lock(mutex_);
  if (file_.ok()) {
    file_.WriteAll(base::AsBytes(text));
  } else {
    out_.Print("{}", text);
  }
  recent_.push_back(std::move(line));
  if (recent_.size() > kKept) recent_.pop_front();
}

std::vector<base::JsonValue> ServerLog::Recent() const {
  const base::MutexLock lock(mutex_);
  return {recent_.begin(), recent_.end()};
}

}  // namespace tacet::host
