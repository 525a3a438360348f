#include "tacet/ledger/ledger_format.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <set>
#include <utility>

#include "tacet/base/format_ids.h"
#include "tacet/base/status.h"

namespace tacet::ledger {
namespace {

using accounting::Neighbouring;
using accounting::Sampling;
using accounting::SamplingEvent;
using accounting::Unit;

constexpr size_t kMaxNameBytes = 255;
constexpr size_t kDigestBytes = 32;
constexpr size_t kTornZeros = 16;
constexpr std::string_view kWhatToDo =
    "do not charge to it: put the ledger and its anchor back from one and the same copy that is "
    "not older than the last charge; if there is none, begin a new ledger whose budget is the part "
    "that is surely left";

uint8_t UnitNumber(Unit unit) {
  switch (unit) {
    case Unit::kClient:
      return 1;
    case Unit::kPerson:
      return 2;
    case Unit::kRecord:
      return 3;
  }
  return 0;
}

std::optional<Unit> UnitOf(uint8_t number) {
  for (const Unit unit : {Unit::kClient, Unit::kPerson, Unit::kRecord}) {
    if (number == UnitNumber(unit)) return unit;
  }
  return std::nullopt;
}

uint8_t NeighbouringNumber(Neighbouring neighbouring) {
  return neighbouring == Neighbouring::kReplaceOne ? 1 : 2;
}

std::optional<Neighbouring> NeighbouringOf(uint8_t number) {
  if (number == 1) return Neighbouring::kReplaceOne;
  if (number == 2) return Neighbouring::kZeroOut;
  return std::nullopt;
}

uint8_t SamplingNumber(Sampling sampling) {
  switch (sampling) {
    case Sampling::kNone:
      return 1;
    case Sampling::kFixedSize:
      return 2;
    case Sampling::kPoisson:
      return 3;
    case Sampling::kPoissonKnownSize:
      return 4;
  }
  return 0;
}

std::optional<Sampling> SamplingOf(uint8_t number) {
  for (const Sampling sampling :
       {Sampling::kNone, Sampling::kFixedSize, Sampling::kPoisson, Sampling::kPoissonKnownSize}) {
    if (number == SamplingNumber(sampling)) return sampling;
  }
  return std::nullopt;
}

template <typename T>
absl::StatusOr<T> Known(std::optional<T> value, std::string_view field, uint8_t number) {
  if (value.has_value()) return *value;
  return base::DataLoss("field `{}` has the unknown value {}", field, number);
}

crypto::Digest DigestOf(std::span<const uint8_t> bytes) {
  crypto::Digest digest;
  std::ranges::copy(bytes, digest.begin());
  return digest;
}

base::Bytes HeaderBody(const LedgerHeader& header) {
  base::ByteWriter writer;
  base::WritePreamble(base::format::kLedger, writer);
  writer.U8(static_cast<uint8_t>(header.rule));
  writer.U8(UnitNumber(header.unit));
  writer.U8(NeighbouringNumber(header.neighbouring));
  writer.U8(static_cast<uint8_t>(header.spending.composition));
  writer.F64(header.spending.budget_epsilon);
  writer.F64(header.spending.delta);
  writer.U64(header.created);
  writer.Raw(header.data_digest);
  writer.Blob(header.data_set);
  return writer.Take();
}

absl::StatusOr<LedgerHeader> ReadHeader(base::ByteReader& reader) {
  LedgerHeader header;
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kLedger, reader));
  TACET_ASSIGN_OR_RETURN(const uint8_t rule, reader.ReadU8("rule"));
  if (rule != 1 && rule != 2) {
    return base::DataLoss("field `rule` has the unknown value {}", rule);
  }
  header.rule = static_cast<ChargingRule>(rule);
  TACET_ASSIGN_OR_RETURN(const uint8_t unit, reader.ReadU8("unit"));
  TACET_ASSIGN_OR_RETURN(header.unit, Known(UnitOf(unit), "unit", unit));
  TACET_ASSIGN_OR_RETURN(const uint8_t neighbouring, reader.ReadU8("neighbouring"));
  TACET_ASSIGN_OR_RETURN(header.neighbouring,
                         Known(NeighbouringOf(neighbouring), "neighbouring", neighbouring));
  TACET_ASSIGN_OR_RETURN(const uint8_t composition, reader.ReadU8("composition"));
  header.spending.composition = static_cast<accounting::Composition>(composition);
  TACET_ASSIGN_OR_RETURN(header.spending.budget_epsilon, reader.ReadF64("budget"));
  TACET_ASSIGN_OR_RETURN(header.spending.delta, reader.ReadF64("delta"));
  TACET_ASSIGN_OR_RETURN(header.created, reader.ReadU64("created"));
  TACET_ASSIGN_OR_RETURN(const auto digest, reader.ReadBytes(kDigestBytes, "data digest"));
  header.data_digest = DigestOf(digest);
  TACET_ASSIGN_OR_RETURN(header.data_set, reader.ReadString(kMaxNameBytes, "data set"));
  TACET_RETURN_IF_ERROR(CheckLedgerHeader(header));
  return header;
}

