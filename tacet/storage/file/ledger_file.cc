#include "tacet/storage/file/ledger_file.h"

#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tacet/base/status.h"

namespace tacet::storage::file {
namespace {

using ledger::LedgerAnchor;
using ledger::LedgerHeader;
using ledger::OpenedLedger;
using ledger::RecoveredLedger;

std::filesystem::path BesidePath(const std::filesystem::path& path) {
  std::filesystem::path beside = path;
  beside += ".new";
  return beside;
}

absl::Status InUse(const std::filesystem::path& path) {
  return base::FailedPrecondition(
      "the ledger {} is in use by another process: wait until that has ended", path.string());
}

// A file that is locked and still has the name under which it was opened.
absl::StatusOr<File> OpenLocked(const std::filesystem::path& path, int flags) {
  File file(path, flags);
  if (!file.ok()) return SystemError("open", path);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return InUse(path);
  struct stat opened {
  }, named{};
  if (::fstat(file.get(), &opened) != 0) return SystemError("read", path);
  if (::stat(path.c_str(), &named) != 0 || named.st_ino != opened.st_ino ||
      named.st_dev != opened.st_dev) {
    return InUse(path);  // renamed between the two calls
  }
  return file;
}

// An anchor without its ledger: OK when it knows of no charge (making the ledger was interrupted).
absl::Status CheckNothingMissed(const std::filesystem::path& path) {
  const File file(AnchorPath(path), O_RDONLY);
  if (!file.ok()) return absl::OkStatus();
  TACET_ASSIGN_OR_RETURN(const base::Bytes bytes, ReadWhole(file, AnchorPath(path)));
  const absl::StatusOr<LedgerAnchor> anchor = ledger::ReadLedgerAnchor(bytes);
  if (anchor.ok() && anchor->count == 0) return absl::OkStatus();
  return base::DataLoss(
      "there is no ledger {}, but its anchor {} {}: put the ledger back from a copy that is not "
      "older; do not begin a new one over this data with the whole budget",
      path.string(), AnchorPath(path).string(),
      anchor.ok() ? fmt::format("counts {} charges", anchor->count)
                  : "is damaged: " + base::Message(anchor.status()));
}

absl::StatusOr<RecoveredLedger> Recover(const std::filesystem::path& path,
                                        std::span<const uint8_t> ledger,
                                        const absl::StatusOr<base::Bytes>& anchor) {
  if (anchor.status().code() == absl::StatusCode::kNotFound) {
    return base::DataLoss(
        "the ledger {} has no anchor {}: without it nobody can tell whether charges were cut off; "
        "put both back from one copy that is not older than the last charge",
        path.string(), AnchorPath(path).string());
  }
  TACET_RETURN_IF_ERROR(anchor.status());
  absl::StatusOr<RecoveredLedger> found = ledger::RecoverLedger(ledger, *anchor);
  if (!found.ok()) return base::Annotate(found.status(), path.string());
  return found;
}

absl::Status CheckSameTerms(const LedgerHeader& found, LedgerHeader wanted,
                            const std::filesystem::path& path) {
  wanted.created = found.created;
  wanted.data_set = found.data_set;
  if (wanted == found) return absl::OkStatus();
  const auto text = [](const LedgerHeader& header) {
    return fmt::format(
        "data {}, {}, {}, unit {}, {}, budget {} at delta {}",
        base::ToHex(header.data_digest).substr(0, 12), ledger::ChargingRuleName(header.rule),
        accounting::CompositionName(header.spending.composition), accounting::UnitName(header.unit),
        accounting::NeighbouringName(header.neighbouring), header.spending.budget_epsilon,
        header.spending.delta);
  };
  return base::FailedPrecondition(
      "the ledger {} was made for other terms ({}) than are asked for ({}): they are fixed when a "
      "ledger is made",
      path.string(), text(found), text(wanted));
}

}  // namespace

std::filesystem::path AnchorPath(const std::filesystem::path& path) {
  std::filesystem::path anchor = path;
  anchor += ".anchor";
  return anchor;
}

absl::StatusOr<OpenedLedger> LedgerFile::Open(const std::filesystem::path& path, DiskCalls& disk) {
  absl::StatusOr<File> file = OpenLocked(path, O_RDWR | O_APPEND);
  if (file.status().code() == absl::StatusCode::kNotFound) {
    TACET_RETURN_IF_ERROR(CheckNothingMissed(path));
  }
  TACET_RETURN_IF_ERROR(file.status());
  TACET_ASSIGN_OR_RETURN(const base::Bytes bytes, ReadWhole(*file, path));
  TACET_ASSIGN_OR_RETURN(RecoveredLedger found, Recover(path, bytes, ReadFile(AnchorPath(path))));
  if (found.torn_bytes > 0 &&
      disk.Truncate(file->get(), static_cast<off_t>(found.whole_bytes)) != 0) {
    return SystemError("shorten", path);
  }
  // A record that the anchor does not know may not have reached the disk yet.
  if (disk.Synchronise(file->get()) != 0) return SystemError("synchronise", path);
  if (found.end.count > found.anchored) {
    TACET_RETURN_IF_ERROR(
        ReplaceFile(AnchorPath(path), ledger::WriteLedgerAnchor(found.end), disk));
  }
  const uint64_t size = found.whole_bytes;
  return OpenedLedger{
      .found = std::move(found),
      .store = std::unique_ptr<LedgerFile>(new LedgerFile(path, *std::move(file), size, disk))};
}

absl::StatusOr<OpenedLedger> LedgerFile::OpenOrCreate(const std::filesystem::path& path,
                                                      const LedgerHeader& header, DiskCalls& disk) {
  TACET_RETURN_IF_ERROR(ledger::CheckLedgerHeader(header));
  absl::StatusOr<OpenedLedger> opened = Open(path, disk);
  if (opened.status().code() == absl::StatusCode::kNotFound) return Make(path, header, disk);
  TACET_RETURN_IF_ERROR(opened.status());
  TACET_RETURN_IF_ERROR(CheckSameTerms(opened->found.header, header, path));
  return opened;
}

// Header and anchor are complete on disk before the ledger gets its name, so a ledger without an
// anchor is never the trace of a crash. The lock is on the file, which keeps it when renamed.
absl::StatusOr<OpenedLedger> LedgerFile::Make(const std::filesystem::path& path,
                                              const LedgerHeader& header, DiskCalls& disk) {
  const std::filesystem::path beside = BesidePath(path);
  TACET_ASSIGN_OR_RETURN(File file, OpenLocked(beside, O_RDWR | O_CREAT | O_APPEND));
  if (std::filesystem::exists(path)) return InUse(path);  // made by another process meanwhile
  const base::Bytes bytes = ledger::WriteLedgerHeader(header);
  if (disk.Truncate(file.get(), 0) != 0 || !file.WriteAll(bytes, disk) ||
      disk.Synchronise(file.get()) != 0) {
    return SystemError("write", beside);
  }
  RecoveredLedger found{.header = header, .entries = {}, .end = {}};
  found.end.genesis = found.end.head = ledger::LedgerGenesis(header);
  found.whole_bytes = bytes.size();
  TACET_RETURN_IF_ERROR(ReplaceFile(AnchorPath(path), ledger::WriteLedgerAnchor(found.end), disk));
  if (disk.Rename(beside.c_str(), path.c_str()) != 0) return SystemError("replace", path);
  TACET_RETURN_IF_ERROR(SyncDirectory(path.parent_path(), disk));
  return OpenedLedger{.found = std::move(found),
                      .store = std::unique_ptr<LedgerFile>(
                          new LedgerFile(path, std::move(file), bytes.size(), disk))};
}

absl::StatusOr<RecoveredLedger> LedgerFile::Read(const std::filesystem::path& path) {
  const absl::StatusOr<base::Bytes> before = ReadFile(AnchorPath(path));
  const File file(path, O_RDONLY);
  if (!file.ok()) {
    const absl::Status missing = SystemError("open", path);
    TACET_RETURN_IF_ERROR(CheckNothingMissed(path));
    return missing;
  }
  TACET_ASSIGN_OR_RETURN(const base::Bytes ledger, ReadWhole(file, path));
  const absl::StatusOr<base::Bytes> after = ReadFile(AnchorPath(path));
  // An anchor that did not change while the ledger was read belongs to what was read. One that did
  // belongs to a beginning of it.
  if (!before.ok() || !after.ok() || *before == *after) return Recover(path, ledger, after);
  absl::StatusOr<RecoveredLedger> found = ledger::RecoverSnapshot(ledger, *before);
  if (!found.ok()) return base::Annotate(found.status(), path.string());
  return found;
}

absl::Status LedgerFile::Append(std::span<const uint8_t> record, std::span<const uint8_t> anchor) {
  if (failed_) {
    return base::FailedPrecondition("the ledger {} failed before: it has to be opened again",
                                    path_.string());
  }
  failed_ = true;  // until everything is done
  TACET_RETURN_IF_ERROR(TryAppend(record, anchor));
  failed_ = false;
  return absl::OkStatus();
}

absl::Status LedgerFile::TryAppend(std::span<const uint8_t> record,
                                   std::span<const uint8_t> anchor) {
  struct stat info {};
  if (::fstat(file_.get(), &info) != 0) return SystemError("read", path_);
  if (info.st_nlink == 0 || static_cast<uint64_t>(info.st_size) != size_) {
    return base::DataLoss("the ledger {} was {} by somebody else while it was open", path_.string(),
                          info.st_nlink == 0 ? "removed or replaced"
                                             : fmt::format("changed from {} to {} bytes", size_,
                                                           static_cast<uint64_t>(info.st_size)));
  }
  if (!file_.WriteAll(record, disk_)) return SystemError("append to", path_);
  if (disk_.Synchronise(file_.get()) != 0) return SystemError("synchronise", path_);
  TACET_RETURN_IF_ERROR(ReplaceFile(AnchorPath(path_), anchor, disk_));
  size_ += record.size();
  return absl::OkStatus();
}

}  // namespace tacet::storage::file
