#include "apps/tacet/ledger/ledger_command.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fmt/chrono.h"
#include "fmt/core.h"

#include "apps/tacet/ledger/ledger_words.h"
#include "tacet/accounting/guarantee_in_words.h"
#include "tacet/accounting/privacy_filter.h"
#include "tacet/base/bytes.h"
#include "tacet/base/json.h"
#include "tacet/base/status.h"
#include "tacet/base/unix_clock.h"
#include "tacet/ledger/ledger_format.h"
#include "tacet/ledger/ledger_recovery.h"
#include "tacet/storage/file/ledger_file.h"
#include "tacet/storage/file/ledger_folder.h"
#include "tacet/storage/file/ledger_place.h"

namespace tacet::app::ledger {
namespace {

using accounting::EpsilonBound;
using accounting::EpsilonBounds;
using accounting::PrivacyFilter;
using tacet::ledger::LedgerEntry;
using tacet::ledger::LedgerHeader;
using tacet::ledger::RecoveredLedger;

// Entries of one federation that are charged alike.
struct Group {
  crypto::Digest federation{};
  tacet::ledger::ChargingRule rule = tacet::ledger::ChargingRule::kAnnouncedAttempts;
  accounting::SamplingEvent event;
  uint64_t releases = 0;
  uint64_t caught_up = 0;        // of them, charged after they were missed
  uint64_t first = 0, last = 0;  // Unix seconds
};

std::vector<Group> GroupsOf(const std::vector<LedgerEntry>& entries) {
  std::vector<Group> groups;
  for (const LedgerEntry& entry : entries) {
    auto group = std::ranges::find_if(groups, [&entry](const Group& known) {
      return known.federation == entry.federation &&
             accounting::SameEvent(known.event, entry.event);
    });
    if (group == groups.end()) {
      group = groups.insert(group, {.federation = entry.federation,
                                    .rule = entry.rule,
                                    .event = entry.event,
                                    .first = entry.time,
                                    .last = entry.time});
    }
    group->releases += entry.count;
    if (entry.kind == tacet::ledger::ChargeKind::kCatchingUp) group->caught_up += entry.count;
    group->first = std::min(group->first, entry.time);
    group->last = std::max(group->last, entry.time);
  }
  return groups;
}

absl::StatusOr<PrivacyFilter> SpendingOf(const RecoveredLedger& found) {
  TACET_ASSIGN_OR_RETURN(PrivacyFilter spending, PrivacyFilter::Create(found.header.spending));
  for (const LedgerEntry& entry : found.entries) {
    TACET_RETURN_IF_ERROR(spending.Add(entry.event, entry.count));
  }
  return spending;
}

// For all federations: each has one, and a ledger may have several.
std::string_view RuleText(const std::vector<Group>& groups) {
  const tacet::ledger::ChargingRule rule =
      groups.empty() ? tacet::ledger::ChargingRule::kAnnouncedAttempts : groups.front().rule;
  const bool same = std::ranges::all_of(groups, [&](const Group& g) { return g.rule == rule; });
  return same ? tacet::ledger::ChargingRuleName(rule) : "mixed";
}

std::string EpsilonText(double epsilon) {
  return std::isfinite(epsilon) ? fmt::format("{:.4f}", epsilon) : "infinite";
}

std::string TimeText(uint64_t seconds) {
  constexpr uint64_t kYear9999 = 253402300799;
  return seconds > kYear9999
             ? fmt::format("{} s", seconds)
             : fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

// A remark about the file's end; empty when there is nothing to say.
std::string EndText(const RecoveredLedger& found) {
  if (found.end.count > found.anchored) {
    return "the last charge is not in the anchor yet: it is being made, or its process was "
           "killed; it counts as spent";
  }
  if (found.torn_bytes > 0) {
    return fmt::format(
        "{} bytes of a charge follow that is being made, or was cut short before "
        "anything was sealed for it",
        found.torn_bytes);
  }
  return "";
}

constexpr std::string_view kPathHelp = "path of the ledger; its anchor is PATH.anchor";

class LedgerVerifyCommand : public program::Command {
 public:
  std::string_view name() const override { return "verify"; }
  std::string_view summary() const override { return "hash chain and anchor of a ledger"; }

  void Register(program::Options& options) override {
    options.AddPositional("path", kPathHelp, {}, true, &path_);
    options.AddFlag("json", "print JSON", &json_);
  }

  absl::Status Run() override { return Verify(storage::file::LedgerFile::Read(path_)); }

 private:
  absl::Status Verify(const absl::StatusOr<RecoveredLedger>& found) const {
    if (!found.ok()) {
      if (json_) {
        fmt::print("{}\n", base::JsonValue::MakeObject()
                               .Set("valid", false)
                               .Set("reason", base::Message(found.status()))
                               .Dump(2));
      }
      return found.status();
    }
    const std::string head = base::ToHex(found->end.head);
    if (json_) {
      fmt::print("{}\n", base::JsonValue::MakeObject()
                             .Set("valid", true)
                             .Set("records", found->end.count)
                             .Set("anchored", found->anchored)
                             .Set("torn_bytes", found->torn_bytes)
                             .Set("head", head)
                             .Dump(2));
      return absl::OkStatus();
    }
    fmt::print("{} records, chained and anchored; head {}\n", found->end.count, head);
    if (const std::string end = EndText(*found); !end.empty()) fmt::print("note: {}\n", end);
    return absl::OkStatus();
  }

  std::string path_;
  bool json_ = false;
};

class LedgerShowCommand : public program::Command {
 public:
  std::string_view name() const override { return "show"; }
  std::string_view summary() const override {
    return "what a population has spent, by training and query, and what is left of its budget";
  }

  void Register(program::Options& options) override {
    options.AddPositional("path", kPathHelp, {}, true, &path_);
    options.AddStrings("home",
                       "folder of a site that charges this ledger, for the names of its federation "
                       "and the policy's budget; may be repeated",
                       &homes_);
    options.AddFlag("json", "print JSON", &json_);
  }

  absl::Status Run() override {
    TACET_ASSIGN_OR_RETURN(const RecoveredLedger found, storage::file::LedgerFile::Read(path_));
    return Show(found);
  }

 private:
  absl::Status Show(const RecoveredLedger& found) const {
    TACET_ASSIGN_OR_RETURN(PrivacyFilter spending, SpendingOf(found));
    TACET_ASSIGN_OR_RETURN(const EpsilonBounds spent, spending.Epsilon());
    TACET_ASSIGN_OR_RETURN(const HomesOfLedger homes, ReadHomes(homes_, found));
    TACET_ASSIGN_OR_RETURN(const LedgerInWords words,
                           InWords(found, homes, base::SystemUnixSeconds()));
    const std::vector<Group> groups = GroupsOf(found.entries);
    std::vector<uint64_t> fits;  // by group; how many more of this kind
    if (found.header.spending.budget_epsilon > 0) {
      for (const Group& group : groups) {
        TACET_ASSIGN_OR_RETURN(const uint64_t more,
                               spending.ChargesThatFit(group.event, kMaxAskedFor));
        fits.push_back(more);
      }
    }
    if (json_) {
      base::JsonValue shown = ShownJson(found, spending, spent, groups, fits);
      SetWords(words, shown);
      fmt::print("{}\n", shown.Dump(2));
    } else {
      fmt::print("{}\n", words.text);
      PrintTable(found, spending, spent, groups, fits);
    }
    return absl::OkStatus();
  }

  static base::JsonValue ShownJson(const RecoveredLedger& found, const PrivacyFilter& spending,
                                   const EpsilonBounds& spent, const std::vector<Group>& groups,
                                   const std::vector<uint64_t>& fits) {
    const LedgerHeader& header = found.header;
    const double budget = header.spending.budget_epsilon;
    base::JsonValue list = base::JsonValue::MakeArray();
    for (size_t i = 0; i < groups.size(); ++i) {
      const Group& group = groups[i];
      base::JsonValue entry = base::JsonValue::MakeObject();
      entry.Set("federation", base::ToHex(group.federation))
          .Set("rule", tacet::ledger::ChargingRuleName(group.rule))
          .Set("sampling", accounting::SamplingName(group.event.sampling))
          .Set("sampling_rate", group.event.sampling_rate)
          .Set("noise_stddev", group.event.noise_stddev)
          .Set("clip_norm", group.event.clip_norm)
          .Set("pure_epsilon", group.event.pure_epsilon > 0
                                   ? base::JsonValue(group.event.pure_epsilon)
                                   : base::JsonValue())
          .Set("charges", group.releases)
          .Set("caught_up", group.caught_up)
          .Set("first", group.first)
          .Set("last", group.last)
          .Set("fit", fits.empty() ? base::JsonValue() : base::JsonValue(fits[i]));
      list.Append(std::move(entry));
    }
    base::JsonValue accountants = base::JsonValue::MakeArray();
    for (const EpsilonBound& row : InOrder(spent)) {
      accountants.Append(base::JsonValue::MakeObject()
                             .Set("name", accounting::AccountantName(row.accountant))
                             .Set("epsilon", row.epsilon)
                             .Set("valid", row.is_proved));
    }
    const bool finite = std::isfinite(spent.epsilon());
    return base::JsonValue::MakeObject()
        .Set("population", header.population)
        .Set("rule", RuleText(groups))
        .Set("composition", accounting::CompositionName(header.spending.composition))
        .Set("filter",
             FilterOf(spending).empty() ? base::JsonValue() : base::JsonValue(FilterOf(spending)))
        .Set("unit", accounting::UnitName(header.unit))
        .Set("neighbouring", accounting::NeighbouringName(header.neighbouring))
        .Set("created", header.created)
        .Set("budget_epsilon", budget > 0 ? base::JsonValue(budget) : base::JsonValue())
        .Set("delta", header.spending.delta)
        .Set("charges", spending.charges())
        .Set("refused", found.refusals.size())
        .Set("policy_serial", found.policies.empty()
                                  ? base::JsonValue()
                                  : base::JsonValue(found.policies.back().serial))
        .Set("entries", std::move(list))
        .Set("accountants", std::move(accountants))
        .Set("epsilon", spent.epsilon())
        .Set("accountant",
             finite ? base::JsonValue(accounting::AccountantName(spent.headline()->accountant))
                    : base::JsonValue())
        .Set("reason", finite ? base::JsonValue() : base::JsonValue(kNoGuarantee))
        .Set("epsilon_left", budget > 0 ? base::JsonValue(std::max(0.0, budget - spent.epsilon()))
                                        : base::JsonValue());
  }

  void PrintTable(const RecoveredLedger& found, const PrivacyFilter& spending,
                  const EpsilonBounds& spent, const std::vector<Group>& groups,
                  const std::vector<uint64_t>& fits) const {
    const LedgerHeader& header = found.header;
    const double budget = header.spending.budget_epsilon;
    fmt::print("population  {}\n", header.population);
    fmt::print("rule        {}, {}; unit {}, {}\n", RuleText(groups),
               accounting::CompositionName(header.spending.composition),
               accounting::UnitName(header.unit),
               accounting::NeighbouringName(header.neighbouring));
    fmt::print("budget      {} at delta {}\n",
               budget > 0 ? fmt::format("epsilon {}", budget) : "none", header.spending.delta);
    if (const std::string_view filter = FilterOf(spending); !filter.empty()) {
      fmt::print("filter      {}\n", filter);
    }
    fmt::print("made        {} UTC\n", TimeText(header.created));
    if (!found.policies.empty()) {
      fmt::print("policy      number {} since {} UTC\n", found.policies.back().serial,
                 TimeText(found.policies.back().time));
    }
    fmt::print("\n{:<18}{:<12}{:>8}{:>9}{:>8}{:>10}{:>11}{:>9}  {}\n", "federation", "sampling",
               "rate", "noise", "clip", "charges", "caught up", "fit", "last (UTC)");
    for (size_t i = 0; i < groups.size(); ++i) {
      const Group& group = groups[i];
      fmt::print("{:<18}{:<12}{:>8.5g}{:>9.4g}{:>8.4g}{:>10}{:>11}{:>9}  {}\n",
                 base::ToHex(group.federation).substr(0, 16),
                 accounting::SamplingName(group.event.sampling), group.event.sampling_rate,
                 group.event.noise_stddev, group.event.clip_norm, group.releases, group.caught_up,
                 fits.empty() ? "-" : FitText(fits[i]), TimeText(group.last));
    }
    fmt::print("\n{} charges so far, {} attempts refused:\n", spending.charges(),
               found.refusals.size());
    for (const EpsilonBound& row : InOrder(spent)) {
      const bool counts = row.accountant == spent.headline()->accountant;
      fmt::print("{} {:<17}epsilon {}{}\n", counts ? "*" : " ",
                 accounting::AccountantName(row.accountant), EpsilonText(row.epsilon),
                 row.is_proved ? "" : "  (" + row.note + ")");
    }
    fmt::print("* the smallest bound that is valid for this ledger{}\n",
               std::isfinite(spent.epsilon()) ? "" : std::string("; ") + kNoGuarantee);
    if (budget > 0) {
      fmt::print("left        epsilon {:.4f} of {}; the budget is the guarantee\n",
                 std::max(0.0, budget - spent.epsilon()), budget);
    } else {
      fmt::print(
          "note        without a budget epsilon is a forecast: it would hold if the charges had "
          "been "
          "fixed beforehand to end here\n");
    }
    fmt::print("note        {}\n", accounting::kWhyLedgersDiffer);
    if (const std::string end = EndText(found); !end.empty()) fmt::print("note        {}\n", end);
  }

  // By the enumeration of the accountants.
  static std::vector<EpsilonBound> InOrder(const EpsilonBounds& spent) {
    std::vector<EpsilonBound> rows = spent.rows;
    std::ranges::sort(rows, {}, &EpsilonBound::accountant);
    return rows;
  }
  // The judge of charges whose events may differ; empty where the smallest bound judges.
  static std::string_view FilterOf(const PrivacyFilter& spending) {
    if (spending.terms().composition == accounting::Composition::kOneEvent) return "";
    return accounting::AccountantName(spending.JudgedBound().accountant);
  }
  static std::string FitText(uint64_t fits) {
    return fits < kMaxAskedFor ? fmt::format("{}", fits) : fmt::format("{}+", kMaxAskedFor);
  }

  static constexpr uint64_t kMaxAskedFor = 1'000'000;
  static constexpr const char* kNoGuarantee =
      "a release without noise, or without clipping, has no guarantee";

  std::string path_;
  std::vector<std::string> homes_;
  bool json_ = false;
};

class LedgerListCommand : public program::Command {
 public:
  std::string_view name() const override { return "list"; }
  std::string_view summary() const override { return "the ledgers of a site, one a population"; }

  void Register(program::Options& options) override {
    options.AddString("ledger",
                      "folder of the ledgers; when not given, the site's own "
                      "($XDG_DATA_HOME/tacet/ledger, or ~/.local/share/tacet/ledger)",
                      &folder_);
    options.AddFlag("json", "print JSON", &json_);
  }

  absl::Status Run() override {
    TACET_ASSIGN_OR_RETURN(const std::filesystem::path folder,
                           storage::file::LedgerFolderPath(folder_));
    TACET_ASSIGN_OR_RETURN(const std::vector<std::filesystem::path> paths,
                           storage::file::LedgerFolder::LedgersIn(folder));
    base::JsonValue list = base::JsonValue::MakeArray();
    for (const std::filesystem::path& path : paths) {
      TACET_ASSIGN_OR_RETURN(const RecoveredLedger found, storage::file::LedgerFile::Read(path));
      TACET_ASSIGN_OR_RETURN(const PrivacyFilter spending, SpendingOf(found));
      TACET_ASSIGN_OR_RETURN(const EpsilonBounds spent, spending.Epsilon());
      if (!json_) {
        fmt::print("{}\n  population  {}\n  spent       epsilon {} at delta {}, {} charges\n",
                   path.string(), found.header.population, EpsilonText(spent.epsilon()),
                   found.header.spending.delta, spending.charges());
      }
      list.Append(base::JsonValue::MakeObject()
                      .Set("path", path.string())
                      .Set("population", found.header.population)
                      .Set("charges", spending.charges())
                      .Set("epsilon", spent.epsilon())
                      .Set("delta", found.header.spending.delta));
    }
    if (json_) fmt::print("{}\n", list.Dump(2));
    return absl::OkStatus();
  }

 private:
  std::string folder_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<program::Command> NewLedgerCommand() {
  std::vector<std::unique_ptr<program::Command>> commands;
  commands.push_back(std::make_unique<LedgerShowCommand>());
  commands.push_back(std::make_unique<LedgerVerifyCommand>());
  commands.push_back(std::make_unique<LedgerListCommand>());
  return std::make_unique<program::CommandGroup>(
      "ledger", "spent part of populations' privacy budgets, and the integrity of their ledgers",
      std::move(commands));
}

}  // namespace tacet::app::ledger
