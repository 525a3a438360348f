#include "lab/reproduce/reproduce_hospitals.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "fmt/core.h"

#include "lab/reproduce/experiment.h"
#include "lab/reproduce/hospital_comparisons.h"
#include "lab/reproduce/hospital_trials.h"
#include "tacet/base/mutex.h"
#include "tacet/base/parallel.h"
#include "tacet/base/status.h"
#include "tacet/config/configured_data.h"
#include "tacet/config/run_config.h"

namespace tacet::app::reproduce {
namespace {

constexpr double kNoBound = std::numeric_limits<double>::infinity();
// For the comparisons that are printed; the record has those of every epsilon.
constexpr double kComparedEpsilon = 2;

std::string EpsilonText(double epsilon) {
  return std::isfinite(epsilon) ? fmt::format("{:g}", epsilon) : std::string("inf");
}

// Mean and deviation over trials; absent values do not count.
struct Summary {
  double mean = 0;
  double deviation = 0;
  size_t count = 0;
};

Summary Summarise(std::span<const double> values) {
  Summary summary{.count = values.size()};
  const auto count = static_cast<double>(values.size());
  for (const double value : values) summary.mean += value / count;
  double square = 0;
  for (const double value : values) square += (value - summary.mean) * (value - summary.mean);
  if (values.size() > 1) summary.deviation = std::sqrt(square / (count - 1));
  return summary;
}

base::JsonValue Json(const Summary& summary) {
  if (summary.count == 0) return base::JsonValue();
  return base::JsonValue::MakeObject()
      .Set("mean", summary.mean)
      .Set("deviation", summary.deviation)
      .Set("trials", static_cast<uint64_t>(summary.count));
}

// One line of the table: all trials of the variants that it sums up.
struct Line {
  std::string name;
  double epsilon = kNoBound;
  std::string title;
  std::vector<double> auc, accuracy;              // held-out patients of all hospitals
  std::vector<std::vector<double>> hospital_auc;  // where the data were, or were not
  double noise = 0;
  double ledger_epsilon = kNoBound;
};

std::string TitleOf(const std::string& name) {
  if (name == "record") return "together, each record protected";
  if (name == "client") return "together, each hospital protected";
  if (name == "pooled") return "all data in one place";
  if (name == "alone") return "each hospital alone";
  return "by the others, each record protected";
}

std::vector<Line> Lines(const std::vector<HospitalVariant>& variants,
                        const std::vector<std::vector<HospitalTrial>>& trials, uint64_t hospitals) {
  std::vector<Line> lines;
  for (size_t v = 0; v < variants.size(); ++v) {
    const HospitalVariant& variant = variants[v];
    auto line = std::ranges::find_if(lines, [&](const Line& known) {
      return known.name == variant.name && known.epsilon == variant.epsilon;
    });
    if (line == lines.end()) {
      lines.push_back({.name = variant.name,
                       .epsilon = variant.epsilon,
                       .title = TitleOf(variant.name),
                       .auc = {},
                       .accuracy = {},
                       .hospital_auc = std::vector<std::vector<double>>(hospitals)});
      line = lines.end() - 1;
    }
    for (const HospitalTrial& trial : trials[v]) {
      if (variant.name != "record-left-out") {
        if (trial.all.auc) line->auc.push_back(*trial.all.auc);
        line->accuracy.push_back(trial.all.accuracy);
      }
      for (uint64_t h = 0; h < hospitals; ++h) {
        if (variant.hospital.has_value() && h != *variant.hospital) continue;
        if (trial.by_hospital[h].auc) line->hospital_auc[h].push_back(*trial.by_hospital[h].auc);
        if (variant.name == "record-left-out") {
          line->accuracy.push_back(trial.by_hospital[h].accuracy);
        }
      }
      line->noise = trial.noise;
      line->ledger_epsilon = trial.epsilon;
    }
  }
  return lines;
}

// The mean over hospitals of what each one's own patients see.
double MeanOfHospitals(const Line& line) {
  double sum = 0;
  double count = 0;
  for (const std::vector<double>& values : line.hospital_auc) {
    if (values.empty()) continue;
    sum += Summarise(values).mean;
    count += 1;
  }
  return count > 0 ? sum / count : 0;
}

std::string Table(const std::vector<Line>& lines, const data::Dataset& dataset) {
  std::string text = fmt::format("{:<38}{:>8}{:>9}{:>18}{:>18}{:>10}", "", "epsilon", "noise",
                                 "AUC, all", "accuracy %", "AUC, own");
  for (uint64_t h = 0; h < dataset.clients(); ++h) {
    const std::string& name = dataset.client_name(h);
    text += fmt::format("{:>13}", name.substr(name.rfind('.') + 1).substr(0, 12));
  }
  text += "\n";
  for (const Line& line : lines) {
    const Summary auc = Summarise(line.auc);
    const Summary accuracy = Summarise(line.accuracy);
    text += fmt::format(
        "{:<38}{:>8}{:>9.3f}{:>18}{:>18}{:>10.4f}", line.title, EpsilonText(line.epsilon),
        line.noise, auc.count > 0 ? fmt::format("{:.4f} +- {:.4f}", auc.mean, auc.deviation) : "-",
        fmt::format("{:.2f} +- {:.2f}", 100 * accuracy.mean, 100 * accuracy.deviation),
        MeanOfHospitals(line));
    for (const std::vector<double>& values : line.hospital_auc) {
      text += values.empty() ? fmt::format("{:>13}", "-")
                             : fmt::format("{:>13.4f}", Summarise(values).mean);
    }
    text += "\n";
  }
  return text;
}

base::JsonValue LineJson(const Line& line, const data::Dataset& dataset) {
  base::JsonValue hospitals = base::JsonValue::MakeObject();
  for (uint64_t h = 0; h < dataset.clients(); ++h) {
    hospitals.Set(dataset.client_name(h), Json(Summarise(line.hospital_auc[h])));
  }
  return base::JsonValue::MakeObject()
      .Set("variant", line.name)
      .Set("title", line.title)
      .Set("epsilon",
           std::isfinite(line.epsilon) ? base::JsonValue(line.epsilon) : base::JsonValue())
      .Set("ledger_epsilon", std::isfinite(line.ledger_epsilon)
                                 ? base::JsonValue(line.ledger_epsilon)
                                 : base::JsonValue())
      .Set("noise_stddev", line.noise)
      .Set("auc", Json(Summarise(line.auc)))
      .Set("accuracy", Json(Summarise(line.accuracy)))
      .Set("auc_mean_of_hospitals", MeanOfHospitals(line))
      .Set("auc_by_hospital", std::move(hospitals));
}

std::string Csv(const std::vector<HospitalVariant>& variants,
                const std::vector<std::vector<HospitalTrial>>& trials,
                const data::Dataset& dataset) {
  std::string text = "variant,hospital,epsilon,seed,noise,auc,accuracy";
  for (uint64_t h = 0; h < dataset.clients(); ++h)
    text += fmt::format(",auc_{}", dataset.client_name(h));
  text += "\n";
  const auto number = [](const std::optional<double>& value) {
    return value.has_value() ? fmt::format("{:.6f}", *value) : std::string();
  };
  for (size_t v = 0; v < variants.size(); ++v) {
    for (const HospitalTrial& trial : trials[v]) {
      text += fmt::format("{},{},{},{},{:.6g},{},{:.6f}", variants[v].name,
                          variants[v].hospital ? dataset.client_name(*variants[v].hospital) : "",
                          EpsilonText(variants[v].epsilon), trial.seed, trial.noise,
                          number(trial.all.auc), trial.all.accuracy);
      for (const training::Quality& quality : trial.by_hospital)
        text += fmt::format(",{}", number(quality.auc));
      text += "\n";
    }
  }
  return text;
}

}  // namespace

absl::StatusOr<HospitalsResult> ReproduceHospitals(const HospitalsFlags& flags) {
  if (flags.seeds < 2) return base::InvalidArgument("seeds is {}, expected 2 or more", flags.seeds);
  if (flags.data.empty()) {
    return base::InvalidArgument(
        "--data is missing: the folder with the hospitals' files (docs/guide/hospitals.md)");
  }
  TACET_ASSIGN_OR_RETURN(config::RunConfig config, config::LoadRunConfig(flags.config));
  config.data.path = flags.data;
  config.agreement.without_encryption = !flags.encrypt;
  TACET_ASSIGN_OR_RETURN(data::Dataset loaded, config::LoadRunData(config));
  HospitalTrials hospital_trials(config, std::move(loaded));
  TACET_RETURN_IF_ERROR(hospital_trials.Prepare());
  const data::Dataset& dataset = hospital_trials.dataset();

  const std::vector<HospitalVariant> variants = HospitalVariants(dataset.clients());
  std::vector<std::vector<HospitalTrial>> trials(variants.size(),
                                                 std::vector<HospitalTrial>(flags.seeds));
  const size_t jobs = variants.size() * flags.seeds;
  std::atomic<size_t> next = 0;
  struct {
    base::Mutex mutex;  // of `trials`, too
    absl::Status failure ABSL_GUARDED_BY(mutex);
  } shared;
  const size_t threads = flags.threads != 0 ? flags.threads : base::Processors();
  fmt::print(flags.progress, "{} trainings on {} patients of {} hospitals\n", jobs,
             dataset.samples(), dataset.clients());
  base::RunOnThreads(std::min(threads, jobs), [&](size_t) {
    for (size_t job = next++; job < jobs; job = next++) {
      const size_t v = job / flags.seeds;
      const size_t i = job % flags.seeds;
      absl::StatusOr<HospitalTrial> trial = hospital_trials.Run(variants[v], flags.first_seed + i);
      const base::MutexLock lock(shared.mutex);
      if (!trial.ok()) {
        shared.failure.Update(trial.status());
        next = jobs;
        return;
      }
      trials[v][i] = *std::move(trial);
      if (i + 1 == flags.seeds) {
        fmt::print(flags.progress, "{} of {} variants begun, {} at epsilon {}\n", v + 1,
                   variants.size(), variants[v].name, EpsilonText(variants[v].epsilon));
        std::fflush(flags.progress);
      }
    }
  });
  {
    const base::MutexLock lock(shared.mutex);
    TACET_RETURN_IF_ERROR(shared.failure);
  }

  const std::vector<Line> lines = Lines(variants, trials, dataset.clients());
  base::JsonValue rows = base::JsonValue::MakeArray();
  for (const Line& line : lines) rows.Append(LineJson(line, dataset));
  const double held_out = config.data.held_out;
  const double test_over_train = held_out / (1 - held_out);
  std::vector<std::string> names;
  for (uint64_t h = 0; h < dataset.clients(); ++h) names.push_back(dataset.client_name(h));
  const std::vector<HospitalComparison> comparisons =
      CompareHospitals(variants, trials, names, test_over_train);
  base::JsonValue labels = base::JsonValue::MakeArray().Append("insecure-seed");
  if (!flags.encrypt) labels.Append("no-encryption");
  HospitalsResult result;
  result.json =
      base::JsonValue::MakeObject()
          .Set("command", flags.command)
          .Set("labels", std::move(labels))
          .Set("encrypted", flags.encrypt)
          .Set("model", config.model.name)
          .Set("rounds", config.agreement.rounds)
          .Set("record_rate", config.agreement.sampling.record_rate)
          .Set("clip_norm", config.agreement.mechanism.clip_norm)
          .Set("neighbouring", accounting::NeighbouringName(config.agreement.privacy.neighbouring))
          .Set("delta", config.agreement.privacy.delta)
          .Set("first_seed", flags.first_seed)
          .Set("seeds", flags.seeds)
          .Set("patients", dataset.samples())
          .Set("test_over_train", test_over_train)
          .Set("rows", std::move(rows))
          .Set("comparisons", ComparisonsJson(comparisons));
  result.text = Table(lines, dataset) + "\n" + ComparisonsText(comparisons, kComparedEpsilon);
  TACET_RETURN_IF_ERROR(WriteRecords(flags.out, "hospitals", result.json));
  TACET_RETURN_IF_ERROR(WriteText(std::filesystem::path(flags.out) / "hospitals.csv",
                                  Csv(variants, trials, dataset)));
  return result;
}

}  // namespace tacet::app::reproduce
