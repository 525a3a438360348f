#include "tacet/agreement/privacy_warnings.h"

#include <cmath>
#include <optional>

#include "fmt/format.h"

#include "tacet/accounting/privacy_rows.h"
#include "tacet/base/status.h"

namespace tacet::agreement {

using accounting::FederationPrivacySpec;
using accounting::Unit;

namespace {

struct UnitCount {
  double number = 0;  // 0: not known
  std::string_view name;
};

UnitCount UnitsOf(const FederationPrivacySpec& spec) {
  if (spec.privacy.unit == Unit::kClient) {
    return {.number = static_cast<double>(spec.sampling.clients), .name = "clients"};
  }
  const double number =
      spec.sampling.record_rate > 0 ? spec.sampling.expected_batch / spec.sampling.record_rate : 0;
  return {.number = number, .name = spec.privacy.unit == Unit::kPerson ? "people" : "records"};
}

std::optional<std::string> DeltaWarning(const FederationPrivacySpec& spec) {
  const UnitCount units = UnitsOf(spec);
  if (units.number < 1 || spec.privacy.delta * units.number < 1) return std::nullopt;
  return fmt::format(
      "delta is {:.4g} for {:.6g} {}: publishing the data of one of them, drawn at random, would "
      "satisfy it; set `privacy.delta` well below {:.2g}",
      spec.privacy.delta, units.number, units.name, 1 / units.number);
}

std::optional<std::string> NoiseWarning(const FederationPrivacySpec& spec, uint64_t dimension) {
  const double ratio = NoiseOverClipNorm(spec, dimension);
  const double limit = kDrowningRatio * std::sqrt(static_cast<double>(spec.rounds));
  if (!(ratio > limit)) return std::nullopt;
  const bool clients = spec.privacy.unit == Unit::kClient;
  return fmt::format(
      "the noise drowns the update: in the average of one round its norm over {} parameters is "
      "{:.3g} times the clip norm, and the limit for a run of {} rounds is {:.3g} times; {}, "
      "choose "
      "a smaller model or {}",
      dimension, ratio, spec.rounds, limit,
      clients ? "raise `federation.cohort`" : "raise `privacy.record_rate`",
      spec.privacy.target_epsilon > 0 ? "raise `privacy.target_epsilon`"
                                      : "lower `privacy.noise_multiplier`");
}

absl::StatusOr<std::optional<std::string>> EpsilonWarning(const FederationPrivacySpec& spec) {
  TACET_ASSIGN_OR_RETURN(const accounting::Guarantees guarantees,
                         accounting::GuaranteesOf(spec, accounting::Extent::kHeadline));
  const double epsilon = guarantees.epsilon();
  if (epsilon <= agreement::kMaxUsefulEpsilon) return std::optional<std::string>();
  return std::optional<std::string>(fmt::format(
      "epsilon is {:.4g} for observer {} at noise {:.4g} and clip norm {:.4g}, and above {:g} "
      "nobody is protected from that observer: {}",
      epsilon, accounting::ObserverName(guarantees.worst_observed.observer),
      spec.mechanism.noise_stddev, spec.mechanism.clip_norm, agreement::kMaxUsefulEpsilon,
      spec.privacy.target_epsilon > 0 ? "lower `privacy.target_epsilon`"
                                      : "raise `privacy.noise_multiplier`"));
}

}  // namespace

double NoiseOverClipNorm(const FederationPrivacySpec& given, uint64_t dimension) {
  const FederationPrivacySpec spec = accounting::Resolved(given);
  const accounting::SamplingParams& sampling = spec.sampling;
  const auto cohort = static_cast<double>(sampling.cohort);
  const double uploads = sampling.dummy_uploads ? static_cast<double>(spec.pool) : cohort;
  const auto shares = static_cast<double>(accounting::NoiseShares(spec));
  const double divisor = spec.privacy.unit == Unit::kClient ? cohort : sampling.expected_batch;
  const double clip_norm = spec.mechanism.clip_norm;
  if (dimension == 0 || !(divisor > 0) || !(shares > 0) || !(clip_norm > 0)) return 0;
  return std::sqrt(static_cast<double>(dimension) * uploads / shares) *
         spec.mechanism.noise_stddev / (divisor * clip_norm);
}

absl::StatusOr<std::vector<std::string>> PrivacyWarnings(const FederationPrivacySpec& spec,
                                                         uint64_t dimension) {
  std::vector<std::string> warnings;
  if (spec.mechanism.noise_stddev == 0 || !spec.mechanism.makes_guarantee()) return warnings;
  TACET_RETURN_IF_ERROR(accounting::CheckFederation(spec));
  TACET_ASSIGN_OR_RETURN(const std::optional<std::string> epsilon, EpsilonWarning(spec));
  for (const std::optional<std::string>& warning :
       {DeltaWarning(spec), NoiseWarning(spec, dimension), epsilon}) {
    if (warning.has_value()) warnings.push_back(*warning);
  }
  return warnings;
}

absl::StatusOr<std::vector<std::string>> PrivacyWarnings(const agreement::ManifestSpec& agreed) {
  // Each answer of a query states its own error; no average is trained with.
  const uint64_t dimension = agreed.model == agreement::kQueryModel ? 0 : agreed.dimension;
  return PrivacyWarnings(agreement::PrivacyOf(agreed, agreed.rounds), dimension);
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

}  // namespace tacet::agreement
