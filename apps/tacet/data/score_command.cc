#include "apps/tacet/data/score_command.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fmt/core.h"

#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/config/agreed_query.h"
#include "tacet/config/configured_data.h"
#include "tacet/config/site_config.h"
#include "tacet/data/csv_feature.h"
#include "tacet/models/architecture.h"
#include "tacet/run/run_output.h"
#include "tacet/run/run_reader.h"
#include "tacet/storage/file/posix_file.h"
#include "tacet/table/row_shape.h"
#include "tacet/table/table_file.h"
#include "tacet/table/table_text.h"
#include "tacet/training/row_scores.h"

namespace tacet::app::data {
namespace {

using table::TableRecords;

constexpr uintmax_t kMaxSettingsBytes = uintmax_t{4} << 20;
constexpr uintmax_t kMaxModelBytes = uintmax_t{1} << 30;

// A field as a table writes it.
std::string Quoted(const std::string& field, char separator) {
  if (field.find(separator) == std::string::npos && field.find('"') == std::string::npos &&
      !field.starts_with(' ') && !field.ends_with(' ')) {
    return field;
  }
  std::string quoted = "\"";
  for (const char letter : field)
    quoted += letter == '"' ? std::string("\"\"") : std::string(1, letter);
  return quoted + "\"";
}

class DataScoreCommand : public program::Command {
 public:
  std::string_view name() const override { return "score"; }
  std::string_view summary() const override {
    return "copy a table with one column more: the probability that a trained model gives class 1";
  }
  void Register(program::Options& options) override {
    options.AddPositional("run", "run directory of the training, with config.toml and model.f32",
                          {}, true, &run_);
    options.AddString("data", "table of this site: one CSV file with a header line", &data_);
    options.AddString("out", "table to write", &out_);
    options.AddString("column", "name of the new column", &column_);
    options.Require("data");
    options.Require("out");
  }

  absl::Status Run() override {
    std::error_code error;
    if (std::filesystem::is_directory(data_, error)) {
      return base::InvalidArgument("--data {} is a folder: give one file at a time", data_);
    }
    if (std::filesystem::equivalent(data_, out_, error)) {
      return base::InvalidArgument("--out is the table of --data, which stays as it is");
    }
    TACET_ASSIGN_OR_RETURN(const config::RunConfig config, Settings());
    TACET_ASSIGN_OR_RETURN(const std::vector<double> scores, Scores(config));
    TACET_ASSIGN_OR_RETURN(const std::string table, WithScores(config, scores));
    TACET_RETURN_IF_ERROR(storage::file::ReplaceFile(out_, base::AsBytes(table)));
    fmt::print("table       {}: {} rows, column \"{}\"\n", out_, scores.size(), column_);
    return absl::OkStatus();
  }

 private:
  // For the training, about this file.
  absl::StatusOr<config::RunConfig> Settings() const {
    const std::filesystem::path path = std::filesystem::path(run_) / run::kConfigFile;
    TACET_ASSIGN_OR_RETURN(const std::string text, run::ReadText(path, kMaxSettingsBytes));
    TACET_ASSIGN_OR_RETURN(config::RunConfig config, config::ParseRunConfig(text, path.string()));
    if (config::IsQuery(config) || config::IsExternal(config)) {
      return base::InvalidArgument("{} is the run of a model that tacet does not apply: {}", run_,
                                   config.model.name);
    }
    if (!config.data.csv_columns.empty()) {
      return base::InvalidArgument(
          "the files have no line of names (data.csv_columns): they cannot get a named column");
    }
    config.data.path = data_;
    config.data.csv_client_column.clear();
    return config;
  }

