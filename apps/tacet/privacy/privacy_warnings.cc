#include "apps/tacet/privacy/privacy_warnings.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "fmt/format.h"

#include "tacet/accounting/privacy_rows.h"
#include "tacet/base/status.h"

namespace tacet::app::privacy {

using accounting::FederationPrivacySpec;
using accounting::Unit;

namespace {

struct UnitCount {
  double number = 0;  // 0: not known
  std::string_view name;
};

UnitCount UnitsOf(const FederationPrivacySpec& spec, const PlanDetails& details) {
  if (spec.unit == Unit::kClient) {
    return {.number = static_cast<double>(spec.clients), .name = "clients"};
  }
  const double number = spec.record_rate > 0 ? details.expected_batch / spec.record_rate : 0;
  return {.number = number, .name = spec.unit == Unit::kPerson ? "people" : "records"};
}

std::optional<std::string> DeltaWarning(const FederationPrivacySpec& spec,
                                        const PlanDetails& details) {
  const UnitCount units = UnitsOf(spec, details);
  if (units.number < 1 || spec.delta * units.number < 1) return std::nullopt;
  return fmt::format(
      "delta is {:.4g} for {:.6g} {}: publishing the data of one of them, drawn at random, would "
      "satisfy it; set `privacy.delta` well below {:.2g}",
      spec.delta, units.number, units.name, 1 / units.number);
}

std::optional<std::string> NoiseWarning(const FederationPrivacySpec& spec,
                                        const PlanDetails& details) {
  const double ratio = NoiseOverClipNorm(spec, details);
  const double limit = kDrowningRatio * std::sqrt(static_cast<double>(spec.rounds));
  if (!(ratio > limit)) return std::nullopt;
  const bool clients = spec.unit == Unit::kClient;
  return fmt::format(
      "the noise drowns the update: in the average of one round its norm over {} parameters is "
      "{:.3g} times the clip norm, and the limit for a run of {} rounds is {:.3g} times; {}, "
      "choose "
      "a smaller model or {}",
      details.dimension, ratio, spec.rounds, limit,
      clients ? "raise `federation.cohort`" : "raise `privacy.record_rate`",
      details.noise_from_target ? "raise `privacy.target_epsilon`" : "lower `privacy.noise`");
}

absl::StatusOr<std::optional<std::string>> EpsilonWarning(const FederationPrivacySpec& spec,
                                                          const PlanDetails& details) {
  TACET_ASSIGN_OR_RETURN(const accounting::PrivacyRow worst, accounting::WorstRow(spec));
  const double epsilon = worst.epsilon.value_or(std::numeric_limits<double>::infinity());
  if (epsilon <= agreement::kMaxUsefulEpsilon) return std::optional<std::string>();
  return std::optional<std::string>(fmt::format(
      "epsilon is {:.4g} for observer {} at noise {:.4g} and clip norm {:.4g}, and above {:g} "
      "nobody is protected from that observer: {}",
      epsilon, accounting::ObserverName(worst.observer), spec.noise_stddev, spec.clip_norm,
      agreement::kMaxUsefulEpsilon,
      details.noise_from_target ? "lower `privacy.target_epsilon`" : "raise `privacy.noise`"));
}

}  // namespace

double NoiseOverClipNorm(const FederationPrivacySpec& given, const PlanDetails& details) {
  const FederationPrivacySpec spec = accounting::Resolved(given);
  const bool clients = spec.unit == Unit::kClient;
  const double uploads = static_cast<double>(spec.dummy_uploads ? spec.pool : spec.cohort);
  const double shares = static_cast<double>(spec.min_participants) -
                        (clients ? 0.0 : static_cast<double>(spec.colluders));
  const double divisor = clients ? static_cast<double>(spec.cohort) : details.expected_batch;
  if (details.dimension == 0 || !(divisor > 0) || !(shares > 0) || !(spec.clip_norm > 0)) return 0;
  return std::sqrt(static_cast<double>(details.dimension) * uploads / shares) * spec.noise_stddev /
         (divisor * spec.clip_norm);
}

absl::StatusOr<std::vector<std::string>> PrivacyWarnings(const FederationPrivacySpec& spec,
                                                         const PlanDetails& details) {
  std::vector<std::string> warnings;
  if (spec.noise_stddev == 0) return warnings;
  TACET_RETURN_IF_ERROR(accounting::CheckFederation(spec));
  TACET_ASSIGN_OR_RETURN(const std::optional<std::string> epsilon, EpsilonWarning(spec, details));
  for (const std::optional<std::string>& warning :
       {DeltaWarning(spec, details), NoiseWarning(spec, details), epsilon}) {
    if (warning.has_value()) warnings.push_back(*warning);
  }
  return warnings;
}

absl::StatusOr<std::vector<std::string>> PrivacyWarnings(const agreement::ManifestSpec& agreed) {
  if (agreed.without_noise || agreed.without_clipping) return std::vector<std::string>();
  return PrivacyWarnings(agreement::PrivacyOf(agreed, agreed.rounds),
                         {.dimension = agreed.dimension,
                          .expected_batch = agreed.expected_batch,
                          .noise_from_target = agreed.target_epsilon > 0});
}

std::string WarningsText(const std::vector<std::string>& warnings) {
  std::string text = warnings.empty() ? "" : "Warnings\n";
  for (const std::string& warning : warnings) text += fmt::format("- {}\n", warning);
  return text;
}

std::string WarningLines(const std::vector<std::string>& warnings) {
  std::string text;
  for (const std::string& warning : warnings) text += fmt::format("warning     {}\n", warning);
  return text;
}

base::JsonValue WarningsJson(const std::vector<std::string>& warnings) {
  base::JsonValue list = base::JsonValue::MakeArray();
  for (const std::string& warning : warnings) list.Append(warning);
  return list;
}

}  // namespace tacet::app::privacy
