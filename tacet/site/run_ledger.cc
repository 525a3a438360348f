#include "tacet/site/run_ledger.h"

#include <algorithm>
#include <utility>

#include "tacet/accounting/privacy_filter.h"
#include "tacet/base/status.h"
#include "tacet/base/unix_clock.h"
#include "tacet/ledger/attempt_cost.h"
#include "tacet/storage/file/ledger_file.h"

namespace tacet::site {

using ledger::LedgerEntry;

absl::StatusOr<std::unique_ptr<RunLedger>> RunLedger::Open(
    const std::filesystem::path& path, const agreement::Manifest& manifest,
    std::span<const agreement::EpochLink> earlier, std::string_view population,
    storage::file::DiskCalls& disk) {
  absl::StatusOr<ledger::OpenedLedger> opened = storage::file::LedgerFile::Open(path, disk);
  if (opened.status().code() == absl::StatusCode::kDataLoss) {
    // It is a copy: the ledger has what was in it.
    TACET_RETURN_IF_ERROR(storage::file::DeleteCopy(path));
    opened = absl::NotFoundError(opened.status().message());
  }
  if (opened.status().code() == absl::StatusCode::kNotFound) {
    ledger::LedgerHeader header = ledger::LedgerHeaderOf(manifest.spec());
    header.spending.composition = accounting::Composition::kAnyEvents;  // members may change
    header.population = population;
    header.identity = manifest.federation();
    header.created = base::SystemUnixSeconds();
    opened = storage::file::LedgerFile::OpenOrCreate(path, header, disk);
  }
  TACET_RETURN_IF_ERROR(opened.status());
  return std::unique_ptr<RunLedger>(new RunLedger(manifest, earlier, *std::move(opened)));
}

RunLedger::RunLedger(const agreement::Manifest& manifest,
                     std::span<const agreement::EpochLink> earlier, ledger::OpenedLedger opened)
    : manifest_(manifest), earlier_(earlier), store_(std::move(opened.store)) {
  for (LedgerEntry& entry : opened.found.entries) Remember(std::move(entry));
}

void RunLedger::Remember(LedgerEntry entry) {
  labels_.insert(entry.label);
  entries_.push_back(std::move(entry));
}

absl::Status RunLedger::Update(const ledger::PrivacyLedger& ledger) {
  TACET_ASSIGN_OR_RETURN(std::vector<ledger::LedgerRecord> behind, store_->BeginTurn());
  const ledger::LedgerTurn turn(*store_);
  for (ledger::LedgerRecord& record : behind) {  // of an append that failed half-way
    if (auto* entry = std::get_if<LedgerEntry>(&record)) Remember(std::move(*entry));
  }
  std::vector<LedgerEntry> missing;
  size_t known = 0;
  const auto see = [&](const auto& record, ledger::ChargeKind kind, ledger::ChargingRule rule) {
    if (!IsOfTraining(record)) return;
    if (labels_.contains(record.label)) {
      ++known;
    } else {
      missing.push_back(
          {.federation = record.federation,
           .label = record.label,
           .member = record.member,
           .kind = kind,
           .rule = rule,
           .event = ledger::AttemptEvent(AgreedUnder(record.label.manifest_hash), rule),
           .count = 1,
           .time = record.time});
    }
  };
  // A training has one rule.
  ledger::ChargingRule rule = ledger::ChargingRule::kAnnouncedAttempts;
  for (const LedgerEntry& entry : ledger.entries()) {
    if (IsOfTraining(entry)) rule = entry.rule;
    see(entry, entry.kind, entry.rule);
  }
  if (rule == ledger::ChargingRule::kAnnouncedAttempts) {
    for (const ledger::LedgerRefusal& refusal : ledger.refusals()) {
      see(refusal, ledger::ChargeKind::kCatchingUp, rule);
    }
  }
  const size_t own = static_cast<size_t>(std::ranges::count_if(
      entries_, [this](const LedgerEntry& entry) { return IsOfTraining(entry); }));
  if (known < own) {
    return base::DataLoss(
        "the run has {} attempts of this training, the ledger of the population \"{}\" knows {} of "
        "them: it is an older one; put the last one back",
        own, ledger.header().population, known);
  }
  std::ranges::stable_sort(missing, {}, &LedgerEntry::time);
  for (LedgerEntry& entry : missing) TACET_RETURN_IF_ERROR(Append(std::move(entry)));
  return absl::OkStatus();
}

absl::StatusOr<accounting::EpsilonBounds> RunLedger::Epsilon() const {
  accounting::SpendingTerms terms = ledger::LedgerHeaderOf(manifest_.spec()).spending;
  terms.composition = accounting::Composition::kAnyEvents;
  TACET_ASSIGN_OR_RETURN(accounting::PrivacyFilter spending,
                         accounting::PrivacyFilter::Create(terms));
  for (const LedgerEntry& entry : entries_) {
    TACET_RETURN_IF_ERROR(spending.Add(entry.event, entry.count));
  }
  return spending.Epsilon();
}

absl::Status CheckHasChargesOf(const std::filesystem::path& path,
                               const ledger::PrivacyLedger& ledger) {
  const absl::StatusOr<ledger::RecoveredLedger> copy = storage::file::LedgerFile::Read(path);
  if (copy.status().code() == absl::StatusCode::kNotFound) return absl::OkStatus();
  if (copy.status().code() == absl::StatusCode::kDataLoss) return absl::OkStatus();
  TACET_RETURN_IF_ERROR(copy.status());
  std::set<ledger::ChargeLabel> known;
  for (const LedgerEntry& entry : ledger.entries()) known.insert(entry.label);
  for (const ledger::LedgerRefusal& refusal : ledger.refusals()) known.insert(refusal.label);
  const auto missing = std::ranges::count_if(
      copy->entries, [&](const LedgerEntry& entry) { return !known.contains(entry.label); });
  if (missing == 0) return absl::OkStatus();
  return base::DataLoss(
      "{} has {} attempts of which the ledger of the population \"{}\" knows {}: it is an older "
      "one; "
      "put the last one back",
      path.string(), copy->entries.size(), ledger.header().population,
      copy->entries.size() - static_cast<size_t>(missing));
}

absl::StatusOr<std::vector<agreement::ChargedTerms>> RunLedger::Terms() const {
  return ledger::TermsOfCharges(entries_,
                                [this](const crypto::Digest& hash) { return &AgreedUnder(hash); });
}

const agreement::ManifestSpec& RunLedger::AgreedUnder(const crypto::Digest& manifest_hash) const {
  const auto link = std::ranges::find(earlier_, manifest_hash, &agreement::EpochLink::hash);
  return link == earlier_.end() ? manifest_.spec() : link->agreed;
}

absl::Status RunLedger::Append(LedgerEntry entry) {
  const ledger::KnownEnd& known = store_->known();
  entry.time = std::max(entry.time, known.last_time);
  const base::Bytes record = ledger::WriteLedgerRecord(entry, known.end.head);
  TACET_RETURN_IF_ERROR(store_->Append(record, {.end = {.population = known.end.population,
                                                        .genesis = known.end.genesis,
                                                        .count = known.end.count + 1,
                                                        .head = ledger::RecordHash(record)},
                                                .last_time = entry.time}));
  Remember(std::move(entry));
  return absl::OkStatus();
}

}  // namespace tacet::site
