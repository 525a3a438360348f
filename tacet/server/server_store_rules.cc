#include "tacet/server/server_store_rules.h"

#include <algorithm>

#include "tacet/base/status.h"

namespace tacet::server {
namespace {

absl::Status CheckIsLast(const AttemptRecord& record, const std::optional<AttemptRecord>& last) {
  if (last.has_value() && last->attempt == record.attempt) return absl::OkStatus();
  return base::FailedPrecondition(
      "attempt {} at round {} is not the last that was begun{}", record.attempt.number.attempt,
      record.attempt.number.round,
      last.has_value() ? fmt::format(", which is {} at round {}", last->attempt.number.attempt,
                                     last->attempt.number.round)
                       : ": there is none");
}

absl::Status CheckIsOpen(protocol::AttemptPhase phase) {
  if (!HasEnded(phase)) return absl::OkStatus();
  return base::InvalidArgument("an attempt is {} by Finish only",
                               protocol::AttemptPhaseName(phase));
}

}  // namespace

absl::Status DamagedStore(std::string_view what) {
  return base::DataLoss("the server's database is damaged: it holds {}. {}", what,
                        kOtherStoreRemedy);
}

absl::StatusOr<protocol::AttemptPhase> AttemptPhaseFrom(int64_t number) {
  if (number < int64_t{static_cast<uint8_t>(protocol::AttemptPhase::kCollecting)} ||
      number > int64_t{static_cast<uint8_t>(protocol::AttemptPhase::kFailed)}) {
    return DamagedStore(fmt::format("an attempt in the unknown phase {}", number));
  }
  return static_cast<protocol::AttemptPhase>(number);
}

absl::StatusOr<ItemKind> ItemKindFrom(int64_t number) {
  const auto within = [number](ItemKind first, ItemKind last) {
    return number >= int64_t{static_cast<uint8_t>(first)} &&
           number <= int64_t{static_cast<uint8_t>(last)};
  };
  if (!within(ItemKind::kAccepted, ItemKind::kKeyPacket) &&
      !within(ItemKind::kAbstention, ItemKind::kAbstained) &&
      !within(ItemKind::kOperator, ItemKind::kOperator)) {
    return DamagedStore(fmt::format("an item of the unknown kind {}", number));
  }
  return static_cast<ItemKind>(number);
}

absl::StatusOr<crypto::Digest> DigestFrom(std::span<const uint8_t> bytes) {
  crypto::Digest digest{};
  if (bytes.size() != digest.size()) {
    return DamagedStore(fmt::format("a digest of {} bytes", bytes.size()));
  }
  std::ranges::copy(bytes, digest.begin());
  return digest;
}

base::Bytes CohortBytes(std::span<const uint64_t> cohort) {
  base::ByteWriter writer;
  writer.Reserve(8 * cohort.size());
  for (const uint64_t member : cohort) writer.U64(member);
  return writer.Take();
}

absl::StatusOr<std::vector<uint64_t>> CohortFrom(std::span<const uint8_t> bytes) {
  if (bytes.size() % 8 != 0) {
    return DamagedStore(fmt::format("a cohort of {} bytes", bytes.size()));
  }
  std::vector<uint64_t> cohort(bytes.size() / 8);
  for (size_t i = 0; i < cohort.size(); ++i) cohort[i] = base::LoadU64(bytes.data() + 8 * i);
  return cohort;
}

absl::Status CheckBegin(const AttemptRecord& record, const std::optional<AttemptRecord>& last,
                        bool begun_before) {
  TACET_RETURN_IF_ERROR(CheckIsOpen(record.phase));
  if (begun_before) {
    return base::AlreadyExists("attempt {} at round {} in epoch {} was begun before",
                               record.attempt.number.attempt, record.attempt.number.round,
                               record.attempt.number.epoch);
  }
  if (last.has_value() && !HasEnded(last->phase)) {
    return base::FailedPrecondition(
        "attempt {} at round {} cannot begin: attempt {} at round {} has not ended",
        record.attempt.number.attempt, record.attempt.number.round, last->attempt.number.attempt,
        last->attempt.number.round);
  }
  return absl::OkStatus();
}

absl::Status CheckUpdate(const AttemptRecord& record, const std::optional<AttemptRecord>& last) {
  TACET_RETURN_IF_ERROR(CheckIsOpen(record.phase));
  TACET_RETURN_IF_ERROR(CheckIsLast(record, last));
  if (!HasEnded(last->phase)) return absl::OkStatus();
  return base::FailedPrecondition("attempt {} at round {} has ended: it is {}",
                                  record.attempt.number.attempt, record.attempt.number.round,
                                  protocol::AttemptPhaseName(last->phase));
}

absl::Status CheckFinish(const AttemptRecord& record, const std::optional<AttemptRecord>& last) {
  if (!HasEnded(record.phase)) {
    return base::InvalidArgument("an attempt that is {} has not ended",
                                 protocol::AttemptPhaseName(record.phase));
  }
  TACET_RETURN_IF_ERROR(CheckIsLast(record, last));
  if (!HasEnded(last->phase) || *last == record) return absl::OkStatus();
  return base::FailedPrecondition("attempt {} at round {} has ended otherwise: it is {}",
                                  record.attempt.number.attempt, record.attempt.number.round,
                                  protocol::AttemptPhaseName(last->phase));
}

absl::Status CheckOwner(const crypto::Digest& owner, const crypto::Digest& federation) {
  if (owner == federation) return absl::OkStatus();
  const auto name = [](const crypto::Digest& digest) { return base::ToHex(digest).substr(0, 12); };
  return base::FailedPrecondition(
      "the store holds the federation {}, not {}: every federation needs a "
      "store of its own",
      name(owner), name(federation));
}

absl::Status CheckSameItem(const Item& item, std::span<const uint8_t> kept) {
  if (std::ranges::equal(item.bytes, kept)) return absl::OkStatus();
  return base::AlreadyExists("another item of kind {} was put here before",
                             static_cast<int>(item.kind));
}

base::Bytes BlobKeyBytes(const BlobKey& key) {
  base::ByteWriter writer;
  writer.U8(static_cast<uint8_t>(key.name.kind));
  secagg::WriteAttempt(key.name.attempt, writer);
  writer.U64(key.member);
  return writer.Take();
}

}  // namespace tacet::server
