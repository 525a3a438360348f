#include "tacet/ledger/privacy_ledger.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "tacet/base/status.h"

namespace tacet::ledger {
namespace {

ChargeLabel LabelOf(const AttemptCost& cost, const secagg::AttemptNumber& number) {
  return {.manifest_hash = cost.manifest_hash, .number = number};
}

absl::Status CheckNumber(const AttemptCost& cost, const secagg::AttemptNumber& number) {
  if (number.round < cost.rounds && number.attempt <= cost.spare_attempts) {
    return absl::OkStatus();
  }
  return base::InvalidArgument(
      "round {} attempt {} was announced, the agreement has {} rounds and {} spare attempts",
      number.round, number.attempt, cost.rounds, cost.spare_attempts);
}

}  // namespace

accounting::SamplingEvent AttemptEvent(const agreement::ManifestSpec& agreed, ChargingRule rule) {
  accounting::SamplingEvent event = agreement::ChargedEvent(agreed);
  if (rule == ChargingRule::kOwnSeals) {
    event.sampling = accounting::Sampling::kNone;
    event.sampling_rate = 1;
  }
  return event;
}

AttemptCost AttemptCostOf(const agreement::Manifest& manifest, ChargingRule rule,
                          uint32_t first_round) {
  const agreement::ManifestSpec& agreed = manifest.spec();
  return {.federation = manifest.agreement(),
          .manifest_hash = manifest.hash(),
          .event = AttemptEvent(agreed, rule),
          .rounds = agreed.rounds,
          .spare_attempts = agreed.spare_attempts,
          .first_round = first_round};
}

LedgerHeader LedgerHeaderOf(const agreement::ManifestSpec& agreed) {
  LedgerHeader header;
  header.unit = agreed.privacy.unit;
  header.neighbouring = agreed.privacy.neighbouring;
  header.spending = {.budget_epsilon = agreed.privacy.budget_epsilon,
                     .delta = agreed.privacy.delta,
                     .composition = accounting::Composition::kOneEvent};
  return header;
}

absl::StatusOr<std::unique_ptr<PrivacyLedger>> PrivacyLedger::Create(OpenedLedger opened,
                                                                     base::UnixClock clock) {
  TACET_RETURN_IF_ERROR(CheckLedgerHeader(opened.found.header));
  TACET_ASSIGN_OR_RETURN(accounting::PrivacyFilter spending,
                         accounting::PrivacyFilter::Create(opened.found.header.spending));
  for (const LedgerEntry& entry : opened.found.entries) {
    TACET_RETURN_IF_ERROR(spending.Add(entry.event, entry.count));
  }
  return std::unique_ptr<PrivacyLedger>(
      new PrivacyLedger(std::move(opened), std::move(spending), std::move(clock)));
}

PrivacyLedger::PrivacyLedger(OpenedLedger opened, accounting::PrivacyFilter spending,
                             base::UnixClock clock)
    : header_(std::move(opened.found.header)),
      end_(opened.found.end),
      store_(std::move(opened.store)),
      spending_(std::move(spending)),
      clock_(std::move(clock)) {
  for (const LedgerEntry& entry : opened.found.entries) Remember(entry);
}

void PrivacyLedger::Remember(const LedgerEntry& entry) {
  by_label_.emplace(entry.label, entries_.size());
  entries_.push_back(entry);
  federation_charges_[entry.federation] += entry.count;
  const auto [last, is_first] = last_.emplace(entry.label.manifest_hash, entry.label.number);
  if (!is_first) last->second = std::max(last->second, entry.label.number);
}

uint64_t PrivacyLedger::ChargesOf(const crypto::Digest& federation) const {
  const auto found = federation_charges_.find(federation);
  return found == federation_charges_.end() ? 0 : found->second;
}

absl::Status PrivacyLedger::CheckUsable() const {
  if (failure_.ok()) return absl::OkStatus();
  return base::FailedPrecondition(
      "the ledger failed before and charges nothing more until it is opened again: {}",
      base::Message(failure_));
}

absl::Status PrivacyLedger::ChargeForSealing(const AttemptCost& cost,
                                             const secagg::AttemptNumber& now,
                                             std::span<const secagg::AttemptNumber> announced) {
  TACET_RETURN_IF_ERROR(CheckUsable());
  TACET_RETURN_IF_ERROR(CheckNumber(cost, now));
  for (const secagg::AttemptNumber& number : announced)
    TACET_RETURN_IF_ERROR(CheckNumber(cost, number));
  const LedgerEntry entry{
      .federation = cost.federation, .label = LabelOf(cost, now), .event = cost.event};
  TACET_RETURN_IF_ERROR(CheckLedgerEntry(entry, header_));
  const auto known = by_label_.find(entry.label);
  if (known != by_label_.end()) {
    const LedgerEntry& charged = entries_[known->second];
    if (accounting::SameEvent(charged.event, cost.event) && charged.federation == cost.federation) {
      if (charged.kind == ChargeKind::kSealing) return absl::OkStatus();
      return base::FailedPrecondition(
          "round {} attempt {} of epoch {} was charged as an attempt without this owner's update: "
          "the owner cannot seal an update for it",
          now.round, now.attempt, now.epoch);
    }
    return base::FailedPrecondition(
        "round {} attempt {} of epoch {} was charged before at another cost (noise {}, clip norm "
        "{}, rate {}; now noise {}, clip norm {}, rate {})",
        now.round, now.attempt, now.epoch, charged.event.noise_stddev, charged.event.clip_norm,
        charged.event.sampling_rate, cost.event.noise_stddev, cost.event.clip_norm,
        cost.event.sampling_rate);
  }
  // What this ledger can never take is refused before anything is written.
  const bool hopeless =
      header_.spending.budget_epsilon > 0 && accounting::GuaranteesNothing(cost.event);
  TACET_RETURN_IF_ERROR(spending_.CheckRoomFor(cost.event, hopeless ? 1 : 0));
  if (header_.rule == ChargingRule::kAnnouncedAttempts) {
    TACET_RETURN_IF_ERROR(CatchUp(cost, now, announced));
  }
  if (const absl::Status room = spending_.CheckRoomFor(cost.event, 1); !room.ok()) {
    return base::Annotate(room,
                          fmt::format("the privacy budget of \"{}\" refuses round {} attempt {}",
                                      header_.data_set, now.round, now.attempt));
  }
  return Append(cost, now, ChargeKind::kSealing);
}

absl::Status PrivacyLedger::ChargeAnnounced(const AttemptCost& cost,
                                            std::span<const secagg::AttemptNumber> announced) {
  TACET_RETURN_IF_ERROR(CheckUsable());
  for (const secagg::AttemptNumber& number : announced)
    TACET_RETURN_IF_ERROR(CheckNumber(cost, number));
  if (header_.rule != ChargingRule::kAnnouncedAttempts || announced.empty()) {
    return absl::OkStatus();
  }
  const secagg::AttemptNumber last = *std::ranges::max_element(announced);
  const LedgerEntry entry{.federation = cost.federation,
                          .label = LabelOf(cost, last),
                          .kind = ChargeKind::kCatchingUp,
                          .event = cost.event};
  TACET_RETURN_IF_ERROR(CheckLedgerEntry(entry, header_));
  TACET_RETURN_IF_ERROR(spending_.CheckRoomFor(cost.event, 0));  // the same kind of event
  TACET_RETURN_IF_ERROR(CatchUp(cost, last, announced));
  return Holds(entry.label) ? absl::OkStatus() : Append(cost, last, ChargeKind::kCatchingUp);
}

absl::Status PrivacyLedger::CatchUp(const AttemptCost& cost, const secagg::AttemptNumber& now,
                                    std::span<const secagg::AttemptNumber> announced) {
  std::vector<secagg::AttemptNumber> order(announced.begin(), announced.end());
  std::ranges::sort(order);
  const auto charge = [&](const secagg::AttemptNumber& number) {
    if (number == now || Holds(LabelOf(cost, number))) return absl::OkStatus();
    return Append(cost, number, ChargeKind::kCatchingUp);
  };
  for (const secagg::AttemptNumber& number : order) TACET_RETURN_IF_ERROR(charge(number));
  // What must have been there between the last known attempt and this one.
  const auto last = last_.find(cost.manifest_hash);
  const bool is_first = last == last_.end();
  if (!is_first && now < last->second) return absl::OkStatus();
  const secagg::AttemptNumber before = is_first ? secagg::AttemptNumber{} : last->second;
  const uint32_t from = is_first ? cost.first_round : before.round + 1;
  for (uint32_t round = from; round < now.round; ++round) {
    TACET_RETURN_IF_ERROR(charge({.epoch = now.epoch, .round = round, .attempt = 0}));
  }
  for (uint32_t attempt = 0; attempt < now.attempt; ++attempt) {
    TACET_RETURN_IF_ERROR(charge({.epoch = now.epoch, .round = now.round, .attempt = attempt}));
  }
  return absl::OkStatus();
}

absl::Status PrivacyLedger::Append(const AttemptCost& cost, const secagg::AttemptNumber& number,
                                   ChargeKind kind) {
  const LedgerEntry entry{.federation = cost.federation,
                          .label = LabelOf(cost, number),
                          .kind = kind,
                          .event = cost.event,
                          .count = 1,
                          .time = clock_()};
  const base::Bytes record = WriteLedgerRecord(entry, end_.head);
  const LedgerAnchor end{
      .genesis = end_.genesis, .count = end_.count + 1, .head = RecordHash(record)};
  if (failure_ = store_->Append(record, WriteLedgerAnchor(end)); !failure_.ok()) {
    return base::Annotate(failure_, fmt::format("round {} attempt {} could not be charged",
                                                number.round, number.attempt));
  }
  end_ = end;
  Remember(entry);
  return spending_.Add(cost.event, entry.count);
}

}  // namespace tacet::ledger