// The record without its hash.
absl::StatusOr<LedgerEntry> ReadEntry(std::span<const uint8_t> record, const LedgerHeader& header) {
  base::ByteReader reader(record, "record");
  LedgerEntry entry;
  TACET_ASSIGN_OR_RETURN(const auto federation, reader.ReadBytes(kDigestBytes, "federation"));
  entry.federation = DigestOf(federation);
  TACET_ASSIGN_OR_RETURN(const auto manifest, reader.ReadBytes(kDigestBytes, "manifest hash"));
  entry.label.manifest_hash = DigestOf(manifest);
  TACET_ASSIGN_OR_RETURN(entry.label.number.epoch, reader.ReadU32("epoch"));
  TACET_ASSIGN_OR_RETURN(entry.label.number.round, reader.ReadU32("round"));
  TACET_ASSIGN_OR_RETURN(entry.label.number.attempt, reader.ReadU32("attempt"));
  TACET_ASSIGN_OR_RETURN(const uint8_t kind, reader.ReadU8("kind"));
  if (kind != 1 && kind != 2) return base::DataLoss("field `kind` has the unknown value {}", kind);
  entry.kind = static_cast<ChargeKind>(kind);
  TACET_ASSIGN_OR_RETURN(const uint8_t unit, reader.ReadU8("unit"));
  TACET_ASSIGN_OR_RETURN(entry.event.unit, Known(UnitOf(unit), "unit", unit));
  TACET_ASSIGN_OR_RETURN(const uint8_t neighbouring, reader.ReadU8("neighbouring"));
  TACET_ASSIGN_OR_RETURN(entry.event.neighbouring,
                         Known(NeighbouringOf(neighbouring), "neighbouring", neighbouring));
  TACET_ASSIGN_OR_RETURN(const uint8_t sampling, reader.ReadU8("sampling"));
  TACET_ASSIGN_OR_RETURN(entry.event.sampling, Known(SamplingOf(sampling), "sampling", sampling));
  TACET_ASSIGN_OR_RETURN(entry.event.sampling_rate, reader.ReadF64("sampling rate"));
  TACET_ASSIGN_OR_RETURN(entry.event.noise_stddev, reader.ReadF64("noise"));
  TACET_ASSIGN_OR_RETURN(entry.event.clip_norm, reader.ReadF64("clip norm"));
  TACET_ASSIGN_OR_RETURN(entry.event.pool, reader.ReadU64("pool"));
  TACET_ASSIGN_OR_RETURN(entry.event.least, reader.ReadU64("least"));
  TACET_ASSIGN_OR_RETURN(entry.count, reader.ReadU64("count"));
  TACET_ASSIGN_OR_RETURN(entry.time, reader.ReadU64("time"));
  TACET_RETURN_IF_ERROR(reader.ExpectEnd());
  TACET_RETURN_IF_ERROR(CheckLedgerEntry(entry, header));
  return entry;
}

crypto::Digest Chain(const crypto::Digest& previous, std::span<const uint8_t> body) {
  crypto::Sha256Hasher hasher;
  hasher.Update(previous);
  hasher.Update(body);
  return hasher.Finish();
}

bool NeverFilled(std::span<const uint8_t> record) {
  return std::ranges::all_of(record.last(kTornZeros), [](uint8_t byte) { return byte == 0; });
}

enum class Growing { kNo, kYes };

absl::Status Damage(std::string_view what) { return base::DataLoss("{}; {}", what, kWhatToDo); }

