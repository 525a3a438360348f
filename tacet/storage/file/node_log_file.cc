#include "tacet/storage/file/node_log_file.h"

#include <ctime>
#include <string>
#include <utility>

#include "fmt/chrono.h"
#include <fcntl.h>
#include <sys/file.h>

#include "tacet/base/json.h"
#include "tacet/base/status.h"

namespace tacet::storage::file {
namespace {

using member::NodeEvent;
using member::NodeEventKind;

std::string Line(const NodeEvent& event, uint64_t now) {
  base::JsonValue line = base::JsonValue::MakeObject();
  line.Set("time",
           fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(now))));
  line.Set("event", NodeEventKindName(event.kind));
  line.Set("what", event.what);
  if (event.attempt.has_value()) {
    line.Set("epoch", event.attempt->epoch);
    line.Set("round", event.attempt->round);
    line.Set("attempt", event.attempt->attempt);
  }
  if (event.bytes.has_value()) line.Set("bytes", *event.bytes);
  if (event.digest.has_value()) line.Set("sha256", base::ToHex(*event.digest));
  if (!event.text.empty()) line.Set("text", event.text);
  return line.Dump() + "\n";
}

}  // namespace

absl::StatusOr<std::unique_ptr<NodeLogFile>> NodeLogFile::Open(const std::filesystem::path& path,
                                                               base::UnixClock clock,
                                                               DiskCalls& disk) {
  std::error_code ignored;
  const bool is_new = !std::filesystem::exists(path, ignored);
  File file(path, O_RDWR | O_CREAT | O_APPEND, kOwnerOnly);
  if (!file.ok()) return SystemError("open", path);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    return base::FailedPrecondition("{} is written by another process", path.string());
  }
  TACET_ASSIGN_OR_RETURN(const base::Bytes content, ReadWhole(file, path));
  size_t whole = content.size();
  while (whole > 0 && content[whole - 1] != '\n') --whole;
  if (whole != content.size() && disk.Truncate(file.get(), static_cast<off_t>(whole)) != 0) {
    return SystemError("shorten", path);
  }
  if (is_new) TACET_RETURN_IF_ERROR(SyncDirectory(path.parent_path(), disk));
  return std::unique_ptr<NodeLogFile>(
      new NodeLogFile(path, std::move(file), whole, std::move(clock), disk));
}

absl::Status NodeLogFile::Write(const NodeEvent& event) {
  if (torn_ && disk_.Truncate(file_.get(), static_cast<off_t>(size_)) != 0) {
    return SystemError("shorten", path_);
  }
  const std::string line = Line(event, clock_());
  torn_ = true;
  const bool matters =
      event.kind == NodeEventKind::kViolation || event.kind == NodeEventKind::kRefused;
  if (!file_.WriteAll(base::AsBytes(line), disk_) ||
      (matters && disk_.Synchronise(file_.get()) != 0)) {
    return SystemError("append to", path_);
  }
  torn_ = false;
  size_ += line.size();
  return absl::OkStatus();
}

}  // namespace tacet::storage::file
