#include "tacet/ledger/ledger_recovery.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include "tacet/base/status.h"

namespace tacet::ledger {
namespace {

constexpr size_t kTornZeros = 16;
constexpr std::string_view kWhatToDo =
    "do not charge to it: put the ledger and its anchor back from one and the same copy that is "
    "not older than the last charge; if there is none, begin a new ledger whose budget is the part "
    "that is surely left";

enum class Growing { kNo, kYes };

absl::Status Damage(std::string_view what) { return base::DataLoss("{}; {}", what, kWhatToDo); }

bool NeverFilled(std::span<const uint8_t> record) {
  return std::ranges::all_of(record.last(kTornZeros), [](uint8_t byte) { return byte == 0; });
}

absl::Status CheckHead(const LedgerAnchor& anchor, const LedgerAnchor& end) {
  if (end.count != anchor.count || end.head == anchor.head) return absl::OkStatus();
  if (end.count == 0) {
    return Damage("the anchor of an empty ledger has a head that is not its header's hash");
  }
  return Damage(fmt::format(
      "record {}, which ends at byte {}, is not the one that the anchor knows: the ledger was "
      "replaced or its end rewritten",
      end.count, kLedgerHeaderBytes + end.count * kLedgerRecordBytes));
}

// Reads records behind `known` until the anchor's last one, and what may follow it.
absl::StatusOr<LedgerTail> ReadTail(const LedgerHeader& header, const KnownEnd& known,
                                    std::span<const uint8_t> bytes,
                                    std::span<const uint8_t> anchor_bytes, Growing growing) {
  const absl::StatusOr<LedgerAnchor> anchor = ReadLedgerAnchor(anchor_bytes);
  if (!anchor.ok()) return Damage(base::Message(anchor.status()));
  LedgerTail tail{.known = known, .anchored = anchor->count};
  LedgerAnchor& end = tail.known.end;
  if (anchor->population != end.population) {
    return Damage(fmt::format("the anchor is of the population \"{}\", the ledger of \"{}\"",
                              anchor->population, end.population));
  }
  if (anchor->genesis != end.genesis) {
    return Damage("the anchor belongs to another ledger than this one, their headers differ");
  }
  if (anchor->count < end.count) {
    return Damage(
        fmt::format("the anchor knows {} records, it has known {}: an older one was put "
                    "in its place",
                    anchor->count, end.count));
  }
  TACET_RETURN_IF_ERROR(CheckHead(*anchor, end));
  for (; bytes.size() >= kLedgerRecordBytes; bytes = bytes.subspan(kLedgerRecordBytes)) {
    const auto record = bytes.first(kLedgerRecordBytes);
    const uint64_t number = end.count + 1;
    const uint64_t begins = kLedgerHeaderBytes + end.count * kLedgerRecordBytes;
    if (const absl::Status hash = CheckRecordHash(record, end.head); !hash.ok()) {
      if (growing == Growing::kYes && end.count >= anchor->count) break;  // being written
      const bool last = bytes.size() == kLedgerRecordBytes;
      if (last && end.count == anchor->count && NeverFilled(record)) break;
      return Damage(fmt::format("record {} at byte {} of the ledger {}", number, begins,
                                base::Message(hash)));
    }
    if (growing == Growing::kNo && end.count > anchor->count) {
      return Damage(fmt::format(
          "the anchor is too old: it knows {} records, record {} at byte {} is more than one "
          "further",
          anchor->count, number, begins));
    }
    absl::StatusOr<LedgerRecord> read = ReadLedgerRecord(record, header);
    if (read.ok() && TimeOf(*read) < tail.known.last_time) {
      read = base::DataLoss("its time {} is before that of the record before it, {}", TimeOf(*read),
                            tail.known.last_time);
    }
    if (!read.ok()) {
      return Damage(fmt::format("record {} at byte {} of the ledger is not valid: {}", number,
                                begins, base::Message(read.status())));
    }
    tail.known.last_time = TimeOf(*read);
    tail.records.push_back(*std::move(read));
    end.head = RecordHash(record);
    tail.hashes.push_back(end.head);
    ++end.count;
    TACET_RETURN_IF_ERROR(CheckHead(*anchor, end));
  }
  if (end.count < anchor->count) {
    return Damage(
        fmt::format("the ledger ends at byte {} after {} whole records, its anchor knows "
                    "{}: charges are missing",
                    kLedgerHeaderBytes + end.count * kLedgerRecordBytes + bytes.size(), end.count,
                    anchor->count));
  }
  if (growing == Growing::kYes) return tail;
  tail.torn_bytes = bytes.size();
  if (tail.torn_bytes > 0 && end.count > anchor->count) {
    return Damage(fmt::format(
        "{} bytes follow record {}, the one that the anchor does not know yet: two appends cannot "
        "both have been cut short",
        tail.torn_bytes, end.count));
  }
  return tail;
}

// Puts a record with those of its kind.
class Sorter {
 public:
  explicit Sorter(RecoveredLedger& found) : found_(found) {}

