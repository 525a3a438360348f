#include "lab/reproduce/experiment.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <system_error>
#include <utility>

#include "fmt/core.h"
#include "fmt/ranges.h"

#include "apps/tacet/program/console.h"
#include "apps/tacet/simulate/training_run.h"
#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/crypto/hash.h"
#include "tacet/run/run_output.h"
#include "tacet/storage/file/posix_file.h"

namespace tacet::app::reproduce {
namespace {

namespace fs = std::filesystem;
using storage::file::RunDirectory;

absl::StatusOr<base::JsonValue> ReadJson(const fs::path& path) {
  TACET_ASSIGN_OR_RETURN(const base::Bytes text, storage::file::ReadFile(path));
  absl::StatusOr<base::JsonValue> value = base::JsonValue::Parse(base::AsText(text));
  if (!value.ok()) return base::DataLoss("{}: {}", path.string(), base::Message(value.status()));
  return value;
}

const base::JsonValue* Member(const base::JsonValue& object, std::string_view path) {
  const base::JsonValue* at = &object;
  while (at != nullptr) {
    const size_t point = path.find('.');
    at = at->Find(path.substr(0, point));
    if (point == path.npos) return at;
    path.remove_prefix(point + 1);
  }
  return nullptr;
}

// A copy; null when there is none.
base::JsonValue MemberOrNull(const base::JsonValue& object, std::string_view path) {
  const base::JsonValue* member = Member(object, path);
  return member == nullptr ? base::JsonValue() : *member;
}

std::string ConfigDigest(config::RunConfig config) {
  config.data.path.clear();
  config.run.threads = 0;
  config.model.start.clear();  // named by the digest of its content
  return base::ToHex(crypto::Sha256(base::AsBytes(config::RunConfigToml(config))));
}

// Totals over the lines of metrics.jsonl, whichever process wrote them.
struct Course {
  double total = 0;
  base::JsonValue phases = base::JsonValue::MakeObject();
  base::JsonValue curve =
      base::JsonValue::MakeArray();  // [rounds, accuracy], where it was evaluated
  double privacy_share = 0;
  double upload_bytes = 0;
};

absl::StatusOr<Course> ReadCourse(const RunDirectory& directory) {
  TACET_ASSIGN_OR_RETURN(const std::vector<std::string> lines,
                         directory.ReadLines(run::kMetricsFile));
  Course course;
  constexpr std::array<std::string_view, 6> kPhases = {"sample", "train", "seal",
                                                       "add",    "open",  "evaluate"};
  std::array<double, 6> sums{};
  for (const std::string& text : lines) {
    TACET_ASSIGN_OR_RETURN(const base::JsonValue line, base::JsonValue::Parse(text));
    const base::JsonValue* seconds = line.Find("seconds");
    if (seconds == nullptr) continue;
    course.total += NumberIn(*seconds, "total").value_or(0);
    for (size_t i = 0; i < kPhases.size(); ++i) {
      sums[i] += NumberIn(*seconds, kPhases[i]).value_or(0);
    }
    course.upload_bytes = NumberIn(line, "upload_bytes").value_or(0);
    const std::optional<double> accuracy = NumberIn(line, "accuracy");
    if (!accuracy.has_value()) continue;
    course.curve.Append(base::JsonValue::MakeArray()
                            .Append(NumberIn(line, "round").value_or(0) + 1)
                            .Append(*accuracy));
  }
  for (size_t i = 0; i < kPhases.size(); ++i) course.phases.Set(kPhases[i], sums[i]);
  if (course.total > 0) course.privacy_share = (sums[2] + sums[3] + sums[4]) / course.total;
  return course;
}

base::JsonValue SettingJson(const config::RunConfig& config, const base::JsonValue& summary) {
  const agreement::ManifestSpec& agreed = config.agreement;
  const accounting::SamplingParams sampling =
      accounting::Resolved(agreed.sampling, agreed.privacy,
                           static_cast<uint64_t>(NumberIn(summary, "clients").value_or(0)),
                           accounting::Purpose::kTraining);
  return base::JsonValue::MakeObject()
      .Set("model", config.model.name)
      .Set("clients", MemberOrNull(summary, "clients"))
      .Set("cohort", sampling.cohort)
      .Set("sampling", accounting::SamplingName(*sampling.method))
      .Set("dummy_uploads", sampling.dummy_uploads)
      .Set("min_participants", sampling.min_participants)
      .Set("weights", config.federation.weights)
      .Set("clip_norm", agreed.mechanism.clip_norm)
      .Set("coordinate_bound", agreed.mechanism.coordinate_bound)
      .Set("noise_multiplier", agreed.mechanism.without_noise
                                   ? 0
                                   : agreed.mechanism.noise_stddev / agreed.mechanism.clip_norm)
      .Set("noise_stddev", agreed.mechanism.without_noise ? 0 : agreed.mechanism.noise_stddev)
      .Set("scale", agreed.mechanism.scale)
      .Set("parameters", he::SchemeName(agreed.scheme))
      .Set("local_rate", base::JsonValue::MakeArray()
                             .Append(config.training.learning_rate)
                             .Append(config.training.learning_rate_final))
      .Set("server_rate", base::JsonValue::MakeArray()
                              .Append(agreed.optimizer.learning_rate)
                              .Append(agreed.optimizer.learning_rate_final))
      .Set("momentum", agreed.optimizer.momentum);
}

// The first row about an external observer in a list of a summary's privacy rows, by that
// accountant unless the name is empty; null where there is none with an epsilon.
const base::JsonValue* ExternalObserverRow(const base::JsonValue& summary, std::string_view list,
                                           std::string_view accountant) {
  const base::JsonValue* privacy = summary.Find("privacy");
  const base::JsonValue* rows = privacy == nullptr ? nullptr : privacy->Find(list);
  if (rows == nullptr) return nullptr;
  for (const base::JsonValue& row : rows->items()) {
    const bool named = accountant.empty() || TextIn(row, "name") == accountant;
    if (named && TextIn(row, "observer") == "external" && NumberIn(row, "epsilon").has_value()) {
      return &row;
    }
  }
  return nullptr;
}

absl::StatusOr<base::JsonValue> RecordOf(const Experiment& experiment,
                                         const RunDirectory& directory,
                                         const base::JsonValue& summary) {
  TACET_ASSIGN_OR_RETURN(const Course course, ReadCourse(directory));
  const config::RunConfig& config = experiment.config;
  std::string commit = TextIn(summary, "commit");
  if (commit.empty()) {  // written before summaries told it
    const absl::StatusOr<base::JsonValue> start = ReadJson(directory.path() / run::kStartFile);
    commit = start.ok() ? TextIn(*start, "commit") : "";
  }
  base::JsonValue labels = base::JsonValue::MakeArray();
  for (const std::string& label : experiment.labels) labels.Append(label);
  if (const base::JsonValue* run = summary.Find("labels")) {
    for (const base::JsonValue& label : run->items()) labels.Append(label);
  }
  base::JsonValue start_digest;
  if (!config.model.start.empty()) {
    TACET_ASSIGN_OR_RETURN(const base::Bytes start, storage::file::ReadFile(config.model.start));
    start_digest = base::ToHex(crypto::Sha256(start));
  }
  // Rows of the paper are about an external observer, who knows no cohort.
  const base::JsonValue* published = ExternalObserverRow(summary, "accountants", "moments");
  const base::JsonValue* tighter = ExternalObserverRow(summary, "headlines", "");
  base::JsonValue record = base::JsonValue::MakeObject();
  return record.Set("name", experiment.name)
      .Set("row", experiment.row)
      .Set("title", experiment.title)
      .Set("command", experiment.command)
      .Set("commit", commit.empty() ? "unknown" : commit)
      .Set("seconds", course.total)
      .Set("rounds", MemberOrNull(summary, "rounds"))
      .Set("accuracy", MemberOrNull(summary, "accuracy"))
      .Set("published_accuracy",
           experiment.published ? base::JsonValue(*experiment.published) : base::JsonValue())
      .Set("epsilon", published ? *published->Find("epsilon") : base::JsonValue())
      .Set("delta", MemberOrNull(summary, "delta"))
      .Set("accountant", published ? base::JsonValue("moments") : base::JsonValue())
      .Set("tighter", tighter ? base::JsonValue::MakeObject()
                                    .Set("epsilon", *tighter->Find("epsilon"))
                                    .Set("accountant", *tighter->Find("name"))
                              : base::JsonValue())
      .Set("worst_epsilon", MemberOrNull(summary, "epsilon"))
      .Set("charged_attempts", MemberOrNull(summary, "charged_attempts"))
      .Set("stopped", MemberOrNull(summary, "stopped"))
      .Set("seeds", base::JsonValue::MakeObject()
                        .Set("seed", config.run.seed)
                        .Set("insecure_seed", config.run.insecure_seed
                                                  ? base::JsonValue(*config.run.insecure_seed)
                                                  : base::JsonValue()))
      .Set("labels", std::move(labels))
      .Set("setting", SettingJson(config, summary))
      .Set("config_sha256", ConfigDigest(config))
      .Set("start_sha256", start_digest)
      .Set("precision", config.training.precision)
      .Set("machine", MemberOrNull(summary, "machine"))
      .Set("accuracy_before", MemberOrNull(summary, "accuracy_before"))
      .Set("loss", MemberOrNull(summary, "loss"))
      .Set("seconds_by_phase", course.phases)
      .Set("privacy_share", course.privacy_share)
      .Set("upload_bytes", course.upload_bytes)
      .Set("curve", course.curve);
}

// summary.json of a run that came to its end.
absl::StatusOr<std::optional<base::JsonValue>> FinishedSummary(const RunDirectory& directory,
                                                               const config::RunConfig& config) {
  const fs::path path = directory.path() / run::kSummaryFile;
  std::error_code error;
  if (!fs::exists(path, error)) return std::nullopt;
  TACET_ASSIGN_OR_RETURN(base::JsonValue summary, ReadJson(path));
  const bool ended = NumberIn(summary, "rounds") == static_cast<double>(config.agreement.rounds) ||
                     !TextIn(summary, "stopped").empty();
  if (!ended) return std::nullopt;
  return summary;
}

std::string Percent(const std::optional<double>& share) {
  return share ? fmt::format("{:.2f}", 100 * *share) : "-";
}

std::string Epsilon(const std::optional<double>& epsilon) {
  return epsilon ? fmt::format("{:.3f}", *epsilon) : "none";
}

std::string LabelsOf(const base::JsonValue& record, std::string_view between) {
  std::vector<std::string> labels;
  if (const base::JsonValue* list = record.Find("labels")) {
    for (const base::JsonValue& label : list->items())
      labels.push_back(label.AsString().value_or(""));
  }
  return fmt::format("{}", fmt::join(labels, between));
}

}  // namespace

std::optional<double> NumberIn(const base::JsonValue& record, std::string_view path) {
  const base::JsonValue* member = Member(record, path);
  if (member == nullptr || !member->is_number()) return std::nullopt;
  const double value = *member->AsDouble();
  return std::isfinite(value) ? std::optional<double>(value) : std::nullopt;
}

std::string TextIn(const base::JsonValue& record, std::string_view path) {
  const base::JsonValue* member = Member(record, path);
  return member == nullptr ? "" : member->AsString().value_or("");
}

Experiment MakeExperiment(std::string row, std::string title, std::optional<double> published,
                          std::string command, const config::RunConfig& config,
                          const ExperimentFlags& flags) {
  Experiment experiment{.row = row,
                        .title = std::move(title),
                        .published = published,
                        .command = std::move(command),
                        .name = std::move(row),
                        .labels = {},
                        .config = config};
  config::RunConfig& changed = experiment.config;
  if (flags.rounds.has_value() && *flags.rounds != config.agreement.rounds) {
    // More than 2^32 rounds are as impossible as 2^32 are.
    changed.agreement.rounds = static_cast<uint32_t>(
        std::min<uint64_t>(*flags.rounds, std::numeric_limits<uint32_t>::max()));
    experiment.name += fmt::format("-t{}", *flags.rounds);
    experiment.command += fmt::format(" --rounds {}", *flags.rounds);
    experiment.labels.push_back(
        fmt::format("rounds-{}-of-{}", *flags.rounds, config.agreement.rounds));
  }
  if (flags.seed.has_value() && *flags.seed != config.run.seed) {
    changed.run.seed = *flags.seed;
    experiment.name += fmt::format("-seed{}", *flags.seed);
    experiment.command += fmt::format(" --seed {}", *flags.seed);
  }
  if (flags.precision.has_value() && *flags.precision != config.training.precision) {
    changed.training.precision = *flags.precision;
    experiment.name += fmt::format("-{}", *flags.precision);
    experiment.command += fmt::format(" --precision {}", *flags.precision);
  }
  if (flags.start.has_value()) {
    changed.model.start = *flags.start;
    experiment.command += " --start START";
  }
  if (flags.threads.has_value()) changed.run.threads = *flags.threads;
  if (flags.data.has_value()) changed.data.path = *flags.data;
  return experiment;
}

absl::StatusOr<base::JsonValue> RunExperiment(const Experiment& given, const fs::path& out,
                                              std::FILE* progress) {
  Experiment experiment = given;
  config::RunConfig& config = experiment.config;
  const fs::path path = out / experiment.name;
  std::error_code error;
  if (config.data.path.empty() && fs::exists(path / run::kConfigFile, error)) {
    TACET_ASSIGN_OR_RETURN(const config::RunConfig begun, run::ConfigOfRun(path));
    config.data.path = begun.data.path;
  }
  if (config.data.path.empty() && config.model.name.starts_with("femnist")) {
    return base::InvalidArgument(
        "{} trains {} on handwriting of real writers: --data names its folder "
        "(docs/formats/datasets.md)",
        experiment.name, config.model.name);
  }
  if (config.data.path.empty()) {
    experiment.labels.push_back("drawn-handwriting");
  } else {
    experiment.command += " --data DIR";
  }

  fmt::print(progress, "\n{}: {}\n", experiment.name, experiment.title);
  std::unique_ptr<app::simulate::TrainingRun> run;
  if (!fs::exists(path / run::kConfigFile,
                  error)) {  // settings that are refused leave no directory
    TACET_ASSIGN_OR_RETURN(
        run, app::simulate::TrainingRun::Create(config, app::program::Console(progress)));
  }
  TACET_ASSIGN_OR_RETURN(const std::unique_ptr<RunDirectory> directory,
                         run::NewOrBegunRunDirectory(path, config));
  TACET_ASSIGN_OR_RETURN(std::optional<base::JsonValue> summary,
                         FinishedSummary(*directory, config));
  if (summary.has_value()) {
    fmt::print(progress, "{} holds this run, finished\n", path.string());
  } else {
    if (run == nullptr) {
      TACET_ASSIGN_OR_RETURN(
          run, app::simulate::TrainingRun::Create(config, app::program::Console(progress)));
    }
    TACET_ASSIGN_OR_RETURN(run::TrainingEnd end, run->Run(*directory));
    summary = std::move(end.summary);
  }
  TACET_ASSIGN_OR_RETURN(base::JsonValue record, RecordOf(experiment, *directory, *summary));
  TACET_RETURN_IF_ERROR(WriteText(out / (experiment.name + ".json"), record.Dump(2) + "\n"));
  return record;
}

absl::StatusOr<std::vector<base::JsonValue>> StoredRecords(const fs::path& folder,
                                                           std::string_view row) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path());
  }
  if (error) return base::NotFound("cannot read {}: {}", folder.string(), error.message());
  std::ranges::sort(paths, {}, [&](const fs::path& path) {
    return std::pair(path.stem() != row, path.stem().string());
  });
  std::vector<base::JsonValue> records;
  for (const fs::path& path : paths) {
    TACET_ASSIGN_OR_RETURN(base::JsonValue record, ReadJson(path));
    if (TextIn(record, "row") != row) continue;
    if (!NumberIn(record, "accuracy").has_value() || !NumberIn(record, "rounds").has_value()) {
      return base::DataLoss("{} is not the record of an experiment: accuracy or rounds is missing",
                            path.string());
    }
    records.push_back(std::move(record));
  }
  return records;
}

