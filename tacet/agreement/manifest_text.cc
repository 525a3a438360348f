#include "tacet/agreement/manifest_text.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "fmt/core.h"
#include "fmt/ranges.h"

#include "tacet/accounting/guarantee_in_words.h"
#include "tacet/accounting/privacy_rows.h"
#include "tacet/agreement/charged_terms.h"
#include "tacet/agreement/member_keys.h"
#include "tacet/agreement/privacy_warnings.h"
#include "tacet/agreement/roster_differences.h"
#include "tacet/base/json_lists.h"
#include "tacet/base/status.h"
#include "tacet/dp/sum_limits.h"
#include "tacet/secagg/committee.h"
#include "tacet/secagg/upload.h"

namespace tacet::agreement {
namespace {

base::JsonValue ServerJson(const agreement::ManifestServer& server) {
  if (server.name.empty()) return base::JsonValue();
  return base::JsonValue::MakeObject()
      .Set("name", server.name)
      .Set("hosts", base::JsonList(server.hosts));
}

}  // namespace

std::string AgreementText(const agreement::Manifest& manifest) {
  const agreement::ManifestSpec& agreed = manifest.spec();
  const he::AggregationParams& aggregation = manifest.terms().aggregation();
  const dp::MechanismPlan& mechanism = manifest.terms().mechanism();
  std::string text =
      agreed.federated_part.empty()
          ? fmt::format("model       {}, {} parameters\n", agreed.model, agreed.dimension)
          : fmt::format("model       {}, {} parameters, of which {} are federated: {}\n",
                        agreed.model, agreed.whole_dimension, agreed.dimension,
                        agreed.federated_part);
  const bool clients = agreed.privacy.unit == accounting::Unit::kClient;
  const bool is_query = agreed.model == agreement::kQueryModel;
  if (clients) {
    text +=
        fmt::format("federation  {} clients, {} a round ({}), at least {} to decrypt, {} rounds\n",
                    agreed.sampling.clients, agreed.sampling.cohort,
                    accounting::SamplingName(*agreed.sampling.method),
                    agreed.sampling.min_participants, agreed.rounds);
    if (agreed.sampling.dummy_uploads) {
      text +=
          "            dummy uploads: clients that are not drawn upload zeros, so nobody sees the "
          "cohort\n";
    }
    if (agreed.sampling.max_participations != 0) {
      text += fmt::format("            a client gives its data to {} attempts at most\n",
                          agreed.sampling.max_participations);
    }
  } else {
    const std::string units =
        is_query ? fmt::format("at most {:.6g} a site", agreed.sampling.expected_batch)
                 : fmt::format("drawn with probability {}, {:.6g} expected a round",
                               agreed.sampling.record_rate, agreed.sampling.expected_batch);
    text += fmt::format(
        "federation  {} sites, all in every round, at least {} to decrypt, {} rounds; unit {}, "
        "{}\n",
        agreed.sampling.clients, agreed.sampling.min_participants, agreed.rounds,
        accounting::UnitName(agreed.privacy.unit), units);
  }
  const uint32_t uploads = agreement::ExpectedUploads(agreed);
  const double divisor = clients    ? static_cast<double>(agreed.sampling.cohort)
                         : is_query ? 1
                                    : agreed.sampling.expected_batch;
  const bool is_laplace = agreed.mechanism.noise_law == dp::NoiseLaw::kDiscreteLaplace;
  if (is_laplace) {
    text += fmt::format(
        "privacy     discrete Laplace noise in steps of {:.3g}, of deviation {:.4g} from any {} "
        "uploads together; what one unit can change adds up to {:.4g} at most\n",
        agreed.mechanism.scale, agreed.mechanism.noise_stddev, mechanism.spec().noise_shares,
        agreed.mechanism.clip_norm *
            (agreed.privacy.neighbouring == accounting::Neighbouring::kReplaceOne ? 2 : 1));
  } else {
    text += fmt::format(
        "privacy     clip norm {:.4g}, noise multiplier {:.4g} (deviation {:.4g} in the sum), "
        "quantised to {:.3g}: deviation of an average value "
        "{:.3g}, of which quantisation {:.2g}\n",
        agreed.mechanism.clip_norm, agreed.mechanism.noise_stddev / agreed.mechanism.clip_norm,
        agreed.mechanism.noise_stddev, agreed.mechanism.scale,
        mechanism.sum_stddev(uploads) / divisor,
        std::sqrt(mechanism.quantisation_variance(uploads)) / divisor);
  }
  if (!agreed.mechanism.without_clipping && uploads > 1) {
    text += fmt::format(
        "influence   honest updates add up to {:.4g} clip norms at most; a member that does not "
        "clip can reach {:.4g}, larger sums are refused\n",
        dp::SumLimitsOf(mechanism, uploads).updates_norm / agreed.mechanism.clip_norm,
        dp::ReachOfOne(mechanism, uploads) / agreed.mechanism.clip_norm);
  }
  text += fmt::format(
      "encryption  {}, {} bits a sum, {} values a coefficient, {} bytes an upload ({:.2f} of "
      "the plain float update)\n",
      he::SchemeName(aggregation.scheme()), aggregation.plaintext_bits(), aggregation.slots(),
      secagg::UploadBytes(aggregation),
      static_cast<double>(secagg::UploadBytes(aggregation)) /
          (4.0 * static_cast<double>(agreed.dimension)));
  if (agreed.committee.seats > 0 && !agreed.without_encryption) {
    const he::KeySharing& sharing = aggregation.sharing();
    text += fmt::format(
        "committee   {} members, of which {} may collude with the server; {} votes release a sum, "
        "so {} may be absent\n",
        agreed.committee.seats, agreed.committee.corrupt, sharing.votes(),
        agreed.committee.seats - sharing.votes());
  }
  if (const std::string rosters = agreement::RosterDifferenceText(agreed); !rosters.empty()) {
    text += fmt::format("rosters     {}\n", rosters);
  }
  return text;
}

std::string EpsilonLines(const agreement::Manifest& manifest,
                         const accounting::Guarantees& guarantees) {
  std::vector<const accounting::PrivacyRow*> rows;
  for (const accounting::PrivacyRow& row : guarantees.rows) {
    if (!row.hypothetical && guarantees.HeadlineOf(row.observer) == &row) rows.push_back(&row);
  }
  std::ranges::stable_sort(rows, std::ranges::greater(), [](const accounting::PrivacyRow* row) {
    return row->epsilon.value_or(0);
  });
  std::string text;
  for (const accounting::PrivacyRow* row : rows) {
    text += fmt::format("epsilon     {:.3f} at delta {:.3g} after {} attempts, against {} ({})\n",
                        row->epsilon.value_or(0), row->delta, manifest.attempt_budget(),
                        accounting::ObserverName(row->observer),
                        accounting::AccountantName(row->accountant));
  }
  return text.empty() ? "epsilon     no observer has a guarantee\n" : text;
}

std::string MembershipText(const agreement::SignedManifest& manifest) {
  const agreement::ManifestServer& server = manifest.server();
  std::string text = fmt::format(
      "name        {}, epoch {}\nidentity    {}\nmanifest    {}\nfollows     {}\ncoordinator {}\n"
      "server      {}\n",
      manifest.federation(), manifest.epoch(),
      agreement::FingerprintText(manifest.manifest().federation()),
      agreement::FingerprintText(manifest.manifest().hash()),
      manifest.epoch() == 0 ? "no other epoch" : agreement::FingerprintText(manifest.predecessor()),
      agreement::FingerprintText(manifest.coordinator()),
      server.name.empty() ? "none: members cannot connect in this epoch"
                          : fmt::format("{} at {}", server.name, fmt::join(server.hosts, ", ")));
  if (manifest.training() != 0) {
    text += fmt::format("training    another than the federation's first: it began with epoch {}\n",
                        manifest.training());
  }
  text += AgreementText(manifest.manifest());
  for (const agreement::ManifestMember& member : manifest.members()) {
    const auto number = static_cast<uint64_t>(&member - manifest.members().data());
    const bool seat = secagg::SeatOf(manifest.manifest().committee(), number).has_value();
    text += fmt::format("member      {:<40} {}{}\n", member.name,
                        agreement::FingerprintText(member.signing_key),
                        seat ? "  on the committee" : "");
  }
  return text;
}

absl::StatusOr<std::string> SignedManifestText(const agreement::SignedManifest& manifest) {
  const agreement::ManifestSpec& agreed = manifest.manifest().spec();
  const std::vector<agreement::ChargedTerms> permitted =
      agreement::PermittedTerms(manifest.manifest());
  TACET_ASSIGN_OR_RETURN(const accounting::Guarantees guarantees,
                         agreement::GuaranteesOf(permitted));
  TACET_ASSIGN_OR_RETURN(const accounting::PrivacyStatement statement,
                         agreement::StatePrivacy(permitted, guarantees));
  TACET_ASSIGN_OR_RETURN(const std::vector<std::string> warnings,
                         agreement::PrivacyWarnings(agreed));
  return fmt::format("{}\nThe guarantee covers {} round{} and {} spare attempt{}.\n\n{}{}",
                     MembershipText(manifest), agreed.rounds, agreed.rounds == 1 ? "" : "s",
                     agreed.spare_attempts, agreed.spare_attempts == 1 ? "" : "s",
                     accounting::StatementText(statement), agreement::WarningsText(warnings));
}

base::JsonValue SignedManifestJson(const agreement::SignedManifest& manifest,
                                   base::JsonValue privacy) {
  base::JsonValue members = base::JsonValue::MakeArray();
  for (const agreement::ManifestMember& member : manifest.members()) {
    members.Append(base::JsonValue::MakeObject()
                       .Set("name", member.name)
                       .Set("signing_key", base::ToHex(member.signing_key)));
  }
  const agreement::ManifestSpec& agreed = manifest.manifest().spec();
  return base::JsonValue::MakeObject()
      .Set("federation", manifest.federation())
      .Set("identity", base::ToHex(manifest.manifest().federation()))
      .Set("epoch", manifest.epoch())
      .Set("training", manifest.training())
      .Set("predecessor", manifest.epoch() == 0
                              ? base::JsonValue()
                              : base::JsonValue(base::ToHex(manifest.predecessor())))
      .Set("manifest_hash", base::ToHex(manifest.manifest().hash()))
      .Set("agreement", base::ToHex(manifest.manifest().agreement()))
      .Set("coordinator", base::ToHex(manifest.coordinator()))
      .Set("server", ServerJson(manifest.server()))
      .Set("members", std::move(members))
      .Set("model", agreed.model)
      .Set("dimension", agreed.dimension)
      .Set("cohort", agreed.sampling.cohort)
      .Set("min_participants", agreed.sampling.min_participants)
      .Set("rounds", agreed.rounds)
      .Set("noise_law", dp::NoiseLawName(agreed.mechanism.noise_law))
      .Set("noise_stddev", agreed.mechanism.noise_stddev)
      .Set("clip_norm", agreed.mechanism.clip_norm)
      .Set("delta", agreed.privacy.delta)
      .Set("privacy", std::move(privacy));
}

}  // namespace tacet::agreement