  absl::StatusOr<std::vector<double>> Scores(const config::RunConfig& config) const {
    TACET_ASSIGN_OR_RETURN(const tacet::data::Dataset dataset, config::LoadAllData(config));
    TACET_ASSIGN_OR_RETURN(const models::Architecture architecture,
                           models::Architecture::Create({.model = config.model.name,
                                                         .input_shape = dataset.input_shape(),
                                                         .hidden = config.model.hidden,
                                                         .classes = dataset.classes()}));
    const std::filesystem::path path = std::filesystem::path(run_) / run::kModelFile;
    TACET_ASSIGN_OR_RETURN(const std::string bytes, run::ReadText(path, kMaxModelBytes));
    std::vector<float> model(architecture.dimension());
    if (bytes.size() != model.size() * sizeof(float)) {
      return base::InvalidArgument(
          "{} has {} bytes, the model of {} has {} parameters of 4 bytes: the table has other "
          "columns, or the model is another one",
          path.string(), bytes.size(), run_, model.size());
    }
    std::memcpy(model.data(), bytes.data(), bytes.size());
    std::vector<uint32_t> rows(dataset.samples());
    std::iota(rows.begin(), rows.end(), 0U);
    TACET_ASSIGN_OR_RETURN(std::vector<double> scores,
                           training::Margins(architecture, model, dataset, rows));
    for (double& score : scores) score = 1 / (1 + std::exp(-score));
    return scores;
  }

  absl::StatusOr<std::string> WithScores(const config::RunConfig& config,
                                         const std::vector<double>& scores) const {
    TACET_ASSIGN_OR_RETURN(const table::TableFile file, table::TableFile::Open(data_));
    TableRecords records = file.Records();
    TACET_ASSIGN_OR_RETURN(const char separator, SeparatorOf(config, records));
    table::RowShape shape(0, separator);
    const bool comma = config.data.csv_decimal == "comma";
    std::string table;
    std::vector<std::string> fields;
    size_t row = 0;
    for (bool header = true;; header = false) {
      const TableRecords::Result result = records.Next(separator, fields);
      if (result == TableRecords::Result::kEnd) break;
      if (header && std::ranges::find(fields, column_) != fields.end()) {
        return base::InvalidArgument("{} has a column \"{}\" already: name another with --column",
                                     data_, column_);
      }
      if (result != TableRecords::Result::kRecord || (!header && row == scores.size())) {
        return base::InvalidArgument("{}:{}: this row was not read", data_, records.line());
      }
      if (header) {
        shape = table::RowShape::OfHeader(fields, separator);
      } else if (shape.Fit(fields, records.first_is_quoted()).has_value()) {
        return base::InvalidArgument("{}:{}: this row was not read", data_, records.line());
      }
      for (const std::string& field : fields) table += Quoted(field, separator) + separator;
      std::string last = header ? column_ : fmt::format("{:.6f}", scores[row++]);
      if (!header && comma) std::ranges::replace(last, '.', ',');
      table += Quoted(last, separator) + "\n";
    }
    if (row == scores.size()) return table;
    return base::DataLoss("{} has {} rows, {} were scored", data_, row, scores.size());
  }

  absl::StatusOr<char> SeparatorOf(const config::RunConfig& config, TableRecords& records) const {
    std::optional<char> separator = records.TakeSeparatorLine();
    TACET_ASSIGN_OR_RETURN(const tacet::data::CsvOptions options, config::CsvOptionsOf(config));
    if (options.separator.has_value()) separator = options.separator;
    if (!separator.has_value() && data_.ends_with(".tsv")) separator = '\t';
    if (separator.has_value()) return *separator;
    std::vector<std::string> known = {config.data.csv_label_column};
    for (const std::string& feature : config.data.csv_features) {
      TACET_ASSIGN_OR_RETURN(known.emplace_back(), ColumnOf(feature));
    }
    separator = table::FindSeparator(records, known, config.data.csv_decimal == "comma");
    if (separator.has_value()) return *separator;
    return base::InvalidArgument(
        "{}: several characters could separate the fields; begin the file with a line sep=; or "
        "sep=, (the one that it uses)",
        data_);
  }
  static absl::StatusOr<std::string> ColumnOf(const std::string& feature) {
    TACET_ASSIGN_OR_RETURN(tacet::data::CsvFeature parsed, tacet::data::ParseCsvFeature(feature));
    return std::move(parsed.column);
  }

  std::string run_, data_, out_;
  std::string column_ = "score";
};

}  // namespace

std::unique_ptr<program::Command> NewDataScoreCommand() {
  return std::make_unique<DataScoreCommand>();
}

}  // namespace tacet::app::data