std::string RecordsTable(const std::vector<base::JsonValue>& records) {
  std::string out =
      fmt::format("{:<24}{:>6}{:>12}{:>12}{:>10}{:>10}{:>10}  {}\n", "", "T", "accuracy %",
                  "published %", "epsilon", "tighter", "minutes", "labels");
  for (const base::JsonValue& record : records) {
    out += fmt::format(
        "{:<24}{:>6}{:>12}{:>12}{:>10}{:>10}{:>10.1f}  {}\n", TextIn(record, "name"),
        NumberIn(record, "rounds").value_or(0), Percent(NumberIn(record, "accuracy")),
        Percent(NumberIn(record, "published_accuracy")), Epsilon(NumberIn(record, "epsilon")),
        Epsilon(NumberIn(record, "tighter.epsilon")), NumberIn(record, "seconds").value_or(0) / 60,
        LabelsOf(record, ", "));
  }
  return out;
}

absl::Status WriteText(const fs::path& path, std::string_view text) {
  return storage::file::ReplaceFile(path, base::AsBytes(std::string(text)));
}

absl::Status WriteRecords(const fs::path& out, const std::string& stem,
                          const base::JsonValue& json) {
  std::error_code error;
  fs::create_directories(out, error);
  if (error) return base::Unavailable("cannot make {}: {}", out.string(), error.message());
  return WriteText(out / (stem + ".json"), json.Dump(2) + "\n");
}

}  // namespace tacet::app::reproduce
