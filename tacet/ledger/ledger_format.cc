#include "tacet/ledger/ledger_format.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tacet/base/format_ids.h"
#include "tacet/base/status.h"

namespace tacet::ledger {
namespace {

using accounting::Neighbouring;
using accounting::Sampling;
using accounting::SamplingEvent;
using accounting::Unit;

constexpr size_t kDigestBytes = 32;
constexpr size_t kBodyBytes = kLedgerRecordBytes - kDigestBytes;

// First byte of a record. Those of charges are the numbers of ChargeKind.
constexpr uint8_t kRefusalKind = 3;
constexpr uint8_t kPolicyKind = 5;

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

bool IsPrintable(std::string_view text) {
  return std::ranges::all_of(text, [](char letter) { return letter >= ' ' && letter <= '~'; });
}

// The written bytes, with zeros up to `size` bytes.
base::Bytes Padded(base::ByteWriter writer, size_t size) {
  base::Bytes bytes = writer.Take();
  bytes.resize(size);
  return bytes;
}

absl::Status ExpectZeros(base::ByteReader& reader) {
  TACET_ASSIGN_OR_RETURN(const auto rest, reader.ReadBytes(reader.remaining(), "padding"));
  if (std::ranges::all_of(rest, [](uint8_t byte) { return byte == 0; })) return absl::OkStatus();
  return base::DataLoss("the padding is not all zeros");
}

absl::StatusOr<crypto::Digest> ReadDigest(base::ByteReader& reader, std::string_view field) {
  TACET_ASSIGN_OR_RETURN(const auto bytes, reader.ReadBytes(kDigestBytes, field));
  return DigestOf(bytes);
}

base::Bytes HeaderBody(const LedgerHeader& header) {
  base::ByteWriter writer;
  base::WritePreamble(base::format::kLedger, writer);
  writer.U8(UnitNumber(header.unit));
  writer.U8(NeighbouringNumber(header.neighbouring));
  writer.U8(static_cast<uint8_t>(header.spending.composition));
  writer.F64(header.spending.budget_epsilon);
  writer.F64(header.spending.delta);
  writer.U64(header.created);
  writer.Raw(header.identity);
  writer.Blob(header.population);
  return Padded(std::move(writer), kLedgerHeaderBytes - kDigestBytes);
}

absl::StatusOr<LedgerHeader> ReadHeaderFields(base::ByteReader& reader) {
  LedgerHeader header;
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kLedger, reader));
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
  TACET_ASSIGN_OR_RETURN(header.identity, ReadDigest(reader, "identity"));
  TACET_ASSIGN_OR_RETURN(header.population, reader.ReadString(kMaxNameBytes, "population"));
  TACET_RETURN_IF_ERROR(ExpectZeros(reader));
  TACET_RETURN_IF_ERROR(CheckLedgerHeader(header));
  return header;
}

// For a charge or a refusal.
template <typename Record>
void WriteAttempt(const Record& record, base::ByteWriter& writer) {
  writer.Raw(record.federation);
  writer.Raw(record.label.manifest_hash);
  writer.U32(record.label.number.epoch);
  writer.U32(record.label.number.round);
  writer.U32(record.label.number.attempt);
  writer.U32(record.member);
}

template <typename Record>
absl::Status ReadAttempt(base::ByteReader& reader, Record& record) {
  TACET_ASSIGN_OR_RETURN(record.federation, ReadDigest(reader, "federation"));
  TACET_ASSIGN_OR_RETURN(record.label.manifest_hash, ReadDigest(reader, "manifest hash"));
  TACET_ASSIGN_OR_RETURN(record.label.number.epoch, reader.ReadU32("epoch"));
  TACET_ASSIGN_OR_RETURN(record.label.number.round, reader.ReadU32("round"));
  TACET_ASSIGN_OR_RETURN(record.label.number.attempt, reader.ReadU32("attempt"));
  TACET_ASSIGN_OR_RETURN(record.member, reader.ReadU32("member"));
  return absl::OkStatus();
}

