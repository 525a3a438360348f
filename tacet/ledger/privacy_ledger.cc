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

}  // namespace

absl::StatusOr<std::unique_ptr<PrivacyLedger>> PrivacyLedger::Create(
    OpenedLedger opened, base::UnixClock clock, std::optional<YearlyBudget> year) {
  RecoveredLedger& found = opened.found;
  TACET_RETURN_IF_ERROR(CheckLedgerHeader(found.header));
  TACET_ASSIGN_OR_RETURN(LedgerBudgets budgets,
                         LedgerBudgets::Create(found.header, std::move(year)));
  auto ledger = std::unique_ptr<PrivacyLedger>(new PrivacyLedger(
      found.header, std::move(opened.store), std::move(budgets), std::move(clock)));
  const auto remember = [&](const auto& records) {
    for (const auto& record : records) TACET_RETURN_IF_ERROR(ledger->Remember(record));
    return absl::OkStatus();
  };
  TACET_RETURN_IF_ERROR(remember(found.entries));
  TACET_RETURN_IF_ERROR(remember(found.refusals));
  TACET_RETURN_IF_ERROR(remember(found.policies));
  return ledger;
}

absl::Status PrivacyLedger::Remember(const LedgerRecord& record) {
  TACET_RETURN_IF_ERROR(book_.CheckRecord(record));
  if (const auto* entry = std::get_if<LedgerEntry>(&record)) {
    TACET_RETURN_IF_ERROR(budgets_.Add(*entry));
  }
  book_.Add(record);
  return absl::OkStatus();
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
  TACET_RETURN_IF_ERROR(book_.CheckCharge(cost, entry));
  if (const std::optional<absl::Status> earlier = book_.Earlier(entry)) return *earlier;
  // A charge that this ledger can never take is refused before anything is written.
  const bool hopeless = budgets_.limits_charges() && accounting::GuaranteesNothing(cost.event);
  TACET_RETURN_IF_ERROR(hopeless
                            ? budgets_.CheckRoom(cost, book_.entries(), [this] { return Now(); })
                            : budgets_.CheckKind(cost));
  if (cost.rule == ChargingRule::kAnnouncedAttempts) {
    TACET_RETURN_IF_ERROR(CatchUp(cost, now, announced));
  }
  const uint64_t charged = book_.ChargesOf(cost.federation, cost.training);
  if (charged >= AttemptBudget(cost)) {
    return base::InvalidArgument(
        "{} was announced, and {} attempts of this training were charged: the agreement permits {} "
        "({} rounds and {} spare attempts)",
        NameOf(now), charged, AttemptBudget(cost), cost.rounds, cost.spare_attempts);
  }
  const absl::Status room = budgets_.CheckRoom(cost, book_.entries(), [this] { return Now(); });
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
                                    header().population, now.round, now.attempt));
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
    return book_.Knows(LabelOf(cost, number));
  };
  TACET_RETURN_IF_ERROR(book_.CheckCharge(cost, entry));
  if (std::ranges::all_of(announced, is_known)) return absl::OkStatus();
  return InTurn([&]() -> absl::Status {
    TACET_RETURN_IF_ERROR(book_.CheckCharge(cost, entry));
    TACET_RETURN_IF_ERROR(budgets_.CheckKind(cost));
    TACET_RETURN_IF_ERROR(CatchUp(cost, entry.label.number, announced));
    return book_.Knows(entry.label) ? absl::OkStatus() : Append(entry);
  });
}

absl::Status PrivacyLedger::CatchUp(const AttemptCost& cost, const secagg::AttemptNumber& now,
                                    std::span<const secagg::AttemptNumber> announced) {
  for (const secagg::AttemptNumber& number : book_.MissingBefore(cost, now, announced)) {
    TACET_RETURN_IF_ERROR(base::Annotate(Append(EntryOf(cost, number, ChargeKind::kCatchingUp)),
                                         fmt::format("{} could not be charged", NameOf(number))));
  }
  return absl::OkStatus();
}

// Policy.

absl::Status PrivacyLedger::AdoptPolicy(const crypto::Digest& digest, uint64_t serial) {
  return InTurn([&]() -> absl::Status {
    if (policy().has_value() && policy()->serial == serial && policy()->digest == digest) {
      return absl::OkStatus();
    }
    if (policy().has_value() && policy()->serial >= serial) {
      return base::FailedPrecondition(
          "the site's policy has serial number {}, but the population \"{}\" was charged under "
          "number {}: put the later policy back, or have the officer sign this one with a larger "
          "number",
          serial, header().population, policy()->serial);
    }
    return Append(LedgerPolicy{.digest = digest, .serial = serial});
  });
}

}  // namespace tacet::ledger
