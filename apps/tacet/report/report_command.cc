#include "apps/tacet/report/report_command.h"

#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "fmt/core.h"

#include "apps/tacet/program/console.h"
#include "tacet/accounting/guarantee_in_words.h"
#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/report/report_page.h"
#include "tacet/run/report_data.h"
#include "tacet/run/run_guarantees.h"
#include "tacet/run/run_reader.h"
#include "tacet/run/run_tables.h"
#include "tacet/storage/file/posix_file.h"

namespace tacet::app::report {
namespace {

class ReportCommand : public program::Command {
 public:
  explicit ReportCommand(std::string version) : version_(std::move(version)) {}

  std::string_view name() const override { return "report"; }
  std::string_view summary() const override {
    return "HTML page of one or several runs: accuracy, privacy, time and bytes";
  }

  void Register(program::Options& options) override {
    options.AddPositionals("runs", "run directories; several are compared", &paths_);
    options.AddString("out",
                      "path of the self-contained HTML file; when not given, report.html in the "
                      "run directory (for several runs in the current directory)",
                      &out_);
    options.AddFlag("json", "print the data of the page as JSON, write no page", &json_);
    options.AddString(
        "tables",
        "write the tables of a query's answers as a paper has them, and no page: html, "
        "csv, latex or markdown; on standard output without --out",
        &tables_);
    options.AddString("question", "with --tables: the name of one question", &question_);
    options.AddFlag("explain", "print the guarantee in words for each observer, write no page",
                    &explain_);
  }

  absl::Status Run() override {
    if (question_.has_value() && !tables_.has_value()) {
      return base::InvalidArgument("--question names a question for --tables, which is missing");
    }
    std::vector<run::RunRecord> runs;
    for (const std::string& path : paths_) {
      TACET_ASSIGN_OR_RETURN(runs.emplace_back(), run::LoadRun(path));
    }
    if (tables_.has_value()) return WriteTables(runs);
    if (explain_) return Explain(runs);
    TACET_ASSIGN_OR_RETURN(const base::JsonValue data,
                           run::ReportData(runs, version_, base::SystemUnixSeconds()));
    if (json_) {
      fmt::print("{}\n", data.Dump(2));
      return absl::OkStatus();
    }
    const std::string title = runs.size() == 1 ? fmt::format("{} – tacet report", runs[0].name)
                                               : fmt::format("{} runs – tacet report", runs.size());
    const std::filesystem::path out = OutPath();
    TACET_RETURN_IF_ERROR(
        storage::file::ReplaceFile(out, base::AsBytes(tacet::report::ReportPage(title, data))));
    fmt::print("report      {}\n", out.string());
    return absl::OkStatus();
  }

 private:
  static absl::Status Explain(const std::vector<run::RunRecord>& runs) {
    TACET_ASSIGN_OR_RETURN(const std::vector<run::RunGuarantees> guarantees,
                           run::GuaranteesOf(runs));
    for (size_t i = 0; i < runs.size(); ++i) {
      if (runs.size() > 1) fmt::print("{}{}\n", i == 0 ? "" : "\n", runs[i].path.string());
      fmt::print("{}", guarantees[i].statement
                           ? program::Folded(accounting::StatementText(*guarantees[i].statement))
                           : std::string("No guarantee. `--json` has the reason.\n"));
    }
    return absl::OkStatus();
  }

  std::filesystem::path OutPath() const {
    constexpr std::string_view kName = "report.html";
    if (out_) return *out_;
    return paths_.size() == 1 ? std::filesystem::path(paths_[0]) / kName
                              : std::filesystem::path(kName);
  }

  absl::Status WriteTables(const std::vector<run::RunRecord>& runs) const {
    if (runs.size() != 1 || json_ || explain_) {
      return base::InvalidArgument(
          "--tables is about one run, and goes without --json and --explain");
    }
    TACET_ASSIGN_OR_RETURN(const run::TableMarkup markup, run::ParseTableMarkup(*tables_));
    TACET_ASSIGN_OR_RETURN(const std::string text, run::TablesOfRun(runs[0], question_, markup));
    if (out_.has_value()) return storage::file::ReplaceFile(*out_, base::AsBytes(text));
    fmt::print("{}", text);
    return absl::OkStatus();
  }

  std::string version_;
  std::vector<std::string> paths_;
  std::optional<std::string> out_, tables_, question_;
  bool json_ = false;
  bool explain_ = false;
};

}  // namespace

std::unique_ptr<program::Command> NewReportCommand(std::string version) {
  return std::make_unique<ReportCommand>(std::move(version));
}

}  // namespace tacet::app::report
