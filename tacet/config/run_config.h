// Settings of a simulated federation: a TOML file, overridden by flags.
#ifndef TACET_CONFIG_RUN_CONFIG_H_
#define TACET_CONFIG_RUN_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/accounting/privacy_filter.h"
#include "tacet/agreement/manifest.h"
#include "tacet/base/json.h"
#include "tacet/ledger/ledger_format.h"

namespace tacet::config {

// Keys of section [ledger]; empty: not given.
struct LedgerConfig {
  std::string folder;
  std::string anchor;  // one more, in another place
  std::optional<double> budget_epsilon;
  std::optional<accounting::Composition> composition;
  std::optional<ledger::ChargingRule> rule;

  friend bool operator==(const LedgerConfig&, const LedgerConfig&) = default;
};

// Every key of docs/formats/configuration.md with its default.
struct RunConfig {
  struct {
    std::string path;  // empty: handwriting drawn by the program
    std::string csv_label_column = "label";
    std::string csv_client_column = "client";  // empty: every file of a folder is one client
    std::string csv_person_column;             // empty: rows do not say which person they are from
    std::vector<std::string> csv_columns;      // names for files without a header
    std::vector<std::string>
        csv_features;  // what a model sees; empty: every other column, unchanged
    std::vector<std::string> csv_missing = {"", "?"};
    std::vector<std::string> csv_labels;    // texts of the classes, in their order; empty: numbers
    std::optional<double> csv_label_above;  // class 1 above this number, class 0 otherwise
    std::string csv_separator = "auto";     // between fields
    std::string csv_decimal = "point";
    std::string csv_thousands;               // separator of thousands; empty: not said
    std::vector<std::string> csv_spellings;  // of a site's own files: "sex one-of=F|femme,M|homme"
    uint64_t classes = 0;                    // 0: the largest label + 1
    uint64_t sites = 0;                      // clients become persons spread over so many sites
    uint64_t handwriting_writers = 100;
    uint64_t handwriting_min_samples = 60;
    uint64_t handwriting_max_samples = 100;
    uint64_t handwriting_classes = 20;
    double held_out = 0.1;
    uint64_t clients = 0;  // 0: all
  } data;
  struct {
    std::string name = "femnist-cnn";
    std::vector<uint64_t> input_shape;  // of a sample; empty: as the data have it
    std::vector<uint64_t> hidden = {128};
    double last_layer_gain = 0.2;
    std::string architecture;            // of the model "external": a text for its users
    std::string app;                     // of the model "external": a JSON object for its code
    std::string start;                   // file of all parameters; empty: drawn by run.seed
    std::vector<std::string> federated;  // layers that are trained and sent; empty: all
  } model;
  struct {
    uint64_t batch = 20;
    uint64_t local_epochs = 1;
    uint64_t sample_cap = 0;
    double learning_rate = 0.15;
    double learning_rate_final = 0.03;
    std::string precision = "auto";
  } training;
  // Keys of [federation], [privacy], [aggregation] and [server], and the flags of [run] that leave
  // something out: the agreement itself, as far as it is configured. Model, dimension, clients and
  // members follow from model and data.
  agreement::ManifestSpec agreement = {.rounds = 100, .sampling = {.method = std::nullopt}};
  struct {
    std::string weights = "equal";
  } federation;
  struct {
    uint64_t seed = 1;
    uint64_t threads = 0;  // 0: all processors
    uint64_t evaluate_every = 1;
    // Whether figures on held-out data are printed and stored; unset: in simulations only.
    std::optional<bool> publish_evaluation;
    std::optional<uint64_t> insecure_seed;
    bool no_quantisation = false;
  } run;
  // The text of a query file (docs/formats/query.md) where the model is a query; else empty.
  struct {
    std::string text;
  } query;
  // Where a site of a live federation keeps its ledgers, and how it charges them. No agreement and
  // no run directory has these keys.
  LedgerConfig ledger;
};

// InvalidArgument names `source` and the key: malformed TOML, an unknown key, a value of the wrong
// type, a word that is not among the choices of its key, a count of 2^32 or more. Other ranges are
// checked where the values are used.
absl::StatusOr<RunConfig> ParseRunConfig(std::string_view toml, std::string_view source);
absl::StatusOr<RunConfig> LoadRunConfig(const std::string& path);
// The text of such a file. InvalidArgument for a folder, NotFound where it cannot be read.
absl::StatusOr<std::string> ReadConfigText(const std::string& path);

// Writes the draw of cohorts that accounting::Resolved() chooses for so many members into a
// configuration that leaves it open: a training keeps it when members come and go.
void FixDraw(RunConfig& config, uint64_t members);

// Every key.
std::vector<std::string_view> ConfigurationKeys();

// Sets one key, or the only one of that name, as a line of the file would.
// `privacy.noise_multiplier` counts in the clip norm that is set when it is called.
absl::Status SetKey(RunConfig& config, std::string_view key, const base::JsonValue& value);

// The file that gives this configuration again, every key written out.
std::string RunConfigToml(const RunConfig& config);

// The keys on which all sites of a federation have to agree, as ParseRunConfig reads them: without
// where the data are, what belongs to one machine, and what simulations alone can do.
std::string AgreedToml(const RunConfig& config);

// The keys, with ", " between and the values of `a` and `b` behind, in which two configurations
// differ so that their results may: the number of threads, what is told of an evaluation, and where
// a data set lies, are none.
// Empty when they describe the same run.
std::string DifferingKeys(const RunConfig& a, const RunConfig& b);

// `value` in 32 bits. InvalidArgument names `key` for 2^32 and more.
absl::StatusOr<uint32_t> Narrow(uint64_t value, std::string_view key);

// The terms of the agreement, with the name of the model.
agreement::ManifestSpec ManifestSpecOf(const RunConfig& config);

// Keys that are set as only a simulation can have them: without encryption, noise, clipping or
// quantisation, with a fixed seed, or with weights that are not equal. Empty: a federation can
// agree on the settings.
std::vector<std::string_view> SimulationOnlyKeys(const RunConfig& config);

}  // namespace tacet::config

#endif  // TACET_CONFIG_RUN_CONFIG_H_
