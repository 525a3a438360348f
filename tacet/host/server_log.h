// Log of a server for its operators: one JSON object a line (docs/formats/server-log.md).
#ifndef TACET_HOST_SERVER_LOG_H_
#define TACET_HOST_SERVER_LOG_H_

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/json.h"
#include "tacet/base/mutex.h"
#include "tacet/base/text_sink.h"
#include "tacet/storage/file/posix_file.h"

namespace tacet::host {

enum class LogLevel { kInfo, kWarning, kError };
std::string_view LogLevelName(LogLevel level);

// Thread-safe. A line that cannot be written is lost; the server continues.
class ServerLog {
 public:
  using Clock = std::function<std::chrono::system_clock::time_point()>;
  static constexpr size_t kKept = 200;  // events that Recent() returns at most

  // Lines go to `out` when `path` is "-"; a file is appended to, and made with mode 0640 when it is
  // not there.
  static absl::StatusOr<std::unique_ptr<ServerLog>> Open(
      std::string_view path, base::TextSink out = {}, Clock clock = std::chrono::system_clock::now);
  ServerLog(const ServerLog&) = delete;
  ServerLog& operator=(const ServerLog&) = delete;

  // `fields` is an object. They follow time, level and event, and never hold a secret, a cohort, or
  // who asked for what.
  void Write(LogLevel level, std::string_view event,
             base::JsonValue fields = base::JsonValue::MakeObject());

  // The last events as they were written, oldest first.
  std::vector<base::JsonValue> Recent() const;

  // Continues in a new file of the same name, after somebody has moved the old one away.
  absl::Status Reopen();

 private:
  ServerLog(std::string path, base::TextSink out, Clock clock);

  std::string path_;
  base::TextSink out_;
  Clock clock_;
  mutable base::Mutex mutex_;
  storage::file::File file_ ABSL_GUARDED_BY(mutex_);  // none for `out`
  std::deque<base::JsonValue> recent_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tacet::host

#endif  // TACET_HOST_SERVER_LOG_H_
