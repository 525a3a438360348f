#include "apps/tacet/ledger/ledger_words.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <span>
#include <utility>

#include "fmt/chrono.h"
#include "fmt/core.h"

#include "tacet/accounting/privacy_event.h"
#include "tacet/accounting/privacy_filter.h"
#include "tacet/agreement/manifest.h"
#include "tacet/agreement/member_keys.h"
#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/config/policy_file.h"
#include "tacet/crypto/hash.h"
#include "tacet/policy/policy_signature.h"
#include "tacet/site/site_policy.h"
#include "tacet/storage/file/membership.h"
#include "tacet/storage/file/posix_file.h"

namespace tacet::app::ledger {
namespace {

using tacet::ledger::LedgerEntry;
using tacet::ledger::RecoveredLedger;
using tacet::ledger::SpentPart;

std::string Up(double epsilon) {
  return std::isfinite(epsilon) ? fmt::format("{:.2f}", std::ceil(epsilon * 100) / 100)
                                : "no bound";
}
std::string Down(double epsilon) { return fmt::format("{:.2f}", std::floor(epsilon * 100) / 100); }

// "28 November 2027".
std::string DateText(uint64_t seconds) {
  const std::tm day = fmt::gmtime(static_cast<std::time_t>(seconds));
  return fmt::format("{} {:%B %Y}", day.tm_mday, day);
}

std::string LineOf(const SpentPart& part) {
  const std::string first = DateText(part.first), last = DateText(part.last);
  return fmt::format("  {:>8}  {}: {} attempt{}, {}{}\n", Up(part.epsilon), part.what, part.charges,
                     part.charges == 1 ? "" : "s", first, first == last ? "" : " to " + last);
}

absl::Status ReadNames(const std::string& home, tacet::ledger::Names& names) {
  TACET_ASSIGN_OR_RETURN(const auto folder, storage::file::SiteFolder::Open(home));
  TACET_ASSIGN_OR_RETURN(const auto membership, storage::file::MembershipOf(folder, home));
  for (const agreement::EpochLink& link : membership.chain) {
    tacet::ledger::FederationNames& federation = names[link.agreed.federation];
    federation.name = link.name;
    if (!link.begins_training()) continue;
    federation.trainings[link.epoch] =
        fmt::format("{} (from epoch {})",
                    link.agreed.model == agreement::kQueryModel
                        ? "query"
                        : fmt::format("training of {}", link.agreed.model),
                    link.epoch);
  }
  return absl::OkStatus();
}

absl::Status ReadPolicy(const std::string& home, const RecoveredLedger& found,
                        HomesOfLedger& homes) {
  const std::filesystem::path path = site::PolicyPath(home, std::nullopt);
  const absl::StatusOr<base::Bytes> text = storage::file::ReadFile(path);
  if (text.status().code() == absl::StatusCode::kNotFound) return absl::OkStatus();
  TACET_RETURN_IF_ERROR(text.status());
  TACET_ASSIGN_OR_RETURN(const policy::SitePolicy policy,
                         config::ParseSitePolicy(base::AsText(*text), path.string()));
  if (found.policies.empty() || crypto::Sha256(*text) != found.policies.back().digest) {
    const uint64_t last = found.policies.empty() ? 0 : found.policies.back().serial;
    TACET_ASSIGN_OR_RETURN(const base::Bytes signature,
                           storage::file::ReadFile(site::SignaturePath(path)));
    const absl::StatusOr<crypto::PublicKey> signer = policy::SignerOfPolicy(*text, signature);
    if (!signer.ok() || policy.serial <= last) {
      homes.notes.push_back(fmt::format(
          "{} is not the policy under which this ledger was charged, number {}{}", path.string(),
          last, signer.ok() ? "" : ": " + base::Message(signer.status())));
      return absl::OkStatus();
    }
    homes.notes.push_back(
        fmt::format("nothing was charged under policy number {} yet. It is signed "
                    "by {}: compare that with the pinned officer",
                    policy.serial, agreement::FingerprintText(*signer)));
  }
  homes.year =
      tacet::ledger::YearlyBudget{.epsilon = policy.epsilon_per_year,
                                  .delta = policy.delta,
                                  .source = fmt::format("policy number {}", policy.serial)};
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<HomesOfLedger> ReadHomes(const std::vector<std::string>& homes,
                                        const RecoveredLedger& found) {
  HomesOfLedger read;
  for (const std::string& home : homes) {
    TACET_RETURN_IF_ERROR(ReadNames(home, read.names));
    TACET_RETURN_IF_ERROR(ReadPolicy(home, found, read));
  }
  return read;
}

absl::StatusOr<LedgerInWords> InWords(const RecoveredLedger& found, const HomesOfLedger& homes,
                                      uint64_t now) {
  LedgerInWords words;
  accounting::SpendingTerms terms = found.header.spending;
  std::span<const LedgerEntry> entries = found.entries;
  words.text = fmt::format("people      {}: each {} is protected, {}\n", found.header.population,
                           accounting::UnitName(found.header.unit),
                           accounting::NeighbouringName(found.header.neighbouring));
  if (homes.year.has_value()) {
    terms.delta = homes.year->delta;
    terms.budget_epsilon = homes.year->epsilon;
    TACET_ASSIGN_OR_RETURN(
        words.year, tacet::ledger::SpentInYear(entries, *homes.year, terms.composition, now));
    if (words.year->until == 0) {
      entries = {};
    } else {
      const auto first = std::ranges::find(
          entries, words.year->until - tacet::ledger::kSecondsAYear, &LedgerEntry::time);
      entries = entries.subspan(static_cast<size_t>(first - entries.begin()));
    }
    words.text += fmt::format(
        "left        {} of {}{}\n            epsilon in any 366 days at delta {}, by {}\n",
        Down(words.year->left()), Up(words.year->budget),
        words.year->until == 0 ? "" : " until " + DateText(words.year->until), terms.delta,
        homes.year->source);
  } else if (!found.policies.empty()) {
    words.text +=
        fmt::format("left        as policy number {} says: give --home with the site's folder\n",
                    found.policies.back().serial);
  }
  TACET_ASSIGN_OR_RETURN(words.parts, tacet::ledger::PartsOf(entries, homes.names, terms));
  if (words.year.has_value()) {
    words.text += fmt::format("spent       {} in the last 366 days\n", Up(words.year->spent));
  } else {
    words.text += fmt::format("spent       since the beginning{}\n",
                              terms.budget_epsilon > 0 ? "" : ", as a forecast: see below");
  }
  for (const SpentPart& part : words.parts) words.text += LineOf(part);
  if (words.parts.size() > 1) {
    words.text += "            Each part is stated as if it were alone; the parts do not add up.\n";
  }
  for (const std::string& note : homes.notes) words.text += fmt::format("note        {}\n", note);
  return words;
}

void SetWords(const LedgerInWords& words, base::JsonValue& shown) {
  base::JsonValue parts = base::JsonValue::MakeArray();
  for (const SpentPart& part : words.parts) {
    parts.Append(base::JsonValue::MakeObject()
                     .Set("what", part.what)
                     .Set("federation", base::ToHex(part.federation))
                     .Set("training", uint64_t{part.training})
                     .Set("charges", part.charges)
                     .Set("epsilon", part.epsilon)
                     .Set("first", part.first)
                     .Set("last", part.last));
  }
  shown.Set("year",
            !words.year.has_value()
                ? base::JsonValue()
                : base::JsonValue::MakeObject()
                      .Set("budget", words.year->budget)
                      .Set("spent", words.year->spent)
                      .Set("left", words.year->left())
                      .Set("until", words.year->until == 0 ? base::JsonValue()
                                                           : base::JsonValue(words.year->until)));
  shown.Set("parts", std::move(parts));
}

}  // namespace tacet::app::ledger
