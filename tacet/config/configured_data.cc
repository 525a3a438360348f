#include "tacet/config/configured_data.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "fmt/ranges.h"

#include "tacet/base/status.h"
#include "tacet/data/load.h"
#include "tacet/table/agreed_values.h"
#include "tacet/table/category_list.h"
#include "tacet/table/number_text.h"

namespace tacet::config {

absl::StatusOr<std::vector<float>> LoadParameters(const std::string& path, std::string_view key) {
  constexpr uintmax_t kMaxModelBytes = uintmax_t{1} << 32;
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return base::InvalidArgument("{}: {} is a folder; give a file as a run's model.f32", key, path);
  }
  const uintmax_t bytes = std::filesystem::file_size(path, error);
  if (error) return base::NotFound("{}: cannot read {}", key, path);
  if (bytes == 0 || bytes % sizeof(float) != 0 || bytes > kMaxModelBytes) {
    return base::InvalidArgument("{}: {} has {} bytes, it must be floats of at most {}", key, path,
                                 bytes, kMaxModelBytes);
  }
  std::vector<float> model(bytes / sizeof(float));
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(model.data()), static_cast<std::streamsize>(bytes));
  if (!file) return base::NotFound("{}: cannot read {}", key, path);
  const auto wrong = std::ranges::find_if(model, [](float value) { return !std::isfinite(value); });
  if (wrong == model.end()) return model;
  return base::InvalidArgument("{}: value {} of {} is not finite", key, wrong - model.begin(),
                               path);
}

