#include <cmath>
#include <string>
#include <utility>

#include "fmt/core.h"

#include "lab/reproduce/remark_modulus.h"
#include "lab/reproduce/reproduce.h"
#include "tacet/accounting/epsilon_bounds.h"
#include "tacet/audit/commit.h"
#include "tacet/base/status.h"

namespace tacet::app::reproduce {
namespace {

constexpr uint64_t kDrawnSums = 8192;
constexpr double kPaperDimension = 486'654;

absl::StatusOr<Reproduced> Modulus() {
  Reproduced made{.json = base::JsonValue::MakeArray(), .text = {}};
  made.text =
      "Modulus: K = 1000, S = 1, sigma = 6, s = 1e-4. Share of sums decoded wrong, % of those "
      "drawn.\n";
  for (const double bound : {1.0, 0.1}) {
    TACET_ASSIGN_OR_RETURN(const ModulusStudy study, StudyModulus(bound, kDrawnSums));
    base::JsonValue points = base::JsonValue::MakeArray();
    made.text += fmt::format(
        "  coordinates within {:g}: sums {:.3g} +- {:.2g}; proved for all rounds from {} bits "
        "(plain), {} bits (centred)\n",
        bound, study.mean, study.deviation, study.plain_bits, study.centred_bits);
    std::string head = "    bits    ", plain = "    plain   ", centred = "    centred ";
    for (const ModulusPoint& point : study.points) {
      head += fmt::format("{:>8}", point.bits);
      plain += fmt::format("{:>8.2f}", 100 * point.plain_wrong);
      centred += fmt::format("{:>8.2f}", 100 * point.centred_wrong);
      points.Append(base::JsonValue::MakeObject()
                        .Set("bits", point.bits)
                        .Set("plain_wrong", point.plain_wrong)
                        .Set("centred_wrong", point.centred_wrong));
    }
    made.text += head + "\n" + plain + "\n" + centred + "\n";
    made.json.Append(base::JsonValue::MakeObject()
                         .Set("coordinate_bound", bound)
                         .Set("mean", study.mean)
                         .Set("deviation", study.deviation)
                         .Set("bound", study.bound)
                         .Set("plain_bits", study.plain_bits)
                         .Set("centred_bits", study.centred_bits)
                         .Set("drawn_sums", kDrawnSums)
                         .Set("points", std::move(points)));
  }
  return made;
}

// One short run of configs/remarks.toml with a change.
absl::StatusOr<base::JsonValue> ShortRun(const ReproduceFlags& flags,
                                         const std::filesystem::path& out,
                                         const config::RunConfig& config, const std::string& name,
                                         const std::string& title) {
  return RunExperiment(MakeExperiment(name, title, std::nullopt, "tacet-lab reproduce remarks",
                                      config, flags.experiment),
                       out, flags.progress);
}

absl::StatusOr<Reproduced> Scale(const ReproduceFlags& flags, const std::filesystem::path& out,
                                 const config::RunConfig& config) {
  Reproduced made{.json = base::JsonValue::MakeArray(), .text = {}};
  made.text = fmt::format(
      "Scale s: {}, {} rounds. Poisson quantisation never costs privacy, only accuracy.\n"
      "{:>12}{:>14}{:>12}{:>14}\n",
      config.model.name, flags.experiment.rounds.value_or(config.agreement.rounds), "s",
      "accuracy %", "epsilon", "upload bytes");
  for (const double factor : {1.0, 10.0, 100.0, 1000.0, 10000.0}) {
    config::RunConfig changed = config;
    changed.agreement.mechanism.scale = config.agreement.mechanism.scale / 10 * factor;
    const std::string scale = fmt::format("{:g}", changed.agreement.mechanism.scale);
    TACET_ASSIGN_OR_RETURN(base::JsonValue record, ShortRun(flags, out, changed, "scale-" + scale,
                                                            "quantised to " + scale));
    made.text += fmt::format("{:>12}{:>14.2f}{:>12.3f}{:>14.0f}\n", scale,
                             100 * NumberIn(record, "accuracy").value_or(0),
                             NumberIn(record, "epsilon").value_or(0),
                             NumberIn(record, "upload_bytes").value_or(0));
    made.json.Append(std::move(record));
  }
  return made;
}

absl::StatusOr<Reproduced> LocalPrivacy(const ReproduceFlags& flags,
                                        const std::filesystem::path& out,
                                        const config::RunConfig& config) {
  config::RunConfig changed = config;
  changed.agreement.mechanism.noise_stddev *=
      std::sqrt(static_cast<double>(config.agreement.sampling.cohort));
  TACET_ASSIGN_OR_RETURN(
      base::JsonValue record,
      ShortRun(flags, out, changed, "local", "every participant adds the whole noise itself"));
  const std::string text = fmt::format(
      "Local privacy: noise of sqrt(K) sigma = {:.1f} in the sum leaves {:.2f} % after {:.0f} "
      "rounds (before training: {:.2f} %).\n",
      changed.agreement.mechanism.noise_stddev, 100 * NumberIn(record, "accuracy").value_or(0),
      NumberIn(record, "rounds").value_or(0),
      100 * NumberIn(record, "accuracy_before").value_or(0));
  return Reproduced{.json = std::move(record), .text = text};
}

// Rounding to multiples of s instead of Poisson quantisation moves each coordinate by up to s/2, so
// two updates that were 2 S apart may become 2 S + s sqrt(d) apart: what noise behind it then
// guarantees, by the paper's accountant, at S = 1, sigma = 6 and the paper's d, K, M, T.
absl::StatusOr<Reproduced> Rounding() {
  Reproduced made{.json = base::JsonValue::MakeArray(), .text = {}};
  made.text = fmt::format(
      "Rounding instead of Poisson quantisation, S = 1, sigma = 6, d = 486654: the sensitivity "
      "grows from 2 S to 2 S + s sqrt(d).\n{:>12}{:>14}{:>18}{:>18}\n",
      "s", "sensitivity", "epsilon, rounded", "epsilon, Poisson");
  const auto by_moments = [](const accounting::SamplingEvent& event) -> absl::StatusOr<double> {
    constexpr accounting::Accountant kMoments[] = {accounting::Accountant::kMoments};
    TACET_ASSIGN_OR_RETURN(
        const accounting::EpsilonBounds bounds,
        accounting::BoundEpsilon(accounting::Repeated(event, 100), 1e-5, kMoments));
    return bounds.rows.front().epsilon;
  };
  accounting::SamplingEvent event{.sampling_rate = 1000.0 / 3596, .noise_stddev = 6};
  TACET_ASSIGN_OR_RETURN(const double poisson, by_moments(event));
  for (const double scale : {1e-5, 1e-4, 1e-3, 1e-2}) {
    const double sensitivity = 2 + scale * std::sqrt(kPaperDimension);
    event.clip_norm = sensitivity / 2;
    TACET_ASSIGN_OR_RETURN(const double rounded, by_moments(event));
    made.text +=
        fmt::format("{:>12g}{:>14.4f}{:>18.3f}{:>18.3f}\n", scale, sensitivity, rounded, poisson);
    made.json.Append(base::JsonValue::MakeObject()
                         .Set("scale", scale)
                         .Set("sensitivity", sensitivity)
                         .Set("epsilon_rounded", rounded)
                         .Set("epsilon_poisson", poisson));
  }
  return made;
}

}  // namespace

absl::StatusOr<Reproduced> ReproduceRemarks(const ReproduceFlags& flags) {
  TACET_ASSIGN_OR_RETURN(const std::filesystem::path out, FolderOf(flags, "remarks"));
  TACET_ASSIGN_OR_RETURN(const std::filesystem::path configs, ConfigFolder(flags, "configs"));
  TACET_ASSIGN_OR_RETURN(const config::RunConfig config,
                         config::LoadRunConfig((configs / "remarks.toml").string()));
  TACET_ASSIGN_OR_RETURN(Reproduced modulus, Modulus());
  TACET_ASSIGN_OR_RETURN(Reproduced rounding, Rounding());
  TACET_ASSIGN_OR_RETURN(Reproduced scale, Scale(flags, out, config));
  TACET_ASSIGN_OR_RETURN(Reproduced local, LocalPrivacy(flags, out, config));
  Reproduced made{
      .json = base::JsonValue::MakeObject()
                  .Set("commit", audit::BuildCommit())
                  .Set("modulus", std::move(modulus.json))
                  .Set("scale", std::move(scale.json))
                  .Set("local", std::move(local.json))
                  .Set("rounding", std::move(rounding.json)),
      .text = "\n" + modulus.text + "\n" + scale.text + "\n" + local.text + "\n" + rounding.text};
  TACET_RETURN_IF_ERROR(WriteRecords(out, "remarks", made.json));
  made.text += fmt::format("\nresults     {}\n", (out / "remarks.json").string());
  return made;
}

}  // namespace tacet::app::reproduce