// Each kind after its first byte and its time.
void WriteFields(const LedgerEntry& entry, base::ByteWriter& writer) {
  WriteAttempt(entry, writer);
  writer.U8(static_cast<uint8_t>(entry.rule));
  writer.U8(UnitNumber(entry.event.unit));
  writer.U8(NeighbouringNumber(entry.event.neighbouring));
  writer.U8(SamplingNumber(entry.event.sampling));
  writer.F64(entry.event.sampling_rate);
  writer.F64(entry.event.noise_stddev);
  writer.F64(entry.event.clip_norm);
  writer.U64(entry.event.pool);
  writer.U64(entry.event.least);
  writer.F64(entry.event.pure_epsilon);
  writer.U64(entry.count);
}
void WriteFields(const LedgerRefusal& refusal, base::ByteWriter& writer) {
  WriteAttempt(refusal, writer);
}
void WriteFields(const LedgerPolicy& policy, base::ByteWriter& writer) {
  writer.Raw(policy.digest);
  writer.U64(policy.serial);
}

absl::Status ReadFields(base::ByteReader& reader, LedgerEntry& entry) {
  TACET_RETURN_IF_ERROR(ReadAttempt(reader, entry));
  TACET_ASSIGN_OR_RETURN(const uint8_t rule, reader.ReadU8("rule"));
  if (rule != 1 && rule != 2) {
    return base::DataLoss("field `rule` has the unknown value {}", rule);
  }
  entry.rule = static_cast<ChargingRule>(rule);
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
  TACET_ASSIGN_OR_RETURN(entry.event.pure_epsilon, reader.ReadF64("pure epsilon"));
  TACET_ASSIGN_OR_RETURN(entry.count, reader.ReadU64("count"));
  return absl::OkStatus();
}
absl::Status ReadFields(base::ByteReader& reader, LedgerRefusal& refusal) {
  return ReadAttempt(reader, refusal);
}
absl::Status ReadFields(base::ByteReader& reader, LedgerPolicy& policy) {
  TACET_ASSIGN_OR_RETURN(policy.digest, ReadDigest(reader, "policy digest"));
  TACET_ASSIGN_OR_RETURN(policy.serial, reader.ReadU64("serial"));
  return absl::OkStatus();
}

template <typename Record>
absl::StatusOr<LedgerRecord> ReadRecord(base::ByteReader& reader, uint64_t time) {
  Record record;
  record.time = time;
  TACET_RETURN_IF_ERROR(ReadFields(reader, record));
  TACET_RETURN_IF_ERROR(ExpectZeros(reader));
  return LedgerRecord(std::move(record));
}

uint8_t KindNumber(const LedgerRecord& record) {
  if (const auto* entry = std::get_if<LedgerEntry>(&record)) {
    return static_cast<uint8_t>(entry->kind);
  }
  return std::holds_alternative<LedgerRefusal>(record) ? kRefusalKind : kPolicyKind;
}

crypto::Digest Chain(const crypto::Digest& previous, std::span<const uint8_t> body) {
  crypto::Sha256Hasher hasher;
  hasher.Update(previous);
  hasher.Update(body);
  return hasher.Finish();
}

}  // namespace

std::string_view ChargingRuleName(ChargingRule rule) {
  return rule == ChargingRule::kAnnouncedAttempts ? "announced-attempts" : "own-seals";
}

absl::StatusOr<ChargingRule> ParseChargingRule(std::string_view name) {
  for (const ChargingRule rule : {ChargingRule::kAnnouncedAttempts, ChargingRule::kOwnSeals}) {
    if (name == ChargingRuleName(rule)) return rule;
  }
  return base::InvalidArgument(
      "unknown charging rule \"{}\": expected announced-attempts or own-seals", name);
}

bool operator==(const LedgerHeader& a, const LedgerHeader& b) {
  return HeaderBody(a) == HeaderBody(b);
}

bool operator==(const LedgerEntry& a, const LedgerEntry& b) {
  return a.federation == b.federation && a.label == b.label && a.member == b.member &&
         a.kind == b.kind && a.rule == b.rule && accounting::SameEvent(a.event, b.event) &&
         a.count == b.count && a.time == b.time;
}

absl::Status CheckPopulation(std::string_view name) {
  constexpr size_t kMaxBytes = 64;
  const auto is_allowed = [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '-';
  };
  if (!name.empty() && name.size() <= kMaxBytes && std::ranges::all_of(name, is_allowed)) {
    return absl::OkStatus();
  }
  return base::InvalidArgument(
      "the name of a population must be 1 to {} lower-case letters, digits and hyphens", kMaxBytes);
}