  void operator()(LedgerEntry entry) { found_.entries.push_back(std::move(entry)); }
  void operator()(LedgerRefusal refusal) { found_.refusals.push_back(refusal); }
  void operator()(LedgerPolicy policy) { found_.policies.push_back(policy); }

 private:
  RecoveredLedger& found_;
};

const ChargeLabel* LabelOf(const LedgerRecord& record) {
  if (const auto* entry = std::get_if<LedgerEntry>(&record)) return &entry->label;
  const auto* refusal = std::get_if<LedgerRefusal>(&record);
  return refusal == nullptr ? nullptr : &refusal->label;
}

absl::Status CheckLabels(const std::vector<LedgerRecord>& records) {
  std::set<ChargeLabel> labels;
  for (size_t i = 0; i < records.size(); ++i) {
    const ChargeLabel* const label = LabelOf(records[i]);
    if (label == nullptr || labels.insert(*label).second) continue;
    return Damage(fmt::format("record {} at byte {} of the ledger charges an attempt again", i + 1,
                              kLedgerHeaderBytes + i * kLedgerRecordBytes));
  }
  return absl::OkStatus();
}

absl::StatusOr<RecoveredLedger> Recover(std::span<const uint8_t> ledger,
                                        std::span<const uint8_t> anchor, Growing growing) {
  absl::StatusOr<LedgerHeader> header = ReadLedgerHeader(ledger);
  if (!header.ok()) return Damage(base::Message(header.status()));
  RecoveredLedger found{.header = *std::move(header)};
  const KnownEnd known{.end = EmptyLedgerEnd(found.header)};
  TACET_ASSIGN_OR_RETURN(
      LedgerTail tail,
      ReadTail(found.header, known, ledger.subspan(kLedgerHeaderBytes), anchor, growing));
  TACET_RETURN_IF_ERROR(CheckLabels(tail.records));
  for (LedgerRecord& record : tail.records) std::visit(Sorter(found), std::move(record));
  found.hashes = std::move(tail.hashes);
  found.last_time = tail.known.last_time;
  found.end = tail.known.end;
  found.anchored = tail.anchored;
  found.whole_bytes = kLedgerHeaderBytes + found.end.count * kLedgerRecordBytes;
  found.torn_bytes = tail.torn_bytes;
  return found;
}

}  // namespace

LedgerAnchor EmptyLedgerEnd(const LedgerHeader& header) {
  const crypto::Digest genesis = LedgerGenesis(header);
  return {.population = header.population, .genesis = genesis, .count = 0, .head = genesis};
}

absl::StatusOr<RecoveredLedger> RecoverLedger(std::span<const uint8_t> ledger,
                                              std::span<const uint8_t> anchor) {
  return Recover(ledger, anchor, Growing::kNo);
}

absl::StatusOr<RecoveredLedger> RecoverSnapshot(std::span<const uint8_t> ledger,
                                                std::span<const uint8_t> anchor) {
  return Recover(ledger, anchor, Growing::kYes);
}

absl::StatusOr<LedgerTail> RecoverTail(const LedgerHeader& header, const KnownEnd& known,
                                       std::span<const uint8_t> bytes,
                                       std::span<const uint8_t> anchor) {
  return ReadTail(header, known, bytes, anchor, Growing::kNo);
}

absl::Status CheckReaches(const RecoveredLedger& found, const LedgerAnchor& anchor) {
  if (anchor.population != found.end.population) {
    return base::DataLoss("it knows {} records of the population \"{}\"", anchor.count,
                          anchor.population);
  }
  if (anchor.genesis != found.end.genesis) {
    return base::DataLoss("it knows {} records of another ledger", anchor.count);
  }
  if (anchor.count > found.end.count) {
    return base::DataLoss("it knows {} records, the ledger has {}: charges are missing",
                          anchor.count, found.end.count);
  }
  const crypto::Digest& head =
      anchor.count == 0 ? found.end.genesis : found.hashes[anchor.count - 1];
  if (head == anchor.head) return absl::OkStatus();
  return base::DataLoss("it knows another record {} than the ledger has", anchor.count);
}

}  // namespace tacet::ledger
