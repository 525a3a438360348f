#include "tacet/ledger/privacy_ledger.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "tacet/base/status.h"

namespace tacet::ledger {
namespace {

ChargeLabel LabelOf(const AttemptCost& cost, const secagg::AttemptNumber& number) {
  return {.manifest_hash = cost.manifest_hash, .number = number};
}

LedgerEntry EntryOf(const AttemptCost& cost, const secagg::AttemptNumber& number, ChargeKind kind) {
  return {.federation = cost.federation,
          .label = LabelOf(cost, number),
          .member = cost.member,
          .kind = kind,
          .rule = cost.rule,
          .event = cost.event};
}

absl::Status CheckNumber(const AttemptCost& cost, const secagg::AttemptNumber& number) {
  if (number.round < cost.rounds && number.attempt <= cost.spare_attempts) {
    return absl::OkStatus();
  }
  return base::InvalidArgument(
      "round {} attempt {} was announced, the agreement has {} rounds and {} spare attempts",
      number.round, number.attempt, cost.rounds, cost.spare_attempts);
}

// A training is charged for so many attempts at most, under all its manifests together.
uint64_t AttemptBudget(const AttemptCost& cost) {
  return uint64_t{cost.rounds} + cost.spare_attempts;
}

absl::Status CheckNumbers(const AttemptCost& cost, std::span<const secagg::AttemptNumber> numbers) {
  for (const secagg::AttemptNumber& number : numbers) {
    TACET_RETURN_IF_ERROR(CheckNumber(cost, number));
  }
  return absl::OkStatus();
}

std::string NameOf(const secagg::AttemptNumber& number) {
  return fmt::format("round {} attempt {} of epoch {}", number.round, number.attempt, number.epoch);
}

}  // namespace

absl::StatusOr<std::unique_ptr<PrivacyLedger>> PrivacyLedger::Create(
    OpenedLedger opened, base::UnixClock clock, std::optional<YearlyBudget> year) {
  RecoveredLedger& found = opened.found;
  TACET_RETURN_IF_ERROR(CheckLedgerHeader(found.header));
  TACET_ASSIGN_OR_RETURN(accounting::PrivacyFilter spending,
                         accounting::PrivacyFilter::Create(found.header.spending));
  auto ledger = std::unique_ptr<PrivacyLedger>(new PrivacyLedger(
      found.header, std::move(opened.store), std::move(spending), std::move(clock)));
  if (year.has_value()) {
    TACET_ASSIGN_OR_RETURN(
        accounting::PrivacyFilter of_year,
        accounting::PrivacyFilter::Create({.budget_epsilon = year->epsilon,
                                           .delta = year->delta,
                                           .composition = found.header.spending.composition}));
    ledger->year_ = Year{.budget = *std::move(year), .spending = std::move(of_year)};
  }
  const auto remember = [&](const auto& records) {
    for (const auto& record : records) TACET_RETURN_IF_ERROR(ledger->Remember(record));
    return absl::OkStatus();
  };
  TACET_RETURN_IF_ERROR(remember(found.entries));
  TACET_RETURN_IF_ERROR(remember(found.refusals));
  TACET_RETURN_IF_ERROR(remember(found.policies));
  return ledger;
}

PrivacyLedger::PrivacyLedger(LedgerHeader header, std::unique_ptr<LedgerStore> store,
                             accounting::PrivacyFilter spending, base::UnixClock clock)
    : header_(std::move(header)),
      store_(std::move(store)),
      clock_(std::move(clock)),
      spending_(std::move(spending)) {}

// Records of the ledger.

absl::Status PrivacyLedger::Remember(const LedgerRecord& record) {
  return std::visit([this](const auto& fields) { return Remember(fields); }, record);
}

absl::Status PrivacyLedger::Remember(const LedgerEntry& entry) {
  if (Knows(entry.label)) {
    return base::DataLoss("the ledger charges {} twice", NameOf(entry.label.number));
  }
  TACET_RETURN_IF_ERROR(spending_.Add(entry.event, entry.count));
  if (year_.has_value()) TACET_RETURN_IF_ERROR(year_->spending.Add(entry.event, entry.count));
  by_label_.emplace(entry.label, entries_.size());
  entries_.push_back(entry);
  KnownEpoch& epoch = See(entry);
  epoch.charges += entry.count;
  if (!epoch.rule.has_value()) epoch.rule = entry.rule;
  return absl::OkStatus();
}

absl::Status PrivacyLedger::Remember(const LedgerRefusal& refusal) {
  if (Knows(refusal.label)) {
    return base::DataLoss("the ledger refuses {}, which it knows", NameOf(refusal.label.number));
  }
  refused_.insert(refusal.label);
  refusals_.push_back(refusal);
  See(refusal);
  return absl::OkStatus();
}

absl::Status PrivacyLedger::Remember(const LedgerPolicy& policy) {
  policy_ = policy;
  return absl::OkStatus();
}

template <typename Record>
PrivacyLedger::KnownEpoch& PrivacyLedger::See(const Record& record) {
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

PrivacyLedger::KnownEpochs PrivacyLedger::EpochsOf(const crypto::Digest& federation,
                                                   uint32_t training) const {
  const auto known = epochs_.find(federation);
  if (known == epochs_.end()) return {};
  return {known->second.lower_bound(training), known->second.end()};
}

uint64_t PrivacyLedger::ChargesOf(const crypto::Digest& federation, uint32_t training) const {
  uint64_t charges = 0;
  for (const auto& [number, epoch] : EpochsOf(federation, training)) charges += epoch.charges;
  return charges;
}

// Turns.

absl::Status PrivacyLedger::CheckUsable() const {
  if (failure_.ok()) return absl::OkStatus();
  return base::FailedPrecondition(
      "the ledger failed before and charges nothing more until it is opened again: {}",
      base::Message(failure_));
}

absl::Status PrivacyLedger::InTurn(const std::function<absl::Status()>& act) {
  TACET_RETURN_IF_ERROR(CheckUsable());
  const absl::StatusOr<std::vector<LedgerRecord>> others = store_->BeginTurn();
  if (!others.ok()) return Failed(others.status());
  const LedgerTurn turn(*store_);
  for (const LedgerRecord& record : *others) {
    if (failure_ = Remember(record); !failure_.ok()) return failure_;
  }
  return act();
}

absl::Status PrivacyLedger::Failed(const absl::Status& status) {
  if (status.code() != absl::StatusCode::kUnavailable) failure_ = status;
  return status;
}

uint64_t PrivacyLedger::Now() const { return std::max(clock_(), store_->known().last_time); }

absl::Status PrivacyLedger::LeaveOldYears() {
  if (!year_.has_value()) return absl::OkStatus();
  const uint64_t now = Now();
  for (size_t& first = year_->begins; first < entries_.size(); ++first) {
    const LedgerEntry& entry = entries_[first];
    if (now - entry.time < kSecondsAYear) break;
    TACET_RETURN_IF_ERROR(year_->spending.Remove(entry.event, entry.count));
  }
  return absl::OkStatus();
}

absl::Status PrivacyLedger::Append(LedgerRecord record) {
  const uint64_t now = Now();
  std::visit([now](auto& fields) { fields.time = now; }, record);
  const LedgerAnchor& end = store_->known().end;
  const base::Bytes bytes = WriteLedgerRecord(record, end.head);
  const KnownEnd after{.end = {.population = end.population,
                               .genesis = end.genesis,
                               .count = end.count + 1,
                               .head = RecordHash(bytes)},
                       .last_time = now};
  if (const absl::Status appended = store_->Append(bytes, after); !appended.ok()) {
    return Failed(appended);
  }
  return Remember(record);
}

// Charges.

absl::Status PrivacyLedger::CheckEpoch(const AttemptCost& cost, uint32_t epoch) const {
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

absl::Status PrivacyLedger::CheckMember(const AttemptCost& cost) const {
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

absl::Status PrivacyLedger::CheckCharge(const AttemptCost& cost, const LedgerEntry& entry) const {
  TACET_RETURN_IF_ERROR(CheckLedgerEntry(entry, header_));
  TACET_RETURN_IF_ERROR(CheckEpoch(cost, entry.label.number.epoch));
  TACET_RETURN_IF_ERROR(CheckMember(cost));
  for (const auto& [number, epoch] : EpochsOf(cost.federation, cost.training)) {
    if (!epoch.rule.has_value() || *epoch.rule == cost.rule) continue;
    return base::FailedPrecondition(
        "this training was charged by {} in the ledger of the population \"{}\": it cannot go on "
        "by "
        "{}, rules are never mixed",
        ChargingRuleName(*epoch.rule), header_.population, ChargingRuleName(cost.rule));
  }
  return absl::OkStatus();
}

std::optional<absl::Status> PrivacyLedger::Earlier(const LedgerEntry& entry) const {
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
    return base::FailedPrecondition(
        "{} was charged before at another cost (noise {}, clip norm {}, rate {}; now noise {}, "
        "clip norm {}, rate {})",
        NameOf(number), charged.event.noise_stddev, charged.event.clip_norm,
        charged.event.sampling_rate, entry.event.noise_stddev, entry.event.clip_norm,
        entry.event.sampling_rate);
  }
  if (charged.kind == ChargeKind::kSealing) return absl::OkStatus();
  return base::FailedPrecondition(
      "{} was charged as an attempt without this owner's update: the owner cannot seal an update "
      "for it",
      NameOf(number));
}

absl::Status PrivacyLedger::ChargeForSealing(const AttemptCost& cost,
                                             const secagg::AttemptNumber& now,
                                             std::span<const secagg::AttemptNumber> announced) {
  TACET_RETURN_IF_ERROR(CheckUsable());
  TACET_RETURN_IF_ERROR(CheckNumber(cost, now));
  TACET_RETURN_IF_ERROR(CheckNumbers(cost, announced));
  return InTurn(
      [&] { return ChargeInTurn(cost, EntryOf(cost, now, ChargeKind::kSealing), announced); });
}

absl::Status PrivacyLedger::ChargeInTurn(const AttemptCost& cost, const LedgerEntry& entry,
                                         std::span<const secagg::AttemptNumber> announced) {
  const secagg::AttemptNumber& now = entry.label.number;
  TACET_RETURN_IF_ERROR(CheckCharge(cost, entry));
  if (const std::optional<absl::Status> earlier = Earlier(entry)) return *earlier;
  // What this ledger can never take is refused before anything is written.
  const bool hopeless = (header_.spending.budget_epsilon > 0 || year_.has_value()) &&
                        accounting::GuaranteesNothing(cost.event);
  if (hopeless) {
    TACET_RETURN_IF_ERROR(CheckRoom(cost));
  } else {
    TACET_RETURN_IF_ERROR(spending_.CheckRoomFor(cost.event, 0));
  }
  if (cost.rule == ChargingRule::kAnnouncedAttempts) {
    TACET_RETURN_IF_ERROR(CatchUp(cost, now, announced));
  }
  const uint64_t charged = ChargesOf(cost.federation, cost.training);
  if (charged >= AttemptBudget(cost)) {
    return base::InvalidArgument(
        "{} was announced, and {} attempts of this training were charged: the agreement permits {} "
        "({} rounds and {} spare attempts)",
        NameOf(now), charged, AttemptBudget(cost), cost.rounds, cost.spare_attempts);
  }
  const absl::Status room = CheckRoom(cost);
  if (room.ok()) {
    return base::Annotate(Append(entry), fmt::format("{} could not be charged", NameOf(now)));
  }
  if (room.code() == absl::StatusCode::kResourceExhausted) {
    TACET_RETURN_IF_ERROR(Append(LedgerRefusal{
        .federation = entry.federation, .label = entry.label, .member = entry.member}));
  }
  return base::Annotate(room,
                        fmt::format("the privacy budget of the population \"{}\" refuses round {} "
                                    "attempt {}",
                                    header_.population, now.round, now.attempt));
}

absl::Status PrivacyLedger::CheckRoom(const AttemptCost& cost) {
  TACET_RETURN_IF_ERROR(spending_.CheckRoomFor(cost.event, 1));
  if (year_.has_value()) {
    TACET_RETURN_IF_ERROR(LeaveOldYears());
    TACET_RETURN_IF_ERROR(
        base::Annotate(year_->spending.CheckRoomFor(cost.event, 1), year_->budget.source));
  }
  if (!cost.budget.has_value()) return absl::OkStatus();
  const std::pair training(cost.federation, cost.training);
  auto own = trainings_.find(training);
  if (own == trainings_.end()) {
    TACET_ASSIGN_OR_RETURN(accounting::PrivacyFilter filter,
                           accounting::PrivacyFilter::Create(cost.budget->terms));
    own = trainings_.emplace(training, OwnBudget{.spending = std::move(filter)}).first;
  }
  accounting::PrivacyFilter& filter = own->second.spending;
  for (size_t& next = own->second.counted; next < entries_.size(); ++next) {
    const LedgerEntry& entry = entries_[next];
    if (!IsOfTraining(entry, cost.federation, cost.training)) continue;
    TACET_RETURN_IF_ERROR(
        filter.Add(cost.BudgetEventUnder(entry.label.manifest_hash), entry.count));
  }
  return base::Annotate(filter.CheckRoomFor(cost.budget->event, 1),
                        "the training's own budget (privacy.budget_epsilon of its agreement)");
}

absl::Status PrivacyLedger::ChargeAnnounced(const AttemptCost& cost,
                                            std::span<const secagg::AttemptNumber> announced) {
  TACET_RETURN_IF_ERROR(CheckUsable());
  TACET_RETURN_IF_ERROR(CheckNumbers(cost, announced));
  if (cost.rule != ChargingRule::kAnnouncedAttempts || announced.empty()) {
    return absl::OkStatus();
  }
  const LedgerEntry entry =
      EntryOf(cost, *std::ranges::max_element(announced), ChargeKind::kCatchingUp);
  const auto is_known = [&](const secagg::AttemptNumber& number) {
    return Knows(LabelOf(cost, number));
  };
  TACET_RETURN_IF_ERROR(CheckCharge(cost, entry));
  if (std::ranges::all_of(announced, is_known)) return absl::OkStatus();
  return InTurn([&]() -> absl::Status {
    TACET_RETURN_IF_ERROR(CheckCharge(cost, entry));
    TACET_RETURN_IF_ERROR(spending_.CheckRoomFor(cost.event, 0));  // the same kind of event
    TACET_RETURN_IF_ERROR(CatchUp(cost, entry.label.number, announced));
    return Knows(entry.label) ? absl::OkStatus() : Append(entry);
  });
}

absl::Status PrivacyLedger::CatchUp(const AttemptCost& cost, const secagg::AttemptNumber& now,
                                    std::span<const secagg::AttemptNumber> announced) {
  std::vector<secagg::AttemptNumber> order(announced.begin(), announced.end());
  std::ranges::sort(order);
  const auto charge = [&](const secagg::AttemptNumber& number) {
    if (number == now || Knows(LabelOf(cost, number))) return absl::OkStatus();
    return base::Annotate(Append(EntryOf(cost, number, ChargeKind::kCatchingUp)),
                          fmt::format("{} could not be charged", NameOf(number)));
  };
  // The end of an earlier epoch of this training, when this owner was away.
  const KnownEpochs known = EpochsOf(cost.federation, cost.training);
  if (!known.empty() && !last_.contains(cost.manifest_hash)) {
    uint32_t last_round = 0;
    for (const auto& [number, epoch] : known) last_round = std::max(last_round, epoch.last_round);
    const uint32_t begins =
        std::min(order.empty() ? cost.first_round : order.front().round, now.round);
    for (uint32_t round = last_round + 1; round < begins; ++round) {
      TACET_RETURN_IF_ERROR(charge({.epoch = now.epoch, .round = round, .attempt = 0}));
    }
  }
  for (const secagg::AttemptNumber& number : order) TACET_RETURN_IF_ERROR(charge(number));
  // What must have been there between the last known attempt of this manifest and this one.
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

// Policy.

absl::Status PrivacyLedger::AdoptPolicy(const crypto::Digest& digest, uint64_t serial) {
  return InTurn([&]() -> absl::Status {
    if (policy_.has_value() && policy_->serial == serial && policy_->digest == digest) {
      return absl::OkStatus();
    }
    if (policy_.has_value() && policy_->serial >= serial) {
      return base::FailedPrecondition(
          "the site's policy has serial number {}, but the population \"{}\" was charged under "
          "number {}: put the later policy back, or have the officer sign this one with a larger "
          "number",
          serial, header_.population, policy_->serial);
    }
    return Append(LedgerPolicy{.digest = digest, .serial = serial});
  });
}

}  // namespace tacet::ledger
