#include "apps/tacet/run_config.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>
#include <thread>
#include <type_traits>

#include "apps/tacet/json.h"
#include "apps/tacet/toml.h"
#include "tacet/base/status.h"

namespace tacet::app {
namespace {

// Every key once, with the member that holds it: what is read, written and known.
template <typename Config, typename Visitor>
void VisitKeys(Config& c, Visitor&& visit) {
  visit("data.path", c.data.path);
  visit("data.csv_label_column", c.data.csv_label_column);
  visit("data.csv_owner_column", c.data.csv_owner_column);
  visit("data.handwriting_writers", c.data.handwriting_writers);
  visit("data.handwriting_min_samples", c.data.handwriting_min_samples);
  visit("data.handwriting_max_samples", c.data.handwriting_max_samples);
  visit("data.handwriting_classes", c.data.handwriting_classes);
  visit("data.held_out", c.data.held_out);
  visit("data.owners", c.data.owners);
  visit("model.name", c.model.name);
  visit("model.hidden", c.model.hidden);
  visit("model.last_layer_gain", c.model.last_layer_gain);
  visit("training.batch", c.training.batch);
  visit("training.local_epochs", c.training.local_epochs);
  visit("training.sample_cap", c.training.sample_cap);
  visit("training.learning_rate", c.training.learning_rate);
  visit("training.learning_rate_final", c.training.learning_rate_final);
  visit("training.precision", c.training.precision);
  visit("federation.rounds", c.federation.rounds);
  visit("federation.cohort", c.federation.cohort);
  visit("federation.min_participants", c.federation.min_participants);
  visit("federation.sampling", c.federation.sampling);
  visit("federation.weights", c.federation.weights);
  visit("federation.attempts_per_round", c.federation.attempts_per_round);
  visit("federation.spare_attempts", c.federation.spare_attempts);
  visit("federation.openers", c.federation.openers);
  visit("privacy.clip_norm", c.privacy.clip_norm);
  visit("privacy.coordinate_bound", c.privacy.coordinate_bound);
  visit("privacy.noise", c.privacy.noise);
  visit("privacy.scale", c.privacy.scale);
  visit("privacy.delta", c.privacy.delta);
  visit("privacy.budget_epsilon", c.privacy.budget_epsilon);
  visit("privacy.sampler", c.privacy.sampler);
  visit("aggregation.parameters", c.aggregation.parameters);
  visit("aggregation.plaintext_bits", c.aggregation.plaintext_bits);
  visit("server.learning_rate", c.server.learning_rate);
  visit("server.learning_rate_final", c.server.learning_rate_final);
  visit("server.momentum", c.server.momentum);
  visit("run.seed", c.run.seed);
  visit("run.threads", c.run.threads);
  visit("run.evaluate_every", c.run.evaluate_every);
  visit("run.insecure_seed", c.run.insecure_seed);
  visit("run.no_encryption", c.run.no_encryption);
  visit("run.no_noise", c.run.no_noise);
  visit("run.no_clip", c.run.no_clip);
  visit("run.no_quantisation", c.run.no_quantisation);
}

absl::Status Assign(const JsonValue& value, std::string& target) {
  TACET_ASSIGN_OR_RETURN(target, value.AsString());
  return absl::OkStatus();
}
absl::Status Assign(const JsonValue& value, uint64_t& target) {
  TACET_ASSIGN_OR_RETURN(target, value.AsUint());
  return absl::OkStatus();
}
absl::Status Assign(const JsonValue& value, double& target) {
  TACET_ASSIGN_OR_RETURN(target, value.AsDouble());
  return absl::OkStatus();
}
absl::Status Assign(const JsonValue& value, bool& target) {
  TACET_ASSIGN_OR_RETURN(target, value.AsBool());
  return absl::OkStatus();
}
absl::Status Assign(const JsonValue& value, std::optional<uint64_t>& target) {
  TACET_ASSIGN_OR_RETURN(target, value.AsUint());
  return absl::OkStatus();
}
absl::Status Assign(const JsonValue& value, std::vector<uint64_t>& target) {
  if (!value.is_array()) return base::InvalidArgument("is not a list");
  target.clear();
  for (const JsonValue& item : value.items()) {
    TACET_ASSIGN_OR_RETURN(const uint64_t number, item.AsUint());
    target.push_back(number);
  }
  return absl::OkStatus();
}

absl::Status CheckKnown(const JsonValue& root, const std::set<std::string>& known,
                        std::string_view source) {
  for (const auto& [section, content] : root.members()) {
    if (!content.is_object()) {
      return base::InvalidArgument("{}: unknown key `{}` (every key stands in a section)", source,
                                   section);
    }
    for (const auto& [name, value] : content.members()) {
      const std::string key = section + "." + name;
      if (!known.contains(key)) return base::InvalidArgument("{}: unknown key `{}`", source, key);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> Narrow(uint64_t value, std::string_view key) {
  if (value <= std::numeric_limits<uint32_t>::max()) return static_cast<uint32_t>(value);
  return base::InvalidArgument("{} is {}, it must be below 2^32", key, value);
}

absl::StatusOr<he::Scheme> ParseScheme(std::string_view name) {
  for (const he::Scheme scheme :
       {he::Scheme::kCompact, he::Scheme::kPaperPublicKey, he::Scheme::kPaperSecretKey}) {
    if (name == he::SchemeName(scheme)) return scheme;
  }
  return base::InvalidArgument(
      "aggregation.parameters is \"{}\"; it must be compact, paper or paper-secret-key", name);
}

}  // namespace

absl::StatusOr<RunConfig> ParseRunConfig(std::string_view toml, std::string_view source) {
  TACET_ASSIGN_OR_RETURN(const JsonValue root, ParseToml(toml, source));
  RunConfig config;
  std::set<std::string> known;
  absl::Status status;
  VisitKeys(config, [&](std::string_view key, auto& target) {
    known.emplace(key);
    const size_t point = key.find('.');
    const JsonValue* section = root.Find(key.substr(0, point));
    const JsonValue* value = section == nullptr ? nullptr : section->Find(key.substr(point + 1));
    if (value == nullptr) return;
    if (const absl::Status assigned = Assign(*value, target); !assigned.ok()) {
      status.Update(base::Annotate(assigned, fmt::format("{}: key `{}`", source, key)));
    }
  });
  TACET_RETURN_IF_ERROR(CheckKnown(root, known, source));
  TACET_RETURN_IF_ERROR(status);
  return config;
}

absl::StatusOr<RunConfig> LoadRunConfig(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return base::NotFound("cannot read the configuration {}", path);
  std::ostringstream text;
  text << file.rdbuf();
  return ParseRunConfig(text.str(), path);
}

std::string RunConfigToml(const RunConfig& config) {
  std::string text;
  std::string section;
  VisitKeys(config, [&](std::string_view key, const auto& value) {
    const size_t point = key.find('.');
    if (key.substr(0, point) != section) {
      section = key.substr(0, point);
      text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", section);
    }
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::optional<uint64_t>>) {
      if (value.has_value()) {
        text += fmt::format("{} = {}\n", key.substr(point + 1), TomlText(*value));
      }
    } else {
      text += fmt::format("{} = {}\n", key.substr(point + 1), TomlText(value));
    }
  });
  return text;
}

std::string DifferingKeys(const RunConfig& a, const RunConfig& b) {
  const auto values = [](const RunConfig& config) {
    std::vector<std::pair<std::string, std::string>> all;
    VisitKeys(config, [&](std::string_view key, const auto& value) {
      std::string text;
      if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::optional<uint64_t>>) {
        text = value.has_value() ? TomlText(*value) : "";
      } else {
        text = TomlText(value);
      }
      if (key == "run.threads") text.clear();
      // A data set may have moved, but handwriting is no data set.
      if (key == "data.path") text = config.data.path.empty() ? "drawn" : "given";
      all.emplace_back(key, std::move(text));
    });
    return all;
  };
  const auto in_a = values(a), in_b = values(b);
  std::string keys;
  for (size_t i = 0; i < in_a.size(); ++i) {
    if (in_a[i] == in_b[i]) continue;
    keys += fmt::format("{}{} ({}, not {})", keys.empty() ? "" : ", ", in_a[i].first,
                        in_a[i].second, in_b[i].second);
  }
  return keys;
}

absl::StatusOr<federation::SimulationSpec> SimulationSpecOf(const RunConfig& config) {
  federation::SimulationSpec spec;
  federation::ManifestSpec& manifest = spec.manifest;
  manifest.model = config.model.name;
  TACET_ASSIGN_OR_RETURN(manifest.cohort, Narrow(config.federation.cohort, "federation.cohort"));
  TACET_ASSIGN_OR_RETURN(manifest.min_participants,
                         Narrow(config.federation.min_participants, "federation.min_participants"));
  TACET_ASSIGN_OR_RETURN(manifest.rounds, Narrow(config.federation.rounds, "federation.rounds"));
  TACET_ASSIGN_OR_RETURN(manifest.attempts_per_round, Narrow(config.federation.attempts_per_round,
                                                             "federation.attempts_per_round"));
  TACET_ASSIGN_OR_RETURN(manifest.spare_attempts,
                         Narrow(config.federation.spare_attempts, "federation.spare_attempts"));
  TACET_ASSIGN_OR_RETURN(manifest.openers, Narrow(config.federation.openers, "federation.openers"));
  TACET_ASSIGN_OR_RETURN(manifest.sampling, accounting::ParseSampling(config.federation.sampling));
  manifest.clip_norm = config.privacy.clip_norm;
  manifest.coordinate_bound = config.privacy.coordinate_bound;
  manifest.noise_stddev = config.privacy.noise;
  manifest.scale = config.privacy.scale;
  manifest.delta = config.privacy.delta;
  manifest.budget_epsilon = config.privacy.budget_epsilon;
  TACET_ASSIGN_OR_RETURN(manifest.sampler, dp::ParseGaussianSampler(config.privacy.sampler));
  manifest.without_noise = config.run.no_noise;
  manifest.without_clipping = config.run.no_clip;
  TACET_ASSIGN_OR_RETURN(manifest.scheme, ParseScheme(config.aggregation.parameters));
  TACET_ASSIGN_OR_RETURN(manifest.plaintext_bits,
                         Narrow(config.aggregation.plaintext_bits, "aggregation.plaintext_bits"));
  manifest.optimizer.learning_rate = config.server.learning_rate;
  manifest.optimizer.learning_rate_final = config.server.learning_rate_final;
  manifest.optimizer.momentum = config.server.momentum;
  const uint64_t threads = config.run.threads != 0
                               ? config.run.threads
                               : std::max<uint64_t>(1, std::thread::hardware_concurrency());
  spec.threads = static_cast<int>(std::min<uint64_t>(threads, 1 << 20));
  TACET_ASSIGN_OR_RETURN(spec.evaluate_every,
                         Narrow(config.run.evaluate_every, "run.evaluate_every"));
  if (config.federation.weights != "equal" && config.federation.weights != "samples") {
    return base::InvalidArgument("federation.weights is \"{}\"; it must be equal or samples",
                                 config.federation.weights);
  }
  spec.weigh_by_samples = config.federation.weights == "samples";
  spec.without_encryption = config.run.no_encryption;
  spec.without_quantisation = config.run.no_quantisation;
  spec.insecure_seed = config.run.insecure_seed;
  return spec;
}

absl::StatusOr<learning::LearnerSpec> LearnerSpecOf(const RunConfig& config) {
  learning::LearnerSpec spec;
  spec.model = config.model.name;
  spec.hidden = config.model.hidden;
  spec.last_layer_gain = config.model.last_layer_gain;
  spec.seed = config.run.seed;
  spec.held_out_share = config.data.held_out;
  TACET_ASSIGN_OR_RETURN(spec.batch, Narrow(config.training.batch, "training.batch"));
  TACET_ASSIGN_OR_RETURN(spec.local_epochs,
                         Narrow(config.training.local_epochs, "training.local_epochs"));
  TACET_ASSIGN_OR_RETURN(spec.sample_cap,
                         Narrow(config.training.sample_cap, "training.sample_cap"));
  spec.learning_rate = config.training.learning_rate;
  spec.learning_rate_final = config.training.learning_rate_final;
  TACET_ASSIGN_OR_RETURN(spec.precision, learning::ParsePrecision(config.training.precision));
  TACET_ASSIGN_OR_RETURN(spec.rounds, Narrow(config.federation.rounds, "federation.rounds"));
  return spec;
}

absl::StatusOr<learning::HandwritingSpec> HandwritingSpecOf(const RunConfig& config) {
  learning::HandwritingSpec spec;
  spec.writers = config.data.handwriting_writers;
  TACET_ASSIGN_OR_RETURN(spec.min_samples, Narrow(config.data.handwriting_min_samples,
                                                  "data.handwriting_min_samples"));
  TACET_ASSIGN_OR_RETURN(spec.max_samples, Narrow(config.data.handwriting_max_samples,
                                                  "data.handwriting_max_samples"));
  TACET_ASSIGN_OR_RETURN(spec.classes,
                         Narrow(config.data.handwriting_classes, "data.handwriting_classes"));
  spec.seed = config.run.seed;
  return spec;
}

}  // namespace tacet::app
