#include "tacet/agreement/manifest_changes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>

#include "fmt/core.h"
#include "fmt/ranges.h"

#include "tacet/agreement/charged_terms.h"
#include "tacet/agreement/manifest.h"
#include "tacet/agreement/terms_table.h"
#include "tacet/base/plain_text.h"
#include "tacet/base/status.h"

namespace tacet::agreement {
namespace {

using agreement::ManifestSpec;
using agreement::SignedManifest;

class Comparison {
 public:
  explicit Comparison(std::vector<ManifestChange>& changes) : changes_(changes) {}

  void CompareText(std::string_view what, std::string_view before, std::string_view now,
                   bool is_weaker = false) {
    if (before != now) Add(what, before, now, is_weaker);
  }
  void Add(std::string_view what, std::string_view before, std::string_view now, bool is_weaker) {
    changes_.push_back({std::string(what), std::string(before), std::string(now), is_weaker});
  }

 private:
  std::vector<ManifestChange>& changes_;
};

std::map<std::string, const agreement::ManifestMember*> ByName(const SignedManifest& manifest) {
  std::map<std::string, const agreement::ManifestMember*> members;
  for (const agreement::ManifestMember& member : manifest.members()) {
    members.emplace(member.name, &member);
  }
  return members;
}

void CompareMembers(const SignedManifest& before, const SignedManifest& now, Comparison& changes) {
  const auto was = ByName(before), is = ByName(now);
  for (const auto& [name, member] : was) {
    const auto found = is.find(name);
    if (found == is.end()) {
      changes.Add("member", name, "", false);
    } else if (found->second->signing_key != member->signing_key) {
      changes.Add("member", name, fmt::format("{} with other keys", name), false);
    }
  }
  for (const auto& [name, member] : is) {
    if (!was.contains(name)) changes.Add("member", "", name, false);
  }
}

std::string CommitteeOf(const SignedManifest& manifest) {
  std::set<std::string> names;
  for (const uint64_t member : manifest.manifest().spec().committee_members) {
    names.insert(manifest.members()[member].name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string ServerOf(const SignedManifest& manifest) {
  const agreement::ManifestServer& server = manifest.server();
  if (server.name.empty()) return "";
  return fmt::format("{} at {}, key {}", server.name, fmt::join(server.hosts, ", "),
                     base::ToHex(crypto::Sha256(server.tls_key)).substr(0, 16));
}

// A guarantee for a client holds for its persons, and one for a person for its records.
int SizeOf(accounting::Unit unit) {
  switch (unit) {
    case accounting::Unit::kRecord:
      return 1;
    case accounting::Unit::kPerson:
      return 2;
    case accounting::Unit::kClient:
      return 3;
  }
  return 3;
}

bool IsWeaker(const Term&, accounting::Unit was, accounting::Unit is) {
  return SizeOf(is) < SizeOf(was);
}
bool IsWeaker(const Term&, accounting::Neighbouring, accounting::Neighbouring is) {
  return is == accounting::Neighbouring::kZeroOut;
}
template <typename Value>
bool IsWeaker(const Term& term, const Value& was, const Value& is) {
  switch (term.weaker) {
    case Weaker::kLess:
      return is < was;
    case Weaker::kMore:
      return is > was;
    case Weaker::kMoreOrNone:
      return was != Value{} && (is == Value{} || is > was);
    case Weaker::kNever:
    case Weaker::kByWord:
    case Weaker::kNotCompared:
      return false;
  }
  return false;
}

template <typename Value>
std::string TextOf(const Term& term, const Value& value) {
  if constexpr (std::is_enum_v<Value>) {
    return std::string(WordOf(value));
  } else {
    if (term.weaker == Weaker::kMoreOrNone && value == Value{}) return "no limit";
    return fmt::format("{}", value);
  }
}
std::string TextOf(const Term&, const crypto::Digest& value) { return base::ToHex(value); }
std::string TextOf(const Term&, const std::vector<uint64_t>& values) {
  return fmt::format("{}", fmt::join(values, ", "));
}
std::string TextOf(const Term&, std::optional<accounting::Sampling> value) {
  return std::string(WordOf(*value));
}

// Texts of two values that differ: numbers with as many digits, from three, as tell them apart.
template <typename Value>
std::pair<std::string, std::string> TextsOf(const Term& term, const Value& before,
                                            const Value& now) {
  std::pair<std::string, std::string> texts = {TextOf(term, before), TextOf(term, now)};
  if constexpr (std::is_same_v<Value, double>) {
    const bool is_limited = term.weaker != Weaker::kMoreOrNone || (before != 0 && now != 0);
    for (int digits = 3; is_limited && digits < 17; ++digits) {
      const std::string was = fmt::format("{:.{}g}", before, digits);
      const std::string is = fmt::format("{:.{}g}", now, digits);
      if (was != is) return {was, is};
    }
  }
  return texts;
}

template <typename Value>
void Compare(const Term& term, const Value& was, const Value& is, Comparison& changes) {
  if (was == is) return;
  const auto [was_text, is_text] = TextsOf(term, was, is);
  changes.Add(term.key, was_text, is_text, IsWeaker(term, was, is));
}

void CompareTerms(const ManifestSpec& was, const ManifestSpec& is, Comparison& changes) {
  const auto rate = [](const ManifestSpec& spec) {
    return static_cast<double>(spec.sampling.cohort) / static_cast<double>(spec.sampling.clients);
  };
  const auto compare = [&](const Term& term, const auto& before, const auto& now) {
    if (term.weaker != Weaker::kNotCompared) Compare(term, before, now, changes);
  };
  VisitSignedTerms(compare, was, is);
  compare(Term{"sampling rate", Weaker::kMore}, rate(was), rate(is));
}

std::set<std::string> LinesOf(std::string_view text) {
  std::set<std::string> lines;
  std::string section;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.starts_with('[')) {
      section = line;
    } else if (!line.empty()) {
      lines.insert(fmt::format("{} {}", section, line));
    }
  }
  return lines;
}

// Compares the rest of the agreement, such as how sites train: line by line.
void CompareAnnex(const SignedManifest& before, const SignedManifest& now, Comparison& changes) {
  const std::set<std::string> was = LinesOf(before.annex()), is = LinesOf(now.annex());
  for (const std::string& line : was) {
    if (!is.contains(line)) changes.Add("annex", line, "", false);
  }
  for (const std::string& line : is) {
    if (!was.contains(line)) changes.Add("annex", "", line, false);
  }
  if (was == is && before.annex() != now.annex()) {
    changes.Add("annex", "its lines", "the same ones in another order", false);
  }
}

// An annex may hold any bytes.
std::string Shown(std::string_view text) {
  return text.empty() ? "(none)" : base::PlainText(text, text.size());
}

std::string TrainingText(uint32_t training) {
  return training == 0 ? "the first" : fmt::format("begun with epoch {}", training);
}

absl::StatusOr<double> EpsilonOf(const agreement::Manifest& manifest) {
  TACET_ASSIGN_OR_RETURN(
      const accounting::Guarantees guarantees,
      agreement::GuaranteesOf(agreement::PermittedTerms(manifest), accounting::Extent::kHeadline));
  return guarantees.epsilon();
}

}  // namespace

absl::StatusOr<std::vector<ManifestChange>> ManifestChanges(const SignedManifest& before,
                                                            const SignedManifest& now) {
  std::vector<ManifestChange> changes;
  Comparison comparison(changes);
  if (before.training() != now.training()) {
    // Its attempts are charged in addition to those of the one before.
    comparison.Add("training", TrainingText(before.training()),
                   fmt::format("{}: epsilon of both adds up", TrainingText(now.training())), true);
  }
  CompareMembers(before, now, comparison);
  comparison.CompareText("committee", CommitteeOf(before), CommitteeOf(now));
  comparison.CompareText("server", ServerOf(before), ServerOf(now));
  comparison.CompareText("authority", base::ToHex(crypto::Sha256(before.authority())),
                         base::ToHex(crypto::Sha256(now.authority())));
  const ManifestSpec& was = before.manifest().spec();
  const ManifestSpec& is = now.manifest().spec();
  CompareTerms(was, is, comparison);
  CompareAnnex(before, now, comparison);
  TACET_ASSIGN_OR_RETURN(const double epsilon_before, EpsilonOf(before.manifest()));
  TACET_ASSIGN_OR_RETURN(const double epsilon, EpsilonOf(now.manifest()));
  // Upwards, as every figure; figures that are equal in four digits have not changed.
  const auto text = [](double value) {
    return std::isfinite(value) ? fmt::format("{:.4g}", value) : std::string("no bound");
  };
  if (text(epsilon_before) != text(epsilon)) {
    comparison.Add("epsilon of all attempts", text(epsilon_before), text(epsilon),
                   epsilon > epsilon_before);
  }
  std::stable_partition(changes.begin(), changes.end(),
                        [](const ManifestChange& change) { return change.is_weaker; });
  return changes;
}

std::vector<ManifestChange> TermChanges(const ManifestSpec& before, const ManifestSpec& now) {
  std::vector<ManifestChange> changes;
  Comparison comparison(changes);
  VisitSignedTerms([&](const Term& term, const auto& was,
                       const auto& is) { Compare(term, was, is, comparison); },
                   before, now);
  return changes;
}

std::string ManifestChangesText(const std::vector<ManifestChange>& changes) {
  std::string text;
  for (const ManifestChange& change : changes) {
    text += fmt::format("{} {:<28} {} -> {}\n", change.is_weaker ? "WEAKER    " : "changed   ",
                        change.what, Shown(change.before), Shown(change.after));
  }
  return text;
}

bool IsAnyWeaker(const std::vector<ManifestChange>& changes) {
  return std::ranges::any_of(changes, &ManifestChange::is_weaker);
}

}  // namespace tacet::agreement