absl::Status CheckLedgerHeader(const LedgerHeader& header) {
  if (header.population.empty() || header.population.size() > kMaxNameBytes ||
      !IsPrintable(header.population)) {
    return base::InvalidArgument(
        "the name of the population must be 1 to {} printable ASCII characters", kMaxNameBytes);
  }
  return accounting::CheckSpendingTerms(header.spending);
}

uint64_t TimeOf(const LedgerRecord& record) {
  return std::visit([](const auto& fields) { return fields.time; }, record);
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
  if (amplified && entry.rule == ChargingRule::kOwnSeals && header.unit == Unit::kClient) {
    return base::FailedPrecondition(
        "the charge is amplified by {} sampling, but own seals are charged without sampling: own "
        "attempts at the amplified rate would be too little",
        accounting::SamplingName(entry.event.sampling));
  }
  if (!amplified && entry.rule == ChargingRule::kAnnouncedAttempts) {
    return base::FailedPrecondition(
        "the charge is without sampling, but announced attempts are charged at the rate they were "
        "sampled with");
  }
  if (entry.rule == ChargingRule::kOwnSeals && entry.kind == ChargeKind::kCatchingUp) {
    return base::FailedPrecondition("with own seals there are no attempts to catch up on");
  }
  return absl::OkStatus();
}

base::Bytes WriteLedgerHeader(const LedgerHeader& header) {
  base::ByteWriter writer;
  writer.Raw(HeaderBody(header));
  writer.Raw(crypto::Sha256(writer.bytes()));
  return writer.Take();
}

crypto::Digest LedgerGenesis(const LedgerHeader& header) {
  return crypto::Sha256(HeaderBody(header));
}

absl::StatusOr<LedgerHeader> ReadLedgerHeader(std::span<const uint8_t> bytes) {
  base::ByteReader reader(bytes, "header of the ledger");
  TACET_ASSIGN_OR_RETURN(const auto body,
                         reader.ReadBytes(kLedgerHeaderBytes - kDigestBytes, "body"));
  base::ByteReader fields(body, "header of the ledger");
  TACET_ASSIGN_OR_RETURN(LedgerHeader header, ReadHeaderFields(fields));
  TACET_RETURN_IF_ERROR(reader.Expect(crypto::Sha256(body), "hash"));
  return header;
}

base::Bytes WriteLedgerRecord(const LedgerRecord& record, const crypto::Digest& previous) {
  base::ByteWriter writer;
  writer.Reserve(kLedgerRecordBytes);
  writer.U8(KindNumber(record));
  writer.U64(TimeOf(record));
  std::visit([&](const auto& fields) { WriteFields(fields, writer); }, record);
  base::Bytes bytes = Padded(std::move(writer), kBodyBytes);
  const crypto::Digest hash = Chain(previous, bytes);
  bytes.insert(bytes.end(), hash.begin(), hash.end());
  return bytes;
}

crypto::Digest RecordHash(std::span<const uint8_t> record) {
  return DigestOf(record.last(kDigestBytes));
}

absl::Status CheckRecordHash(std::span<const uint8_t> record, const crypto::Digest& previous) {
  if (Chain(previous, record.first(kBodyBytes)) == RecordHash(record)) return absl::OkStatus();
  return base::DataLoss("does not continue the chain: it, or what stood before it, was altered");
}

absl::StatusOr<LedgerRecord> ReadLedgerRecord(std::span<const uint8_t> record,
                                              const LedgerHeader& header) {
  base::ByteReader reader(record.first(kBodyBytes), "record");
  TACET_ASSIGN_OR_RETURN(const uint8_t kind, reader.ReadU8("kind"));
  TACET_ASSIGN_OR_RETURN(const uint64_t time, reader.ReadU64("time"));
  switch (kind) {
    case static_cast<uint8_t>(ChargeKind::kSealing):
    case static_cast<uint8_t>(ChargeKind::kCatchingUp): {
      TACET_ASSIGN_OR_RETURN(LedgerRecord charge, ReadRecord<LedgerEntry>(reader, time));
      auto& entry = std::get<LedgerEntry>(charge);
      entry.kind = static_cast<ChargeKind>(kind);
      TACET_RETURN_IF_ERROR(CheckLedgerEntry(entry, header));
      return charge;
    }
    case kRefusalKind:
      return ReadRecord<LedgerRefusal>(reader, time);
    case kPolicyKind:
      return ReadRecord<LedgerPolicy>(reader, time);
    default:
      return base::DataLoss("field `kind` has the unknown value {}", kind);
  }
}

}  // namespace tacet::ledger
