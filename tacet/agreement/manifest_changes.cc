#include "tacet/agreement/manifest_changes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

#include "fmt/core.h"
#include "fmt/ranges.h"

#include "tacet/agreement/charged_terms.h"
#include "tacet/agreement/manifest.h"
#include "tacet/base/status.h"
#include "tacet/he/aggregation.h"

namespace tacet::agreement {
namespace {

using agreement::ManifestSpec;
using agreement::SignedManifest;

// Which direction of a number protects less.
enum class Weaker { kNever, kLess, kMore };

class Comparison {
 public:
  explicit Comparison(std::vector<ManifestChange>& changes) : changes_(changes) {}

  template <typename Number>
  void Compare(std::string_view what, Number before, Number now, Weaker weaker) {
    if (before == now) return;
    const bool is_weaker =
        (weaker == Weaker::kLess && now < before) || (weaker == Weaker::kMore && now > before);
    Add(what, fmt::format("{}", before), fmt::format("{}", now), is_weaker);
  }
  // 0: without a limit.
  template <typename Number>
  void CompareLimit(std::string_view what, Number before, Number now) {
    if (before == now) return;
    const auto text = [](Number limit) {
      return limit == 0 ? std::string("no limit") : fmt::format("{}", limit);
    };
    Add(what, text(before), text(now), before != 0 && (now == 0 || now > before));
  }
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

void ComparePrivacy(const ManifestSpec& was, const ManifestSpec& is, Comparison& changes) {
  changes.CompareText("privacy.unit", accounting::UnitName(was.privacy.unit),
                      accounting::UnitName(is.privacy.unit),
                      SizeOf(is.privacy.unit) < SizeOf(was.privacy.unit));
  changes.CompareText("privacy.neighbouring",
                      accounting::NeighbouringName(was.privacy.neighbouring),
                      accounting::NeighbouringName(is.privacy.neighbouring),
                      is.privacy.neighbouring == accounting::Neighbouring::kZeroOut);
  changes.Compare("privacy.noise_stddev", was.mechanism.noise_stddev, is.mechanism.noise_stddev,
                  Weaker::kLess);
  changes.Compare("privacy.clip_norm", was.mechanism.clip_norm, is.mechanism.clip_norm,
                  Weaker::kMore);
  changes.Compare("privacy.coordinate_bound", was.mechanism.coordinate_bound,
                  is.mechanism.coordinate_bound, Weaker::kMore);
  changes.Compare("privacy.scale", was.mechanism.scale, is.mechanism.scale, Weaker::kNever);
  changes.Compare("privacy.delta", was.privacy.delta, is.privacy.delta, Weaker::kMore);
  changes.CompareLimit("privacy.budget_epsilon", was.privacy.budget_epsilon,
                       is.privacy.budget_epsilon);
  changes.Compare("privacy.colluders", was.privacy.colluders, is.privacy.colluders, Weaker::kLess);
  changes.Compare("privacy.record_rate", was.sampling.record_rate, is.sampling.record_rate,
                  Weaker::kMore);
  changes.Compare("privacy.expected_batch", was.sampling.expected_batch, is.sampling.expected_batch,
                  Weaker::kNever);
  changes.Compare("privacy.appearances", was.sampling.appearances, is.sampling.appearances,
                  Weaker::kLess);
  changes.Compare("run.no_noise", was.mechanism.without_noise, is.mechanism.without_noise,
                  Weaker::kMore);
  changes.Compare("run.no_clip", was.mechanism.without_clipping, is.mechanism.without_clipping,
                  Weaker::kMore);
}

double RateOf(const ManifestSpec& spec) {
  return static_cast<double>(spec.sampling.cohort) / static_cast<double>(spec.sampling.clients);
}

void CompareRounds(const ManifestSpec& was, const ManifestSpec& is, Comparison& changes) {
  changes.Compare("federation.cohort", was.sampling.cohort, is.sampling.cohort, Weaker::kNever);
  changes.Compare("sampling rate", RateOf(was), RateOf(is), Weaker::kMore);
  changes.Compare("federation.min_participants", was.sampling.min_participants,
                  is.sampling.min_participants, Weaker::kLess);
  changes.Compare("federation.rounds", was.rounds, is.rounds, Weaker::kMore);
  changes.Compare("federation.spare_attempts", was.spare_attempts, is.spare_attempts,
                  Weaker::kMore);
  changes.CompareText("federation.sampling", accounting::SamplingName(*was.sampling.method),
                      accounting::SamplingName(*is.sampling.method));
  changes.Compare("federation.dummy_uploads", was.sampling.dummy_uploads, is.sampling.dummy_uploads,
                  Weaker::kLess);
  changes.CompareLimit("federation.max_participations", was.sampling.max_participations,
                       is.sampling.max_participations);
  changes.Compare("federation.committee_seats", was.committee.seats, is.committee.seats,
                  Weaker::kNever);
  changes.Compare("federation.committee_corrupt", was.committee.corrupt, is.committee.corrupt,
                  Weaker::kLess);
  changes.Compare("federation.committee_packing", was.committee.packing, is.committee.packing,
                  Weaker::kNever);
  changes.Compare("encryption.plaintext_bits", was.plaintext_bits, is.plaintext_bits,
                  Weaker::kNever);
  changes.Compare("server.learning_rate", was.optimizer.learning_rate, is.optimizer.learning_rate,
                  Weaker::kNever);
  changes.Compare("server.learning_rate_final", was.optimizer.learning_rate_final,
                  is.optimizer.learning_rate_final, Weaker::kNever);
  changes.Compare("server.momentum", was.optimizer.momentum, is.optimizer.momentum, Weaker::kNever);
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

// What else is agreed, such as how sites train: line by line.
void CompareAnnex(const SignedManifest& before, const SignedManifest& now, Comparison& changes) {
  const std::set<std::string> was = LinesOf(before.annex()), is = LinesOf(now.annex());
  for (const std::string& line : was) {
    if (!is.contains(line)) changes.Add("annex", line, "", false);
  }
  for (const std::string& line : is) {
    if (!was.contains(line)) changes.Add("annex", "", line, false);
  }
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
    // Its attempts are charged beside those of the one before.
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
  ComparePrivacy(was, is, comparison);
  CompareRounds(was, is, comparison);
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
  return changes;
}

std::string ManifestChangesText(const std::vector<ManifestChange>& changes) {
  std::string text;
  for (const ManifestChange& change : changes) {
    text += fmt::format("{} {:<28} {} -> {}\n", change.is_weaker ? "WEAKER    " : "changed   ",
                        change.what, change.before.empty() ? "(none)" : change.before,
                        change.after.empty() ? "(none)" : change.after);
  }
  return text;
}

bool IsAnyWeaker(const std::vector<ManifestChange>& changes) {
  return std::ranges::any_of(changes, &ManifestChange::is_weaker);
}

}  // namespace tacet::agreement