absl::StatusOr<RecoveredLedger> Recover(std::span<const uint8_t> ledger,
                                        std::span<const uint8_t> anchor_bytes, Growing growing) {
  const absl::StatusOr<LedgerAnchor> anchor = ReadLedgerAnchor(anchor_bytes);
  if (!anchor.ok()) return Damage(base::Message(anchor.status()));
  base::ByteReader reader(ledger, "header of the ledger");
  absl::StatusOr<LedgerHeader> header = ReadHeader(reader);
  if (!header.ok()) return Damage(base::Message(header.status()));
  RecoveredLedger found{.header = *std::move(header), .entries = {}, .end = {}};
  found.end.genesis = found.end.head = LedgerGenesis(found.header);
  found.anchored = anchor->count;
  if (const absl::Status hash = reader.Expect(found.end.genesis, "hash"); !hash.ok()) {
    return Damage(base::Message(hash));
  }
  if (anchor->genesis != found.end.genesis) {
    return Damage("the anchor belongs to another ledger than this one, their headers differ");
  }
  found.whole_bytes = ledger.size() - reader.remaining();

  std::set<ChargeLabel> labels;
  while (ledger.size() - found.whole_bytes >= kLedgerRecordBytes) {
    const auto record = ledger.subspan(found.whole_bytes, kLedgerRecordBytes);
    const auto body = record.first(kLedgerRecordBytes - kDigestBytes);
    const uint64_t number = found.end.count + 1;
    const crypto::Digest hash = Chain(found.end.head, body);
    if (hash != RecordHash(record)) {
      if (growing == Growing::kYes && found.end.count >= anchor->count) break;  // being written
      const bool last = ledger.size() - found.whole_bytes == kLedgerRecordBytes;
      if (last && found.end.count == anchor->count && NeverFilled(record)) break;
      return Damage(fmt::format(
          "record {} at byte {} of the ledger does not continue the chain: it, or what stood "
          "before it, was altered",
          number, found.whole_bytes));
    }
    if (growing == Growing::kNo && found.end.count > anchor->count) {
      return Damage(fmt::format(
          "the anchor is too old: it knows {} records, record {} at byte {} is more than one "
          "further",
          anchor->count, number, found.whole_bytes));
    }
    absl::StatusOr<LedgerEntry> entry = ReadEntry(body, found.header);
    if (!entry.ok()) {
      return Damage(fmt::format("record {} at byte {} of the ledger is not valid: {}", number,
                                found.whole_bytes, base::Message(entry.status())));
    }
    if (!labels.insert(entry->label).second) {
      return Damage(fmt::format("record {} at byte {} of the ledger charges an attempt again",
                                number, found.whole_bytes));
    }
    found.entries.push_back(*std::move(entry));
    found.end.head = hash;
    ++found.end.count;
    found.whole_bytes += kLedgerRecordBytes;
    if (found.end.count == anchor->count && hash != anchor->head) {
      return Damage(fmt::format(
          "record {}, which ends at byte {}, is not the one that the anchor knows: the ledger was "
          "replaced or its end rewritten",
          number, found.whole_bytes));
    }
  }
  if (found.end.count < anchor->count) {
    return Damage(
        fmt::format("the ledger ends at byte {} after {} whole records, its anchor knows {}: "
                    "charges are missing",
                    ledger.size(), found.end.count, anchor->count));
  }
  if (anchor->count == 0 && anchor->head != anchor->genesis) {
    return Damage("the anchor of an empty ledger has a head that is not its header's hash");
  }
  if (growing == Growing::kYes) return found;
  found.torn_bytes = ledger.size() - found.whole_bytes;
  if (found.torn_bytes > 0 && found.end.count > anchor->count) {
    return Damage(fmt::format(
        "{} bytes follow record {}, the one that the anchor does not know yet: two appends cannot "
        "both have been cut short",
        found.torn_bytes, found.end.count));
  }
  return found;
}

}  // namespace

std::string_view ChargingRuleName(ChargingRule rule) {
  return rule == ChargingRule::kAnnouncedAttempts ? "announced-attempts" : "own-seals";
}

bool operator==(const LedgerHeader& a, const LedgerHeader& b) {
  return HeaderBody(a) == HeaderBody(b);
}

bool operator==(const LedgerEntry& a, const LedgerEntry& b) {
  return a.federation == b.federation && a.label == b.label && a.kind == b.kind &&
         accounting::SameEvent(a.event, b.event) && a.count == b.count && a.time == b.time;
}

absl::Status CheckLedgerHeader(const LedgerHeader& header) {
  const bool printable = std::ranges::all_of(
      header.data_set, [](char letter) { return letter >= ' ' && letter <= '~'; });
  if (header.data_set.empty() || header.data_set.size() > kMaxNameBytes || !printable) {
    return base::InvalidArgument(
        "the name of the data set must be 1 to {} printable ASCII characters", kMaxNameBytes);
  }
  return accounting::CheckSpendingTerms(header.spending);
}

