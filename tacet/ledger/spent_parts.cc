#include "tacet/ledger/spent_parts.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "fmt/core.h"

#include "tacet/base/bytes.h"
#include "tacet/base/status.h"

namespace tacet::ledger {
namespace {

using accounting::PrivacyFilter;

// By the bound that refuses charges. Without a budget nothing is refused: a forecast.
absl::StatusOr<double> SpentBy(const PrivacyFilter& filter) {
  if (filter.terms().composition == accounting::Composition::kAnyEvents &&
      filter.terms().budget_epsilon > 0) {
    return filter.JudgedBound().epsilon;
  }
  TACET_ASSIGN_OR_RETURN(const accounting::EpsilonBounds spent, filter.Epsilon());
  return spent.epsilon();
}

// The training or query of a charge, as far as the names say.
SpentPart PartOf(const LedgerEntry& entry, const Names& names) {
  SpentPart part{.federation = entry.federation, .first = entry.time, .last = entry.time};
  const auto federation = names.find(entry.federation);
  if (federation == names.end()) {
    part.what = fmt::format("federation {}", base::ToHex(entry.federation).substr(0, 16));
    return part;
  }
  part.what = federation->second.name;
  const auto after = federation->second.trainings.upper_bound(entry.label.number.epoch);
  if (after == federation->second.trainings.begin()) return part;
  const auto& [begins, what] = *std::prev(after);
  part.training = begins;
  part.what += ", " + what;
  return part;
}

}  // namespace

absl::StatusOr<std::vector<SpentPart>> PartsOf(std::span<const LedgerEntry> entries,
                                               const Names& names,
                                               const accounting::SpendingTerms& terms) {
  std::vector<SpentPart> parts;
  std::vector<PrivacyFilter> filters;
  for (const LedgerEntry& entry : entries) {
    SpentPart next = PartOf(entry, names);
    auto part = std::ranges::find_if(parts, [&](const SpentPart& known) {
      return known.federation == next.federation && known.training == next.training;
    });
    if (part == parts.end()) {
      TACET_ASSIGN_OR_RETURN(PrivacyFilter filter, PrivacyFilter::Create(terms));
      filters.push_back(std::move(filter));
      part = parts.insert(parts.end(), std::move(next));
    }
    part->charges += entry.count;
    part->first = std::min(part->first, entry.time);
    part->last = std::max(part->last, entry.time);
    PrivacyFilter& filter = filters[static_cast<size_t>(part - parts.begin())];
    TACET_RETURN_IF_ERROR(filter.Add(entry.event, entry.count));
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    TACET_ASSIGN_OR_RETURN(parts[i].epsilon, SpentBy(filters[i]));
  }
  return parts;
}

absl::StatusOr<YearSpent> SpentInYear(std::span<const LedgerEntry> entries,
                                      const YearlyBudget& year, accounting::Composition composition,
                                      uint64_t now) {
  TACET_ASSIGN_OR_RETURN(
      PrivacyFilter filter,
      PrivacyFilter::Create(
          {.budget_epsilon = year.epsilon, .delta = year.delta, .composition = composition}));
  YearSpent spent{.budget = year.epsilon};
  bool within = false;
  for (const LedgerEntry& entry : entries) {
    // As LedgerBudgets leaves old years: from the first charge that is not older on, all count.
    within = within || now < entry.time || now - entry.time < kSecondsAYear;
    if (!within) continue;
    if (spent.until == 0) spent.until = entry.time + kSecondsAYear;
    TACET_RETURN_IF_ERROR(filter.Add(entry.event, entry.count));
  }
  TACET_ASSIGN_OR_RETURN(spent.spent, SpentBy(filter));
  return spent;
}

}  // namespace tacet::ledger
