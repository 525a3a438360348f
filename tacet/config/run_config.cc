#include "tacet/config/run_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>
#include <type_traits>

#include "fmt/ranges.h"

#include "tacet/agreement/terms_table.h"
#include "tacet/base/json.h"
#include "tacet/base/nearest_word.h"
#include "tacet/base/status.h"
#include "tacet/config/toml.h"

namespace tacet::config {
namespace {

// Both keys of the noise stand for its deviation sigma in the agreement: in clip norms (the noise
// multiplier), or in units of an update.
enum class NoiseUnit { kClipNorm, kUpdate };
template <typename Mechanism>
struct NoiseKey {
  Mechanism& mechanism;
  NoiseUnit unit;
};
template <typename Mechanism>
NoiseKey(Mechanism&, NoiseUnit) -> NoiseKey<Mechanism>;

// Whether members that were not drawn upload, too. The default follows from the draw, so the key is
// written with `federation.sampling` only.
template <typename Sampling>
struct DummyUploadsKey {
  Sampling& sampling;
};
template <typename Sampling>
DummyUploadsKey(Sampling&) -> DummyUploadsKey<Sampling>;

// The multiplier that gives sigma again to the last bit; none where no double does.
std::optional<double> MultiplierOf(const dp::MechanismParams& mechanism) {
  const double nearest = mechanism.noise_stddev / mechanism.clip_norm;
  for (const double multiplier : {nearest, std::nextafter(nearest, 0.0),
                                  std::nextafter(nearest, std::numeric_limits<double>::max())}) {
    if (multiplier * mechanism.clip_norm == mechanism.noise_stddev) return multiplier;
  }
  return std::nullopt;
}

// Every key once, with the member that holds it: what is read, written and known.
template <typename Config, typename Visitor>
void VisitKeys(Config& c, Visitor&& visit) {
  visit("data.path", c.data.path);
  visit("data.csv_label_column", c.data.csv_label_column);
  visit("data.csv_client_column", c.data.csv_client_column);
  visit("data.csv_person_column", c.data.csv_person_column);
  visit("data.csv_columns", c.data.csv_columns);
  visit("data.csv_features", c.data.csv_features);
  visit("data.csv_missing", c.data.csv_missing);
  visit("data.csv_labels", c.data.csv_labels);
  visit("data.csv_label_above", c.data.csv_label_above);
  visit("data.csv_separator", c.data.csv_separator);
  visit("data.csv_decimal", c.data.csv_decimal);
  visit("data.csv_thousands", c.data.csv_thousands);
  visit("data.csv_spellings", c.data.csv_spellings);
  visit("data.classes", c.data.classes);
  visit("data.sites", c.data.sites);
  visit("data.handwriting_writers", c.data.handwriting_writers);
  visit("data.handwriting_min_samples", c.data.handwriting_min_samples);
  visit("data.handwriting_max_samples", c.data.handwriting_max_samples);
  visit("data.handwriting_classes", c.data.handwriting_classes);
  visit("data.held_out", c.data.held_out);
  visit("data.clients", c.data.clients);
  visit("model.name", c.model.name);
  visit("model.input_shape", c.model.input_shape);
  visit("model.hidden", c.model.hidden);
  visit("model.last_layer_gain", c.model.last_layer_gain);
  visit("model.architecture", c.model.architecture);
  visit("model.app", c.model.app);
  visit("model.start", c.model.start);
  visit("model.federated", c.model.federated);
  visit("training.batch", c.training.batch);
  visit("training.local_epochs", c.training.local_epochs);
  visit("training.sample_cap", c.training.sample_cap);
  visit("training.learning_rate", c.training.learning_rate);
  visit("training.learning_rate_final", c.training.learning_rate_final);
  visit("training.precision", c.training.precision);
  agreement::VisitTerms(
      [&](const agreement::Term& term, auto& value) {
        if (term.key == "privacy.noise_stddev") {
          NoiseKey multiplier{c.agreement.mechanism, NoiseUnit::kClipNorm};
          visit("privacy.noise_multiplier", multiplier);
          NoiseKey deviation{c.agreement.mechanism, NoiseUnit::kUpdate};
          visit(term.key, deviation);
        } else if (term.key == "federation.dummy_uploads") {
          DummyUploadsKey dummy_uploads{c.agreement.sampling};
          visit(term.key, dummy_uploads);
        } else if constexpr (!std::is_same_v<std::remove_cvref_t<decltype(value)>,
                                             crypto::Digest>) {
          if (term.key != term.name()) visit(term.key, value);
        }
      },
      c.agreement);
  visit("federation.weights", c.federation.weights);
  visit("run.seed", c.run.seed);
  visit("run.threads", c.run.threads);
  visit("run.evaluate_every", c.run.evaluate_every);
  visit("run.publish_evaluation", c.run.publish_evaluation);
  visit("run.insecure_seed", c.run.insecure_seed);
  visit("run.no_quantisation", c.run.no_quantisation);
  visit("query.text", c.query.text);
  visit("ledger.folder", c.ledger.folder);
  visit("ledger.anchor", c.ledger.anchor);
  visit("ledger.budget_epsilon", c.ledger.budget_epsilon);
  visit("ledger.composition", c.ledger.composition);
  visit("ledger.rule", c.ledger.rule);
}

// The word of a choice as the file has it.
using agreement::WordOf;
std::string_view WordOf(accounting::Composition value) {
  return accounting::CompositionName(value);
}
std::string_view WordOf(ledger::ChargingRule value) { return ledger::ChargingRuleName(value); }

// As TOML; empty for a value that is not there.
template <typename T>
std::string ValueText(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return TomlText(std::string(WordOf(value)));
  } else {
    return TomlText(value);
  }
}
std::string ValueText(uint32_t value) { return TomlText(uint64_t{value}); }
template <typename T>
std::string ValueText(const std::optional<T>& value) {
  return value.has_value() ? ValueText(*value) : "";
}

// A file has one of the two keys: the multiplier where it gives sigma exactly.
template <typename Mechanism>
std::string ValueText(const NoiseKey<Mechanism>& noise) {
  const std::optional<double> multiplier = MultiplierOf(noise.mechanism);
  if (noise.unit == NoiseUnit::kClipNorm) {
    return multiplier.has_value() ? TomlText(*multiplier) : "";
  }
  return multiplier.has_value() ? "" : TomlText(noise.mechanism.noise_stddev);
}

template <typename Sampling>
std::string ValueText(const DummyUploadsKey<Sampling>& key) {
  return key.sampling.method.has_value() ? TomlText(key.sampling.dummy_uploads) : "";
}

// Dummy uploads need the members' own coins, so true says how cohorts are drawn. False does not.
absl::Status Assign(const base::JsonValue& value,
                    DummyUploadsKey<accounting::SamplingParams>& target) {
  TACET_ASSIGN_OR_RETURN(target.sampling.dummy_uploads, value.AsBool());
  if (target.sampling.method.has_value()) return absl::OkStatus();
  if (!target.sampling.dummy_uploads) {
    return base::InvalidArgument(
        "is false, and `federation.sampling` is missing: say whether cohorts without dummy uploads "
        "are drawn fixed-size or poisson");
  }
  target.sampling.method = accounting::Sampling::kPoisson;
  return absl::OkStatus();
}

absl::Status Assign(const base::JsonValue& value, NoiseKey<dp::MechanismParams>& target) {
  TACET_ASSIGN_OR_RETURN(const double noise, value.AsDouble());
  if (!(noise >= 0 && std::isfinite(noise))) {
    return base::InvalidArgument("is {}, it must be a finite number of 0 or more", noise);
  }
  target.mechanism.noise_stddev =
      target.unit == NoiseUnit::kClipNorm ? noise * target.mechanism.clip_norm : noise;
  return absl::OkStatus();
}
absl::Status Assign(const base::JsonValue& value, std::string& target) {
  TACET_ASSIGN_OR_RETURN(target, value.AsString());
  return absl::OkStatus();
}
absl::Status Assign(const base::JsonValue& value, uint64_t& target) {
  TACET_ASSIGN_OR_RETURN(target, value.AsUint());
  return absl::OkStatus();
}
absl::Status Assign(const base::JsonValue& value, uint32_t& target) {
  TACET_ASSIGN_OR_RETURN(const uint64_t number, value.AsUint());
  if (number > std::numeric_limits<uint32_t>::max()) {
    return base::InvalidArgument("is {}, it must be below 2^32", number);
  }
  target = static_cast<uint32_t>(number);
  return absl::OkStatus();
}
absl::Status Assign(const base::JsonValue& value, double& target) {
  TACET_ASSIGN_OR_RETURN(target, value.AsDouble());
  return absl::OkStatus();
}
absl::Status Assign(const base::JsonValue& value, bool& target) {
  TACET_ASSIGN_OR_RETURN(target, value.AsBool());
  return absl::OkStatus();
}
absl::Status Assign(const base::JsonValue& value, std::vector<std::string>& target) {
  if (!value.is_array()) return base::InvalidArgument("is not a list");
  target.clear();
  for (const base::JsonValue& item : value.items()) {
    TACET_ASSIGN_OR_RETURN(target.emplace_back(), item.AsString());
  }
  return absl::OkStatus();
}
absl::Status Assign(const base::JsonValue& value, std::vector<uint64_t>& target) {
  if (!value.is_array()) return base::InvalidArgument("is not a list");
  target.clear();
  for (const base::JsonValue& item : value.items()) {
    TACET_ASSIGN_OR_RETURN(const uint64_t number, item.AsUint());
    target.push_back(number);
  }
  return absl::OkStatus();
}

absl::StatusOr<he::Scheme> ParseScheme(std::string_view name) {
  for (const he::Scheme scheme :
       {he::Scheme::kCompact, he::Scheme::kPaperPublicKey, he::Scheme::kPaperSecretKey}) {
    if (name == he::SchemeName(scheme)) return scheme;
  }
  return base::InvalidArgument(
      "unknown parameters \"{}\": expected compact, paper or paper-secret-key", name);
}

template <typename T>
absl::Status AssignWord(const base::JsonValue& value, absl::StatusOr<T> (*parse)(std::string_view),
                        T& target) {
  TACET_ASSIGN_OR_RETURN(const std::string word, value.AsString());
  TACET_ASSIGN_OR_RETURN(target, parse(word));
  return absl::OkStatus();
}
absl::Status Assign(const base::JsonValue& value, accounting::Sampling& target) {
  return AssignWord(value, accounting::ParseSampling, target);
}
absl::Status Assign(const base::JsonValue& value, accounting::Unit& target) {
  return AssignWord(value, accounting::ParseUnit, target);
}
absl::Status Assign(const base::JsonValue& value, accounting::Neighbouring& target) {
  return AssignWord(value, accounting::ParseNeighbouring, target);
}
absl::Status Assign(const base::JsonValue& value, dp::NoiseLaw& target) {
  return AssignWord(value, dp::ParseNoiseLaw, target);
}
absl::Status Assign(const base::JsonValue& value, dp::GaussianSampler& target) {
  return AssignWord(value, dp::ParseGaussianSampler, target);
}
absl::Status Assign(const base::JsonValue& value, he::Scheme& target) {
  return AssignWord(value, ParseScheme, target);
}
absl::Status Assign(const base::JsonValue& value, accounting::Composition& target) {
  return AssignWord(value, accounting::ParseComposition, target);
}
absl::Status Assign(const base::JsonValue& value, ledger::ChargingRule& target) {
  return AssignWord(value, ledger::ParseChargingRule, target);
}
template <typename T>
absl::Status Assign(const base::JsonValue& value, std::optional<T>& target) {
  return Assign(value, target.emplace());
}

// "; `KEY` may be meant": the key of the same name in another section, else those that begin with
// the given one, else the nearest.
std::string Suggestion(std::string_view key, const std::set<std::string>& known) {
  const std::string_view name = key.substr(key.find('.') + 1);
  std::vector<std::string_view> words;
  std::string_view meant;
  for (const std::string& word : known) {
    words.emplace_back(word);
    if (std::string_view(word).substr(word.find('.') + 1) != name) continue;
    if (!meant.empty()) return "";  // several sections have it
    meant = word;
  }
  if (!meant.empty()) return fmt::format("; `{}` may be meant", meant);
  std::string longer;
  for (const std::string& word : known) {
    if (!word.starts_with(std::string(key) + "_")) continue;
    longer += fmt::format("{}`{}`", longer.empty() ? "" : " or ", word);
  }
  if (!longer.empty()) return fmt::format("; {} may be meant", longer);
  const std::optional<std::string> nearest = base::NearestWord(key, words);
  return nearest.has_value() ? fmt::format("; `{}` may be meant", *nearest) : "";
}

absl::Status CheckKnown(const base::JsonValue& root, const std::set<std::string>& known,
                        std::string_view source) {
  for (const auto& [section, content] : root.members()) {
    if (!content.is_object()) {
      return base::InvalidArgument("{}: unknown key `{}` (every key is in a section){}", source,
                                   section, Suggestion(section, known));
    }
    for (const auto& [name, value] : content.members()) {
      const std::string key = section + "." + name;
      if (!known.contains(key)) {
        return base::InvalidArgument("{}: unknown key `{}`{}", source, key, Suggestion(key, known));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<uint32_t> Narrow(uint64_t value, std::string_view key) {
  if (value <= std::numeric_limits<uint32_t>::max()) return static_cast<uint32_t>(value);
  return base::InvalidArgument("{} is {}, it must be below 2^32", key, value);
}

agreement::ManifestSpec ManifestSpecOf(const RunConfig& config) {
  agreement::ManifestSpec spec = config.agreement;
  spec.model = config.model.name;
  return spec;
}

std::vector<std::string_view> SimulationOnlyKeys(const RunConfig& config) {
  std::vector<std::string_view> keys;
  if (config.run.insecure_seed.has_value()) keys.push_back("run.insecure_seed");
  if (config.agreement.without_encryption) keys.push_back("run.no_encryption");
  if (config.agreement.mechanism.without_noise) keys.push_back("run.no_noise");
  if (config.agreement.mechanism.without_clipping) keys.push_back("run.no_clip");
  if (config.run.no_quantisation) keys.push_back("run.no_quantisation");
  if (config.federation.weights != "equal") keys.push_back("federation.weights");
  return keys;
}

absl::StatusOr<RunConfig> ParseRunConfig(std::string_view toml, std::string_view source) {
  TACET_ASSIGN_OR_RETURN(const base::JsonValue root, ParseToml(toml, source));
  RunConfig config;
  std::set<std::string> known;
  absl::Status status;
  VisitKeys(config, [&](std::string_view key, auto& target) {
    known.emplace(key);
    const size_t point = key.find('.');
    const base::JsonValue* section = root.Find(key.substr(0, point));
    const base::JsonValue* value =
        section == nullptr ? nullptr : section->Find(key.substr(point + 1));
    if (value == nullptr) return;
    if (const absl::Status assigned = Assign(*value, target); !assigned.ok()) {
      status.Update(base::Annotate(assigned, fmt::format("{}: key `{}`", source, key)));
    }
  });
  TACET_RETURN_IF_ERROR(CheckKnown(root, known, source));
  TACET_RETURN_IF_ERROR(status);
  if (const base::JsonValue* privacy = root.Find("privacy");
      privacy != nullptr && privacy->Find("noise_multiplier") != nullptr &&
      privacy->Find("noise_stddev") != nullptr) {
    return base::InvalidArgument(
        "{}: `privacy.noise_multiplier` and `privacy.noise_stddev` are both given: leave out one",
        source);
  }
  return config;
}

void FixDraw(RunConfig& config, uint64_t members) {
  accounting::SamplingParams& sampling = config.agreement.sampling;
  const accounting::SamplingParams resolved = accounting::Resolved(
      sampling, config.agreement.privacy, members, accounting::Purpose::kTraining);
  sampling.method = resolved.method;
  sampling.dummy_uploads = resolved.dummy_uploads;
}

absl::Status SetKey(RunConfig& config, std::string_view key, const base::JsonValue& value) {
  size_t found = 0;
  absl::Status status;
  VisitKeys(config, [&](std::string_view known, auto& target) {
    if (known != key && known.substr(known.find('.') + 1) != key) return;
    ++found;
    status.Update(base::Annotate(Assign(value, target), fmt::format("key `{}`", known)));
  });
  if (found == 0) return base::InvalidArgument("unknown key `{}`", key);
  if (found > 1) return base::InvalidArgument("{} keys are called `{}`", found, key);
  return status;
}

absl::StatusOr<std::string> ReadConfigText(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return base::InvalidArgument("{} is a folder; give the configuration file (TOML) in it", path);
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return base::NotFound("cannot read the configuration {}", path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

absl::StatusOr<RunConfig> LoadRunConfig(const std::string& path) {
  TACET_ASSIGN_OR_RETURN(const std::string text, ReadConfigText(path));
  return ParseRunConfig(text, path);
}

namespace {

template <typename Wanted>
std::string TomlOf(const RunConfig& config, Wanted wanted) {
  std::vector<std::pair<std::string_view, std::string>> sections;
  VisitKeys(config, [&](std::string_view key, const auto& value) {
    if (!wanted(key)) return;
    const std::string_view name = key.substr(0, key.find('.'));
    auto section =
        std::ranges::find(sections, name, &std::pair<std::string_view, std::string>::first);
    if (section == sections.end()) section = sections.emplace(section, name, "");
    if (const std::string written = ValueText(value); !written.empty()) {
      section->second += fmt::format("{} = {}\n", key.substr(name.size() + 1), written);
    }
  });
  std::string text;
  for (const auto& [name, lines] : sections) {
    text += fmt::format("{}[{}]\n{}", text.empty() ? "" : "\n", name, lines);
  }
  return text;
}

}  // namespace

std::vector<std::string_view> ConfigurationKeys() {
  const RunConfig config;
  std::vector<std::string_view> keys;
  VisitKeys(config, [&](std::string_view key, const auto&) { keys.push_back(key); });
  return keys;
}

std::string RunConfigToml(const RunConfig& config) {
  return TomlOf(config, [](std::string_view) { return true; });
}

std::string AgreedToml(const RunConfig& config) {
  static const std::set<std::string_view> own = {
      "data.path",        "data.clients",       "data.sites",         "data.csv_client_column",
      "data.held_out",    "training.precision", "federation.weights", "data.csv_separator",
      "data.csv_decimal", "data.csv_thousands", "data.csv_spellings",
  };
  return TomlOf(config, [](std::string_view key) {
    return !key.starts_with("run.") && !key.starts_with("ledger.") &&
           !key.starts_with("data.handwriting_") && !own.contains(key);
  });
}

std::string DifferingKeys(const RunConfig& a, const RunConfig& b) {
  const auto values = [](const RunConfig& config) {
    std::vector<std::pair<std::string, std::string>> all;
    VisitKeys(config, [&](std::string_view key, const auto& value) {
      std::string text = ValueText(value);
      if (key == "run.threads" || key == "run.publish_evaluation") text.clear();
      // A data set may have moved, but handwriting is not a data set.
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

}  // namespace tacet::config
