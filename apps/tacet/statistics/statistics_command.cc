#include "apps/tacet/statistics/statistics_command.h"

#include <cstdio>
#include <ctime>
#include <optional>
#include <string>

#include "fmt/chrono.h"
#include "fmt/core.h"
#include <unistd.h>

#include "apps/tacet/program/console.h"
#include "tacet/base/status.h"
#include "tacet/base/stop_signal.h"
#include "tacet/run/answers_output.h"
#include "tacet/run/query_run.h"
#include "tacet/run/site_tables.h"
#include "tacet/statistics/answers.h"

namespace tacet::app::statistics {
namespace {

class StatisticsCommand : public program::Command {
 public:
  std::string_view name() const override { return "statistics"; }
  std::string_view summary() const override {
    return "answer questions about the tables of several sites: counts, means, histograms, "
           "quantiles, survival curves, evaluation of scores; one charge for all of them";
  }

  void Register(program::Options& options) override {
    options.AddPositional("query", "TOML file with the questions (docs/formats/query.md)", {}, true,
                          &query_path_);
    options.AddString("data",
                      "CSV file, or folder of CSV files: one for each site, or with a site "
                      "column (data.site_column)",
                      &data_);
    options.AddString("sites",
                      "TOML file with a table [site.NAME] for each site whose files are written in "
                      "another way: csv_separator, csv_decimal, csv_thousands, csv_spellings",
                      &sites_);
    options.AddString("out", "run directory; when not given, a new one below runs/", &out_);
    options.AddUint("threads", "worker threads; when not given, all processors", &threads_);
    options.AddUint("insecure-seed",
                    "seed that fixes noise and keys, for debugging: it protects nobody",
                    &insecure_seed_);
    options.AddFlag(
        "json", "print the summary with the answers as JSON, progress on standard error", &json_);
  }

  absl::Status Run() override {
    if (!data_.has_value()) {
      return base::InvalidArgument("--data is missing: the file or folder with the sites' tables");
    }
    TACET_ASSIGN_OR_RETURN(const config::LoadedQuery loaded, run::LoadQuery(query_path_));
    table::ProblemSummary problems;
    TACET_ASSIGN_OR_RETURN(const run::TableFormats formats,
                           run::RehearsalFormats(loaded.file, sites_));
    TACET_ASSIGN_OR_RETURN(
        const auto tables,
        run::LoadSiteTables(*data_, loaded.file, *loaded.query, formats, problems));
    for (const std::string& line : run::ProblemLines(problems)) {
      fmt::print(stderr, "tacet: {}. Such fields count as missing\n", line);
    }
    const base::TextSink progress = program::Console(json_ ? stderr : stdout);
    const std::string directory =
        out_.value_or(fmt::format("runs/{:%Y%m%d-%H%M%S}", fmt::localtime(std::time(nullptr))));
    const base::StopSignal stop;
    TACET_ASSIGN_OR_RETURN(
        const run::QueryRunEnd end,
        run::RunQuery(loaded, tables, run::LedgerName(*data_),
                      {.insecure_seed = insecure_seed_, .threads = threads_.value_or(0)}, directory,
                      progress));
    if (json_) {
      fmt::print("{}\n", end.summary.Dump(2));
      return absl::OkStatus();
    }
    fmt::print("{}\n", run::AnswersText(end.answers, loaded.query->spec().confidence,
                                        isatty(fileno(stdout)) == 1));
    fmt::print("noise       {}\n", tacet::statistics::NoiseSentence(loaded.query->noise_law()));
    fmt::print("privacy     epsilon {:.3f} at delta {:g} per {} for all answers together\n",
               end.epsilon, end.delta, accounting::UnitName(loaded.query->spec().unit));
    fmt::print("results     {}\n", directory);
    return absl::OkStatus();
  }

 private:
  std::string query_path_;
  std::optional<std::string> data_, sites_, out_;
  std::optional<uint64_t> threads_, insecure_seed_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<program::Command> NewStatisticsCommand() {
  return std::make_unique<StatisticsCommand>();
}

}  // namespace tacet::app::statistics