absl::Status CheckLedgerEntry(const LedgerEntry& entry, const LedgerHeader& header) {
  TACET_RETURN_IF_ERROR(accounting::CheckEvent(entry.event));
  if (entry.count == 0) return base::InvalidArgument("a charge of 0 releases, expected at least 1");
  if (entry.event.unit != header.unit || entry.event.neighbouring != header.neighbouring) {
    return base::InvalidArgument(
        "the charge is for unit {}, {} neighbours; the ledger counts unit {}, {} neighbours",
        accounting::UnitName(entry.event.unit),
        accounting::NeighbouringName(entry.event.neighbouring), accounting::UnitName(header.unit),
        accounting::NeighbouringName(header.neighbouring));
  }
  const bool amplified = entry.event.sampling != Sampling::kNone;
  if (amplified && header.rule == ChargingRule::kOwnSeals) {
    return base::FailedPrecondition(
        "the charge is amplified by {} sampling, but this ledger counts own seals, which are "
        "charged without sampling: own attempts at the amplified rate would be too little",
        accounting::SamplingName(entry.event.sampling));
  }
  if (!amplified && header.rule == ChargingRule::kAnnouncedAttempts) {
    return base::FailedPrecondition(
        "the charge is without sampling, but this ledger counts announced attempts, which are "
        "charged at the rate they were sampled with");
  }
  if (header.rule == ChargingRule::kOwnSeals && entry.kind == ChargeKind::kCatchingUp) {
    return base::FailedPrecondition("a ledger of own seals has no attempts to catch up on");
  }
  return absl::OkStatus();
}

base::Bytes WriteLedgerHeader(const LedgerHeader& header) {
  base::ByteWriter writer;
  writer.Raw(HeaderBody(header));
  writer.Raw(LedgerGenesis(header));
  return writer.Take();
}

crypto::Digest LedgerGenesis(const LedgerHeader& header) {
  return crypto::Sha256(HeaderBody(header));
}

base::Bytes WriteLedgerRecord(const LedgerEntry& entry, const crypto::Digest& previous) {
  base::ByteWriter writer;
  writer.Reserve(kLedgerRecordBytes);
  writer.Raw(entry.federation);
  writer.Raw(entry.label.manifest_hash);
  writer.U32(entry.label.number.epoch);
  writer.U32(entry.label.number.round);
  writer.U32(entry.label.number.attempt);
  writer.U8(static_cast<uint8_t>(entry.kind));
  writer.U8(UnitNumber(entry.event.unit));
  writer.U8(NeighbouringNumber(entry.event.neighbouring));
  writer.U8(SamplingNumber(entry.event.sampling));
  writer.F64(entry.event.sampling_rate);
  writer.F64(entry.event.noise_stddev);
  writer.F64(entry.event.clip_norm);
  writer.U64(entry.event.pool);
  writer.U64(entry.event.least);
  writer.U64(entry.count);
  writer.U64(entry.time);
  writer.Raw(Chain(previous, writer.bytes()));
  return writer.Take();
}

crypto::Digest RecordHash(std::span<const uint8_t> record) {
  return DigestOf(record.last(kDigestBytes));
}

base::Bytes WriteLedgerAnchor(const LedgerAnchor& anchor) {
  base::ByteWriter writer;
  base::WritePreamble(base::format::kLedgerAnchor, writer);
  writer.Raw(anchor.genesis);
  writer.U64(anchor.count);
  writer.Raw(anchor.head);
  writer.Raw(crypto::Sha256(writer.bytes()));
  return writer.Take();
}

absl::StatusOr<LedgerAnchor> ReadLedgerAnchor(std::span<const uint8_t> bytes) {
  base::ByteReader reader(bytes, "anchor of the ledger");
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kLedgerAnchor, reader));
  LedgerAnchor anchor;
  TACET_ASSIGN_OR_RETURN(const auto genesis, reader.ReadBytes(kDigestBytes, "genesis"));
  anchor.genesis = DigestOf(genesis);
  TACET_ASSIGN_OR_RETURN(anchor.count, reader.ReadU64("count"));
  TACET_ASSIGN_OR_RETURN(const auto head, reader.ReadBytes(kDigestBytes, "head"));
  anchor.head = DigestOf(head);
  const crypto::Digest digest = crypto::Sha256(bytes.first(bytes.size() - reader.remaining()));
  TACET_RETURN_IF_ERROR(reader.Expect(digest, "digest"));
  TACET_RETURN_IF_ERROR(reader.ExpectEnd());
  return anchor;
}

absl::StatusOr<RecoveredLedger> RecoverLedger(std::span<const uint8_t> ledger,
                                              std::span<const uint8_t> anchor) {
  return Recover(ledger, anchor, Growing::kNo);
}

absl::StatusOr<RecoveredLedger> RecoverSnapshot(std::span<const uint8_t> ledger,
                                                std::span<const uint8_t> anchor) {
  return Recover(ledger, anchor, Growing::kYes);
}

}  // namespace tacet::ledger
