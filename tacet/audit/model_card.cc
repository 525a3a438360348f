#include "tacet/audit/model_card.h"

#include <algorithm>

#include "fmt/chrono.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

#include "tacet/accounting/guarantee_limits.h"
#include "tacet/agreement/roster_differences.h"

namespace tacet::audit {
namespace {

using accounting::PrivacyRow;

// A name as code, whatever it holds: nothing in it becomes markup.
std::string Code(std::string_view name) {
  std::string text;
  for (const char letter : name) {
    const bool plain = letter >= ' ' && letter != '`' && letter != '|' && letter != 0x7f;
    text += plain || static_cast<unsigned char>(letter) >= 0x80 ? letter : '?';
  }
  return "`" + text + "`";
}

std::string Date(uint64_t seconds) {
  constexpr uint64_t kYear9999 = 253402300799;
  return seconds > kYear9999
             ? fmt::format("{} s", seconds)
             : fmt::format("{:%Y-%m-%d}", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

std::string State(const AuditedRun& run) {
  const uint32_t complete = run.complete_rounds();
  const std::string of = fmt::format("{} of {} rounds", complete, run.agreed().rounds);
  if (!run.facts.finished) return "**unfinished**, " + of + " when this was written";
  return run.facts.stopped.empty() ? of : of + "; stopped: " + Code(run.facts.stopped);
}

// Rounds in which participants said that their uploads held none of their data.
std::string Givers(const AuditedRun& run) {
  std::string rounds;
  for (const AuditedRound& round : run.facts.rounds) {
    const std::optional<uint32_t> givers = run.Givers(round);
    if (!givers.has_value() || *givers == round.participants) continue;
    rounds += fmt::format("{}{} of {} in round {}", rounds.empty() ? "" : ", ", *givers,
                          round.participants, round.round + 1);
  }
  if (rounds.empty()) return "";
  return fmt::format(
      "- Data were in fewer uploads than participants sent: {}. A budget or a policy of the others "
      "allowed no further attempt. This member gave none in {} rounds\n",
      rounds, run.abstained_rounds());
}

std::string WhatWasTrained(const AuditedRun& run) {
  const agreement::ManifestSpec& agreed = run.agreed();
  std::string out = fmt::format(
      "## What was trained\n\n"
      "- Model: {}, {} parameters, by federated averaging of clipped, noised, encrypted updates\n"
      "- Data: of {} {}; the charged population is {}\n"
      "- Training: {}; {} a round\n",
      Code(agreed.model), agreed.dimension, agreed.sampling.clients,
      agreed.privacy.unit == accounting::Unit::kClient ? "members" : "sites",
      Code(run.ledger.header.population), State(run), agreed.sampling.cohort);
  for (size_t i = 0; i + 1 < run.terms.size(); ++i) {
    const agreement::ManifestSpec& earlier = run.agreements[i].agreed;
    out += fmt::format(
        "- Members or terms changed in mid-run: {} of the attempts were charged with {} members, "
        "{} "
        "a round, at least {} in a sum, noise {:.6g}\n",
        run.terms[i].attempts, earlier.sampling.clients, earlier.sampling.cohort,
        earlier.sampling.min_participants, earlier.mechanism.noise_stddev);
  }
  if (run.first_round() > 0) {
    out += fmt::format(
        "- This member came after {} rounds: the figures below are about its data, of which these "
        "rounds had nothing\n",
        run.first_round());
  }
  out += Givers(run);
  if (!run.ledger.entries.empty()) {
    out += fmt::format("- Between {} and {}\n", Date(run.ledger.entries.front().time),
                       Date(run.ledger.entries.back().time));
  }
  if (run.facts.result.has_value()) {
    out += fmt::format(
        "- Accuracy {:.2f} %, loss {:.4f} on {} samples that the members held out (measured "
        "outside "
        "of what epsilon covers)\n",
        100 * run.facts.result->accuracy, run.facts.result->loss, run.facts.result->samples);
  }
  return out + "\n";
}

std::string Warning(const AuditedRun& run) {
  if (run.facts.labels.empty()) return "";
  return fmt::format(
      "> **No guarantee.** This run is labelled {}: it protects nobody, and no figure below is a "
      "guarantee.\n\n",
      fmt::join(run.facts.labels, ", "));
}

// The headings of the explanation are lines that end without a full stop.
std::string AsMarkdown(std::string_view explanation) {
  std::string out;
  while (!explanation.empty()) {
    const size_t end = std::min(explanation.find('\n'), explanation.size());
    const std::string_view line = explanation.substr(0, end);
    const bool heading = !line.empty() && !line.ends_with('.');
    out += fmt::format("{}{}\n{}", heading ? "### " : "", line, heading ? "\n" : "");
    explanation.remove_prefix(std::min(end + 1, explanation.size()));
  }
  return out;
}

std::string WorstSentence(const AuditedRun& run, const accounting::Guarantees& guarantees,
                          double charged_epsilon) {
  const PrivacyRow* worst = guarantees.headline();
  if (worst == nullptr || !worst->epsilon) {
    return fmt::format(" {} attempts were charged.", run.charges());
  }
  return fmt::format(
      " **Epsilon is {:.3f}**, against the worst observer that has a guarantee ({}). It covers all "
      "{} attempts that the agreement permits{}: who may stop a run after looking at its models "
      "has "
      "no smaller bound. {} attempts were charged so far. Their epsilon is {:.3f}: a forecast, "
      "which "
      "would hold for a run that was fixed beforehand to end there.",
      *worst->epsilon, accounting::ObserverName(worst->observer),
      agreement::AttemptsIn(run.permitted()),
      run.agreed().privacy.budget_epsilon > 0 ? ", up to its budget" : "", run.charges(),
      charged_epsilon);
}

std::string GuaranteeSection(const AuditedRun& run, const accounting::Guarantees& guarantees,
                             double charged_epsilon, std::string_view explanation) {
  const agreement::ManifestSpec& agreed = run.agreed();
  std::string out = fmt::format(
      "## Privacy guarantee\n\n"
      "Protected is one {} ({} neighbours), at delta {}.{}\n\n"
      "| observer | epsilon | accountant | rounds counted |\n|---|---|---|---|\n",
      accounting::UnitName(agreed.privacy.unit),
      accounting::NeighbouringName(agreed.privacy.neighbouring), agreed.privacy.delta,
      WorstSentence(run, guarantees, charged_epsilon));
  for (const PrivacyRow& row : guarantees.rows) {
    if (row.standing == accounting::Standing::kNone) {
      out += fmt::format("| {} | none | | |\n", accounting::ObserverName(row.observer));
    } else if (guarantees.HeadlineOf(row.observer) == &row) {
      out += fmt::format("| {} | {:.3f} | {} | {} |\n", accounting::ObserverName(row.observer),
                         row.epsilon.value_or(0), accounting::AccountantName(row.accountant),
                         row.releases);
    }
  }
  out += "\n";
  if (!explanation.empty()) out += AsMarkdown(explanation) + "\n";
  return out;
}

// The explanation has the limits of the guarantee.
std::string Limits(const AuditedRun& run, bool is_explained) {
  const std::string kind =
      run.facts.kind == RunKind::kMember
          ? "This is one member's record of a live federation. It does not show what other members "
            "did."
          : "The run was a simulation: one user's processes played every member. The figures are "
            "those of a federation with this agreement; nothing here shows that members behaved.";
  const std::string rosters = agreement::RosterDifferenceText(run.agreed());
  std::string limits = rosters.empty() ? "" : fmt::format("- {}\n", rosters);
  if (!is_explained) {
    const accounting::FederationPrivacySpec present = agreement::PrivacyOf(run.agreed(), 1);
    for (const std::string& limit : accounting::LimitsOf(present)) {
      limits += fmt::format("- {}\n", limit);
    }
  }
  return fmt::format(
      "## Limits\n\n"
      "- {}\n"
      "- Accuracy is over all held-out samples. Members whose data are rare may be served worse, "
      "and noise makes that worse; it was not measured here.\n"
      "- The model was made to measure training with privacy, not to decide about people.\n{}\n",
      kind, limits);
}

}  // namespace

std::string ModelCard(const AuditedRun& run, const accounting::Guarantees& guarantees,
                      double charged_epsilon, std::string_view explanation,
                      std::string_view audit_name) {
  return fmt::format(
      "# Model card: {}\n\n{}{}{}{}"
      "## How to verify\n\n"
      "`tacet audit verify {}` computes every figure of the signed record again, offline, and "
      "names "
      "the first thing that does not hold. The record is signed by the key with the fingerprint\n"
      "`{}`;\n"
      "give it with `--signer` when you have it from elsewhere. Written by tacet {} (commit {}) on "
      "{}.\n",
      Code(run.agreed().model), Warning(run), WhatWasTrained(run),
      GuaranteeSection(run, guarantees, charged_epsilon, explanation),
      Limits(run, !explanation.empty()), audit_name, crypto::KeyFingerprint(run.facts.signer),
      run.facts.version, run.facts.program_commit, Date(run.facts.created));
}

}  // namespace tacet::audit