absl::StatusOr<data::HandwritingSpec> HandwritingSpecOf(const RunConfig& config) {
  data::HandwritingSpec spec;
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

namespace {

absl::StatusOr<std::optional<char>> SeparatorOf(std::string_view word) {
  constexpr std::array<std::pair<std::string_view, char>, 8> kWords = {{{",", ','},
                                                                        {"comma", ','},
                                                                        {";", ';'},
                                                                        {"semicolon", ';'},
                                                                        {"\t", '\t'},
                                                                        {"tab", '\t'},
                                                                        {"|", '|'},
                                                                        {"bar", '|'}}};
  if (word == "auto") return std::optional<char>();
  for (const auto& [known, separator] : kWords) {
    if (word == known) return std::optional<char>(separator);
  }
  return base::InvalidArgument(
      "data.csv_separator is \"{}\"; it must be auto, comma, semicolon, tab or bar", word);
}

absl::StatusOr<table::DecimalMark> DecimalMarkOf(std::string_view word) {
  if (word == "point" || word == ".") return table::DecimalMark::kPoint;
  if (word == "comma" || word == ",") return table::DecimalMark::kComma;
  return base::InvalidArgument("data.csv_decimal is \"{}\"; it must be point or comma", word);
}

// Labels are described in one way only.
absl::Status CheckLabels(const RunConfig& config) {
  const size_t labels = config.data.csv_labels.size();
  if (labels == 0) return absl::OkStatus();
  if (config.data.csv_label_above.has_value()) {
    return base::InvalidArgument(
        "data.csv_labels and data.csv_label_above exclude each other: remove one");
  }
  if (labels == 1) return base::InvalidArgument("data.csv_labels names one class: name all");
  if (config.data.classes != 0 && config.data.classes != labels) {
    return base::InvalidArgument(
        "data.classes is {}, data.csv_labels names {}: remove data.classes or correct it",
        config.data.classes, labels);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<data::CsvOptions> CsvOptionsOf(const RunConfig& config) {
  data::CsvOptions csv;
  csv.label = config.data.csv_label_column;
  csv.client = config.data.csv_client_column;
  csv.person = config.data.csv_person_column;
  csv.columns = config.data.csv_columns;
  csv.missing = config.data.csv_missing;
  csv.label_above = config.data.csv_label_above;
  TACET_ASSIGN_OR_RETURN(csv.separator, SeparatorOf(config.data.csv_separator));
  TACET_ASSIGN_OR_RETURN(csv.decimal, DecimalMarkOf(config.data.csv_decimal));
  const absl::StatusOr<table::Thousands> thousands = table::ThousandsOf(config.data.csv_thousands);
  if (!thousands.ok()) return base::Annotate(thousands.status(), "data.csv_thousands");
  csv.thousands = *thousands;
  const absl::Status marks = table::CheckThousands(csv.thousands, csv.decimal);
  if (!marks.ok()) return base::Annotate(marks, "data.csv_thousands");
  TACET_ASSIGN_OR_RETURN(csv.classes, Narrow(config.data.classes, "data.classes"));
  const absl::StatusOr<table::CategoryList> labels =
      table::CategoryList::Create(config.data.csv_labels);
  if (!labels.ok()) return base::Annotate(labels.status(), "data.csv_labels");
  csv.labels = *labels;
  TACET_RETURN_IF_ERROR(CheckLabels(config));
  for (const std::string& text : config.data.csv_spellings) {
    const absl::StatusOr<table::AgreedColumn> spelling = table::ParseSpelling(text);
    if (!spelling.ok()) return base::Annotate(spelling.status(), "data.csv_spellings");
    csv.spellings.push_back(*spelling);
  }
  for (const std::string& text : config.data.csv_features) {
    TACET_ASSIGN_OR_RETURN(csv.features.emplace_back(), data::ParseCsvFeature(text));
  }
  return csv;
}

absl::StatusOr<ModelInput> ModelInputOf(const RunConfig& config) {
  ModelInput input{.shape = config.model.input_shape};
  TACET_ASSIGN_OR_RETURN(const data::CsvOptions csv, CsvOptionsOf(config));
  if (input.shape.empty()) {
    uint64_t width = 0;
    for (const data::CsvFeature& feature : csv.features) width += feature.width();
    if (width == 0) {
      return base::InvalidArgument(
          "model.input_shape is missing, and data.csv_features, from which it could follow, too: "
          "for images of 28 by 28 it is [28, 28]");
    }
    input.shape = {width};
  }
  input.classes = csv.known_classes();
  if (input.classes == 0) {
    return base::InvalidArgument(
        "data.classes is missing, and data.csv_labels and data.csv_label_above, from which it "
        "could "
        "follow, too");
  }
  return input;
}

namespace {

absl::Status CheckShape(const data::Dataset& dataset, const std::vector<uint64_t>& expected) {
  const auto& shape = dataset.input_shape();
  if (expected.empty() || std::ranges::equal(shape, expected)) return absl::OkStatus();
  return base::InvalidArgument("{}: samples are of shape [{}], model.input_shape says [{}]",
                               dataset.name(), fmt::join(shape, ", "), fmt::join(expected, ", "));
}

}  // namespace

absl::StatusOr<data::Dataset> LoadAllData(const RunConfig& config,
                                          table::ProblemSummary* unreadable) {
  if (config.data.path.empty()) {
    TACET_ASSIGN_OR_RETURN(const data::HandwritingSpec spec, HandwritingSpecOf(config));
    return data::DrawHandwriting(spec);
  }
  TACET_ASSIGN_OR_RETURN(const data::CsvOptions csv, CsvOptionsOf(config));
  return data::LoadDataset(config.data.path, csv, unreadable);
}

absl::StatusOr<data::Dataset> ArrangeRunData(const RunConfig& config, data::Dataset dataset) {
  TACET_RETURN_IF_ERROR(CheckShape(dataset, config.model.input_shape));
  if (config.data.clients != 0) {
    TACET_ASSIGN_OR_RETURN(dataset, data::SpreadClients(dataset, config.data.clients));
  }
  if (config.data.sites == 0) return dataset;
  return data::SpreadOverSites(dataset, config.data.sites, config.run.seed);
}

absl::StatusOr<data::Dataset> LoadRunData(const RunConfig& config,
                                          table::ProblemSummary* unreadable) {
  TACET_ASSIGN_OR_RETURN(data::Dataset dataset, LoadAllData(config, unreadable));
  return ArrangeRunData(config, std::move(dataset));
}

}  // namespace tacet::config
