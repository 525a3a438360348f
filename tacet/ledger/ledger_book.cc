#include "tacet/ledger/ledger_book.h"

#include <algorithm>
#include <variant>

#include "tacet/base/status.h"

namespace tacet::ledger {

std::string NameOf(const secagg::AttemptNumber& number) {
  return fmt::format("round {} attempt {} of epoch {}", number.round, number.attempt, number.epoch);
}

bool LedgerBook::HoldsForSealing(const ChargeLabel& label) const {
  const auto charged = by_label_.find(label);
  return charged != by_label_.end() && entries_[charged->second].kind == ChargeKind::kSealing;
}

// Records.

absl::Status LedgerBook::CheckRecord(const LedgerRecord& record) const {
  if (const auto* entry = std::get_if<LedgerEntry>(&record); entry && Knows(entry->label)) {
    return base::DataLoss("the ledger charges {} twice", NameOf(entry->label.number));
  }
  if (const auto* refusal = std::get_if<LedgerRefusal>(&record); refusal && Knows(refusal->label)) {
    return base::DataLoss("the ledger refuses {}, which it knows", NameOf(refusal->label.number));
  }
  return absl::OkStatus();
}

void LedgerBook::Add(const LedgerRecord& record) {
  if (const auto* entry = std::get_if<LedgerEntry>(&record)) {
    by_label_.emplace(entry->label, entries_.size());
    entries_.push_back(*entry);
    KnownEpoch& epoch = See(*entry);
    epoch.charges += entry->count;
    if (!epoch.rule.has_value()) epoch.rule = entry->rule;
  } else if (const auto* refusal = std::get_if<LedgerRefusal>(&record)) {
    refused_.insert(refusal->label);
    refusals_.push_back(*refusal);
    See(*refusal);
  } else {
    policy_ = std::get<LedgerPolicy>(record);
  }
}

template <typename Record>
LedgerBook::KnownEpoch& LedgerBook::See(const Record& record) {
  const ChargeLabel& label = record.label;
  const auto [last, is_first] = last_.emplace(label.manifest_hash, label.number);
  if (!is_first) last->second = std::max(last->second, label.number);
  const auto [epoch, is_new] = epochs_[record.federation].try_emplace(label.number.epoch);
  if (is_new) {
    epoch->second.manifest_hash = label.manifest_hash;
    epoch->second.member = record.member;
  }
  epoch->second.last_round = std::max(epoch->second.last_round, label.number.round);
  return epoch->second;
}

LedgerBook::KnownEpochs LedgerBook::EpochsOf(const crypto::Digest& federation,
                                             uint32_t training) const {
  const auto known = epochs_.find(federation);
  if (known == epochs_.end()) return {};
  return {known->second.lower_bound(training), known->second.end()};
}

uint64_t LedgerBook::ChargesOf(const crypto::Digest& federation, uint32_t training) const {
  uint64_t charges = 0;
  for (const auto& [number, epoch] : EpochsOf(federation, training)) charges += epoch.charges;
  return charges;
}

// Charges.

absl::Status LedgerBook::CheckEpoch(const AttemptCost& cost, uint32_t epoch) const {
  const auto known = epochs_.find(cost.federation);
  if (known == epochs_.end()) return absl::OkStatus();
  const auto& [last, charged] = *known->second.rbegin();
  if (epoch < last) {
    return base::FailedPrecondition(
        "the ledger of the population \"{}\" was charged in epoch {} of this federation, so epoch "
        "{} has ended: join the latest epoch with its invitation",
        header_.population, last, epoch);
  }
  if (epoch > last || cost.manifest_hash == charged.manifest_hash) return absl::OkStatus();
  return base::FailedPrecondition(
      "the ledger of the population \"{}\" was charged in epoch {} under the manifest {}, not "
      "{}: two manifests were signed for this epoch. Ask the coordinating member",
      header_.population, epoch, base::ToHex(charged.manifest_hash).substr(0, 16),
      base::ToHex(cost.manifest_hash).substr(0, 16));
}

absl::Status LedgerBook::CheckMember(const AttemptCost& cost) const {
  for (const auto& [number, epoch] : EpochsOf(cost.federation, cost.training)) {
    if (epoch.manifest_hash != cost.manifest_hash || epoch.member == cost.member) continue;
    return base::FailedPrecondition(
        "the ledger of the population \"{}\" is charged for member {} of this federation, and this "
        "is member {}: one charge would stand for both. Two sites have a ledger folder each "
        "(--ledger); where they hold other people of one site, its officer's policy says so "
        "(ledger.population)",
        header_.population, epoch.member, cost.member);
  }
  return absl::OkStatus();
}

absl::Status LedgerBook::CheckCharge(const AttemptCost& cost, const LedgerEntry& entry) const {
  TACET_RETURN_IF_ERROR(CheckLedgerEntry(entry, header_));
  TACET_RETURN_IF_ERROR(CheckEpoch(cost, entry.label.number.epoch));
  TACET_RETURN_IF_ERROR(CheckMember(cost));
  for (const auto& [number, epoch] : EpochsOf(cost.federation, cost.training)) {
    if (!epoch.rule.has_value() || *epoch.rule == cost.rule) continue;
    return base::FailedPrecondition(
        "this training was charged by {} in the ledger of the population \"{}\": it cannot "
        "continue "
        "by "
        "{}, rules are never mixed",
        ChargingRuleName(*epoch.rule), header_.population, ChargingRuleName(cost.rule));
  }
  return absl::OkStatus();
}

std::optional<absl::Status> LedgerBook::Earlier(const LedgerEntry& entry) const {
  const secagg::AttemptNumber& number = entry.label.number;
  if (refused_.contains(entry.label)) {
    return base::ResourceExhausted("{} was refused before: nothing is sealed for it",
                                   NameOf(number));
  }
  const auto known = by_label_.find(entry.label);
  if (known == by_label_.end()) return std::nullopt;
  const LedgerEntry& charged = entries_[known->second];
  if (!accounting::SameEvent(charged.event, entry.event) ||
      charged.federation != entry.federation) {
    return base::FailedPrecondition("{} was charged before at another cost ({}; now {})",
                                    NameOf(number), accounting::EventText(charged.event),
                                    accounting::EventText(entry.event));
  }
  if (charged.kind == ChargeKind::kSealing) return absl::OkStatus();
  return base::FailedPrecondition(
      "{} was charged as an attempt without this owner's update: the owner cannot seal an update "
      "for it",
      NameOf(number));
}

std::vector<secagg::AttemptNumber> LedgerBook::MissingBefore(
    const AttemptCost& cost, const secagg::AttemptNumber& now,
    std::span<const secagg::AttemptNumber> announced) const {
  std::vector<secagg::AttemptNumber> order(announced.begin(), announced.end());
  std::ranges::sort(order);
  const auto known_last = last_.find(cost.manifest_hash);
  std::optional<secagg::AttemptNumber> last;  // of this manifest
  if (known_last != last_.end()) last = known_last->second;
  std::vector<secagg::AttemptNumber> missing;
  std::set<secagg::AttemptNumber> added;
  const auto add = [&](const secagg::AttemptNumber& number) {
    if (number == now || Knows({.manifest_hash = cost.manifest_hash, .number = number})) return;
    if (!added.insert(number).second) return;
    missing.push_back(number);
    last = last.has_value() ? std::max(*last, number) : number;
  };
  // The end of an earlier epoch of this training, when this owner was absent.
  const KnownEpochs known = EpochsOf(cost.federation, cost.training);
  if (!known.empty() && !last.has_value()) {
    uint32_t last_round = 0;
    for (const auto& [number, epoch] : known) last_round = std::max(last_round, epoch.last_round);
    const uint32_t begins =
        std::min(order.empty() ? cost.first_round : order.front().round, now.round);
    for (uint32_t round = last_round + 1; round < begins; ++round) {
      add({.epoch = now.epoch, .round = round, .attempt = 0});
    }
  }
  for (const secagg::AttemptNumber& number : order) add(number);
  // The attempts between the last known one of this manifest and this one must have been there.
  if (last.has_value() && now < *last) return missing;
  const uint32_t from = last.has_value() ? last->round + 1 : cost.first_round;
  for (uint32_t round = from; round < now.round; ++round) {
    add({.epoch = now.epoch, .round = round, .attempt = 0});
  }
  for (uint32_t attempt = 0; attempt < now.attempt; ++attempt) {
    add({.epoch = now.epoch, .round = now.round, .attempt = attempt});
  }
  return missing;
}

}  // namespace tacet::ledger
