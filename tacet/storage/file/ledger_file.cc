#include "tacet/storage/file/ledger_file.h"

#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tacet/base/status.h"
#include "tacet/base/stopwatch.h"
#include "tacet/storage/file/file_lock.h"

namespace tacet::storage::file {
namespace {

namespace fs = std::filesystem;

using ledger::KnownEnd;
using ledger::LedgerAnchor;
using ledger::LedgerHeader;
using ledger::LedgerRecord;
using ledger::OpenedLedger;
using ledger::RecoveredLedger;

fs::path BesidePath(const fs::path& path) {
  fs::path beside = path;
  beside += ".new";
  return beside;
}

absl::Status InUse(const fs::path& path) {
  return base::Unavailable("the ledger {} is in use by another process", path.string());
}

bool HasName(const File& file, const fs::path& path) {
  struct stat opened {
  }, named{};
  return ::fstat(file.get(), &opened) == 0 && ::stat(path.c_str(), &named) == 0 &&
         named.st_ino == opened.st_ino && named.st_dev == opened.st_dev;
}

// A file that is locked and still has the name under which it was opened: another process may have
// renamed it while this one waited.
absl::StatusOr<File> OpenLocked(const fs::path& path, int flags, double max_seconds) {
  const base::Stopwatch waited;
  do {
    File file(path, flags);
    if (!file.ok()) return SystemError("open", path);
    if (!LockFile(file, max_seconds - waited.Seconds())) break;
    if (HasName(file, path)) return file;
  } while (waited.Seconds() < max_seconds);
  return InUse(path);
}

absl::StatusOr<std::optional<LedgerAnchor>> ReadAnchor(const fs::path& path) {
  const absl::StatusOr<base::Bytes> bytes = ReadFile(path);
  if (bytes.status().code() == absl::StatusCode::kNotFound) return std::nullopt;
  TACET_RETURN_IF_ERROR(bytes.status());
  const absl::StatusOr<LedgerAnchor> anchor = ledger::ReadLedgerAnchor(*bytes);
  if (anchor.ok()) return std::optional(*anchor);
  return base::DataLoss("{} is damaged: {}", path.string(), base::Message(anchor.status()));
}

// Anchors of a ledger that was not there: OK when none knows of a charge (making the ledger was
// interrupted), or when the ledger is there by now (it was made, and charged, meanwhile).
absl::Status CheckNothingMissed(const LedgerPlace& place) {
  std::vector<fs::path> anchors = place.more_anchors;
  anchors.push_back(AnchorPath(place.path));
  for (const fs::path& path : anchors) {
    const absl::StatusOr<std::optional<LedgerAnchor>> anchor = ReadAnchor(path);
    if (anchor.ok() && (!anchor->has_value() || (*anchor)->count == 0)) continue;
    if (std::error_code error; fs::exists(place.path, error)) return absl::OkStatus();
    return base::DataLoss(
        "there is no ledger {}, but its anchor {} {}: put the ledger back from a copy that is not "
        "older; do not begin a new one over this population with the whole budget",
        place.path.string(), path.string(),
        anchor.ok() ? fmt::format("counts {} charges", (*anchor)->count)
                    : base::Message(anchor.status()));
  }
  return absl::OkStatus();
}

absl::Status CheckMoreAnchors(const LedgerPlace& place, const RecoveredLedger& found) {
  for (const fs::path& path : place.more_anchors) {
    TACET_ASSIGN_OR_RETURN(const std::optional<LedgerAnchor> anchor, ReadAnchor(path));
    // One that knows nothing may be of a ledger that was never charged.
    if (!anchor.has_value() || anchor->count == 0) continue;
    if (const absl::Status reached = ledger::CheckReaches(found, *anchor); !reached.ok()) {
      return base::DataLoss(
          "the ledger {} is older than its anchor {}, or another one: {}; put back the ledger that "
          "was charged last",
          place.path.string(), path.string(), base::Message(reached));
    }
  }
  return absl::OkStatus();
}

absl::Status RenewMoreAnchors(const LedgerPlace& place, const LedgerAnchor& end, DiskCalls& disk) {
  for (const fs::path& path : place.more_anchors) {
    TACET_RETURN_IF_ERROR(ReplaceFile(path, ledger::WriteLedgerAnchor(end), disk, kOwnerOnly));
  }
  return absl::OkStatus();
}

absl::Status NoAnchor(const fs::path& path) {
  return base::DataLoss(
      "the ledger {} has no anchor {}: without it nobody can tell whether charges were cut off; "
      "put both back from one copy that is not older than the last charge",
      path.string(), AnchorPath(path).string());
}

absl::StatusOr<RecoveredLedger> Recover(const fs::path& path, std::span<const uint8_t> ledger,
                                        const absl::StatusOr<base::Bytes>& anchor) {
  if (anchor.status().code() == absl::StatusCode::kNotFound) return NoAnchor(path);
  TACET_RETURN_IF_ERROR(anchor.status());
  absl::StatusOr<RecoveredLedger> found = ledger::RecoverLedger(ledger, *anchor);
  if (found.ok()) return found;
  const bool is_anchor = !ledger::ReadLedgerAnchor(*anchor).ok();
  return base::Annotate(found.status(), (is_anchor ? AnchorPath(path) : path).string());
}

// Cuts off what a crash left after `whole_bytes`, and brings the anchor up to date.
absl::Status Repair(const fs::path& path, const File& file, uint64_t whole_bytes,
                    uint64_t torn_bytes, bool anchor_behind, const LedgerAnchor& end,
                    DiskCalls& disk) {
  if (torn_bytes > 0 && disk.Truncate(file.get(), static_cast<off_t>(whole_bytes)) != 0) {
    return SystemError("shorten", path);
  }
  // A record that the anchor does not know may not have reached the disk yet.
  if (disk.Synchronise(file.get()) != 0) return SystemError("synchronise", path);
  if (!anchor_behind) return absl::OkStatus();
  return ReplaceFile(AnchorPath(path), ledger::WriteLedgerAnchor(end), disk);
}

absl::Status CheckSameTerms(const LedgerHeader& found, LedgerHeader wanted, const fs::path& path) {
  wanted.created = found.created;
  wanted.population = found.population;
  wanted.identity = found.identity;
  if (wanted == found) return absl::OkStatus();
  const auto text = [](const LedgerHeader& header) {
    return fmt::format("{}, unit {}, {}, budget {} at delta {}",
                       accounting::CompositionName(header.spending.composition),
                       accounting::UnitName(header.unit),
                       accounting::NeighbouringName(header.neighbouring),
                       header.spending.budget_epsilon, header.spending.delta);
  };
  return base::FailedPrecondition(
      "the ledger {} was made for other terms ({}) than are asked for ({}): they are fixed when a "
      "ledger is made",
      path.string(), text(found), text(wanted));
}

}  // namespace

fs::path AnchorPath(const fs::path& path) {
  fs::path anchor = path;
  anchor += ".anchor";
  return anchor;
}

absl::Status DeleteCopy(const fs::path& path) {
  std::error_code error;
  // An anchor without a ledger is damage, and so is a ledger without an anchor: the next call
  // deletes what is left.
  fs::remove(path, error);
  if (!error) fs::remove(AnchorPath(path), error);
  if (error) return base::Unavailable("cannot delete {}: {}", path.string(), error.message());
  return SyncDirectory(path.parent_path());
}

absl::StatusOr<OpenedLedger> LedgerFile::Open(const LedgerPlace& place, DiskCalls& disk) {
  const fs::path& path = place.path;
  absl::StatusOr<File> file = OpenLocked(path, O_RDWR | O_APPEND, place.max_wait_seconds);
  if (file.status().code() == absl::StatusCode::kNotFound) {
    TACET_RETURN_IF_ERROR(CheckNothingMissed(place));
  }
  TACET_RETURN_IF_ERROR(file.status());
  TACET_ASSIGN_OR_RETURN(const base::Bytes bytes, ReadWhole(*file, path));
  TACET_ASSIGN_OR_RETURN(RecoveredLedger found, Recover(path, bytes, ReadFile(AnchorPath(path))));
  TACET_RETURN_IF_ERROR(CheckMoreAnchors(place, found));
  TACET_RETURN_IF_ERROR(Repair(path, *file, found.whole_bytes, found.torn_bytes,
                               found.end.count > found.anchored, found.end, disk));
  TACET_RETURN_IF_ERROR(RenewMoreAnchors(place, found.end, disk));
  auto store = std::unique_ptr<LedgerFile>(new LedgerFile(place, *std::move(file), found, disk));
  store->EndTurn();
  return OpenedLedger{.found = std::move(found), .store = std::move(store)};
}

absl::StatusOr<OpenedLedger> LedgerFile::OpenOrCreate(const LedgerPlace& place,
                                                      const LedgerHeader& header, DiskCalls& disk) {
  TACET_RETURN_IF_ERROR(ledger::CheckLedgerHeader(header));
  absl::StatusOr<OpenedLedger> opened = Open(place, disk);
  if (opened.status().code() == absl::StatusCode::kNotFound) {
    opened = Make(place, header, disk);
    if (opened.ok() || opened.status().code() != absl::StatusCode::kAlreadyExists) return opened;
    opened = Open(place, disk);
  }
  TACET_RETURN_IF_ERROR(opened.status());
  TACET_RETURN_IF_ERROR(CheckSameTerms(opened->found.header, header, place.path));
  return opened;
}

// Header and anchor are complete on disk before the ledger gets its name, so a ledger without an
// anchor is never the trace of a crash. The lock is on the file, which keeps it when renamed.
// AlreadyExists when another process has made it meanwhile.
absl::StatusOr<OpenedLedger> LedgerFile::Make(const LedgerPlace& place, const LedgerHeader& header,
                                              DiskCalls& disk) {
  const fs::path& path = place.path;
  const fs::path beside = BesidePath(path);
  TACET_ASSIGN_OR_RETURN(File file,
                         OpenLocked(beside, O_RDWR | O_CREAT | O_APPEND, place.max_wait_seconds));
  std::error_code error;
  if (fs::exists(path, error) || error) {
    fs::remove(beside, error);
    return base::AlreadyExists("the ledger {} was made by another process", path.string());
  }
  const base::Bytes bytes = ledger::WriteLedgerHeader(header);
  if (disk.Truncate(file.get(), 0) != 0 || !file.WriteAll(bytes, disk) ||
      disk.Synchronise(file.get()) != 0) {
    return SystemError("write", beside);
  }
  RecoveredLedger found{.header = header};
  found.end = ledger::EmptyLedgerEnd(header);
  found.whole_bytes = bytes.size();
  TACET_RETURN_IF_ERROR(ReplaceFile(AnchorPath(path), ledger::WriteLedgerAnchor(found.end), disk));
  if (disk.Rename(beside.c_str(), path.c_str()) != 0) return SystemError("replace", path);
  TACET_RETURN_IF_ERROR(SyncDirectory(path.parent_path(), disk));
  TACET_RETURN_IF_ERROR(RenewMoreAnchors(place, found.end, disk));
  auto store = std::unique_ptr<LedgerFile>(new LedgerFile(place, std::move(file), found, disk));
  store->EndTurn();
  return OpenedLedger{.found = std::move(found), .store = std::move(store)};
}

absl::StatusOr<RecoveredLedger> LedgerFile::Read(const fs::path& path) {
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

absl::StatusOr<std::vector<LedgerRecord>> LedgerFile::BeginTurn() {
  if (!LockFile(file_, place_.max_wait_seconds)) return InUse(place_.path);
  absl::StatusOr<std::vector<LedgerRecord>> others = ReadOthers();
  if (!others.ok()) EndTurn();
  return others;
}

absl::StatusOr<std::vector<LedgerRecord>> LedgerFile::ReadOthers() {
  const fs::path& path = place_.path;
  TACET_RETURN_IF_ERROR(CheckStillThere());
  struct stat info {};
  if (::fstat(file_.get(), &info) != 0) return SystemError("read", path);
  const auto size = static_cast<uint64_t>(info.st_size);
  if (size < known_bytes()) {
    return base::DataLoss("the ledger {} was changed from {} to {} bytes by somebody else",
                          path.string(), known_bytes(), size);
  }
  TACET_ASSIGN_OR_RETURN(const base::Bytes behind,
                         ReadRange(file_, path, known_bytes(), size - known_bytes()));
  const absl::StatusOr<base::Bytes> anchor = ReadFile(AnchorPath(path));
  if (anchor.status().code() == absl::StatusCode::kNotFound) return NoAnchor(path);
  TACET_RETURN_IF_ERROR(anchor.status());
  absl::StatusOr<ledger::LedgerTail> tail = ledger::RecoverTail(header_, known_, behind, *anchor);
  if (!tail.ok()) return base::Annotate(tail.status(), path.string());
  const LedgerAnchor& end = tail->known.end;
  if (tail->torn_bytes > 0 || end.count > tail->anchored) {
    TACET_RETURN_IF_ERROR(Repair(path, file_, BytesOf(end), tail->torn_bytes,
                                 end.count > tail->anchored, end, disk_));
  }
  if (!tail->records.empty()) TACET_RETURN_IF_ERROR(RenewMoreAnchors(place_, end, disk_));
  known_ = tail->known;  // once nothing can fail: the caller gets each record once
  return std::move(tail->records);
}

absl::Status LedgerFile::CheckStillThere() const {
  if (HasName(file_, place_.path)) return absl::OkStatus();
  return base::DataLoss("the ledger {} was removed or replaced by somebody else while it was open",
                        place_.path.string());
}

void LedgerFile::EndTurn() { UnlockFile(file_); }

absl::Status LedgerFile::Append(std::span<const uint8_t> record, const KnownEnd& end) {
  const fs::path& path = place_.path;
  struct stat info {};
  if (::fstat(file_.get(), &info) != 0) return SystemError("read", path);
  if (static_cast<uint64_t>(info.st_size) != known_bytes()) {
    return base::DataLoss(
        "the ledger {} was changed from {} to {} bytes by somebody else while it was locked",
        path.string(), known_bytes(), static_cast<uint64_t>(info.st_size));
  }
  const bool written = file_.WriteAll(record, disk_);
  if (!written || disk_.Synchronise(file_.get()) != 0) {
    const absl::Status failed = SystemError(written ? "synchronise" : "append to", path);
    // A record that one call could not synchronise may seem to the next one to be on disk. Where
    // this fails, too, the next turn finds the record, and counts it.
    (void)disk_.Truncate(file_.get(), static_cast<off_t>(known_bytes()));
    return failed;
  }
  TACET_RETURN_IF_ERROR(ReplaceFile(AnchorPath(path), ledger::WriteLedgerAnchor(end.end), disk_));
  TACET_RETURN_IF_ERROR(RenewMoreAnchors(place_, end.end, disk_));
  known_ = end;
  return absl::OkStatus();
}

}  // namespace tacet::storage::file
