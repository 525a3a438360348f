#include "lab/reproduce/reproduce_command.h"

#include <cstdio>
#include <string>
#include <utility>

#include "fmt/core.h"

#include "apps/tacet/program/share_folder.h"
#include "lab/reproduce/reproduce.h"
#include "lab/reproduce/reproduce_hospitals.h"
#include "tacet/base/status.h"

namespace tacet::app::reproduce {

absl::StatusOr<std::filesystem::path> FolderOf(const ReproduceFlags& flags,
                                               const std::string& name) {
  if (flags.out.has_value()) return std::filesystem::path(*flags.out);
  if (flags.show) return program::FindShareFolder("docs/experiments/" + name, "out");
  return std::filesystem::path("runs") / name;
}

absl::StatusOr<std::filesystem::path> ConfigFolder(const ReproduceFlags& flags,
                                                   const std::string& relative) {
  if (flags.configs.has_value()) return std::filesystem::path(*flags.configs);
  return program::FindShareFolder(relative, "configs");
}

namespace {

class ReproduceCommand : public program::Command {
 public:
  std::string_view name() const override { return "reproduce"; }
  std::string_view summary() const override {
    return "repeat experiments: the paper's tables, figure and remarks, and the hospitals";
  }

  void Register(program::Options& options) override {
    options.AddPositional(
        "what",
        "table1: accuracy, step by step to privacy (trains for hours; the same command resumes "
        "it); public-start: a model of drawn characters, and private rows from it; table2: cost of "
        "encryption; figure2: accuracy and epsilon over the noise (trains); "
        "remarks: modulus, scale, local privacy, rounding; hospitals: four hospitals' patients, "
        "each record protected, compared with alternatives (minutes)",
        {"table1", "table2", "figure2", "remarks", "hospitals", "public-start"}, true, &what_);
    options.AddString(
        "row",
        "table1, figure2, public-start: the only row to run (docs/experiments lists the rows)",
        &flags_.row);
    options.AddString("data",
                      "folder of FEMNIST by writer (docs/formats/datasets.md); hospitals: folder "
                      "with one file for each hospital",
                      &flags_.experiment.data);
    options.AddString("out",
                      "folder for runs and results; when not given, runs/NAME. With --show, folder "
                      "from which results are read",
                      &flags_.out);
    options.AddString("configs",
                      "folder of configurations; when not given, configs/table1 or "
                      "configs/public-start (remarks, "
                      "hospitals: configs)",
                      &flags_.configs);
    options.AddString(
        "start", "public-start: model.f32 of its row pretrain, from which the other rows begin",
        &flags_.experiment.start);
    options.AddUint("rounds", "T, number of rounds, replaces the configuration's (labelled)",
                    &flags_.experiment.rounds);
    options.AddUint("threads", "worker threads; when not given, one a processor",
                    &flags_.experiment.threads);
    options.AddUint("seed",
                    "seed of initialisation, split and batches, replaces the configuration's",
                    &flags_.experiment.seed);
    options.AddString("precision", "precision of training: auto, f32 or bf16",
                      &flags_.experiment.precision);
    options.AddUint("dimension", "table2: d, values of an update", &flags_.dimension);
    options.AddUint("participants", "table2: K, uploads to add", &flags_.participants);
    options.AddUint("repetitions", "table2: number of runs; the median is printed",
                    &flags_.repetitions);
    options.AddUint("seeds", "hospitals: number of splits and trainings of each kind, at least 2",
                    &hospitals_.seeds);
    options.AddFlag("mlp",
                    "hospitals: train a network with 8 hidden units instead of logistic regression",
                    &hospitals_mlp_);
    options.AddFlag("encrypt", "hospitals: seal and decrypt every sum (same results, slower)",
                    &hospitals_.encrypt);
    options.AddFlag("show", "table1, figure2, public-start: print stored results without training",
                    &flags_.show);
    options.AddFlag("json", "print JSON, progress on standard error", &json_);
  }

  absl::Status Run() override {
    const bool rows = what_ == "table1" || what_ == "figure2" || what_ == "public-start";
    if (flags_.row.has_value() && !rows) {
      return base::InvalidArgument(
          "--row names a row of table1, figure2 or public-start; {} has none", what_);
    }
    if (flags_.experiment.start.has_value() && what_ != "public-start") {
      return base::InvalidArgument("--start is for public-start; {} begins with random parameters",
                                   what_);
    }
    if (flags_.show && !rows) {
      return base::InvalidArgument(
          "--show is for table1, figure2 and public-start; {} is computed again each time", what_);
    }
    if (json_) flags_.progress = stderr;
    TACET_ASSIGN_OR_RETURN(const Reproduced made, Reproduce());
    if (json_) {
      fmt::print("{}\n", made.json.Dump(2));
    } else {
      fmt::print("{}", made.text);
    }
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<Reproduced> Reproduce() const {
    if (what_ == "table1") return ReproduceTable1(flags_);
    if (what_ == "public-start") return ReproducePublicStart(flags_);
    if (what_ == "table2") return ReproduceTable2(flags_);
    if (what_ == "figure2") return ReproduceFigure2(flags_);
    if (what_ == "remarks") return ReproduceRemarks(flags_);
    return Hospitals();
  }

  absl::StatusOr<Reproduced> Hospitals() const {
    if (!flags_.experiment.data.has_value()) {
      return base::InvalidArgument(
          "hospitals needs --data, a folder with one file a hospital "
          "(docs/experiments/hospitals)");
    }
    TACET_ASSIGN_OR_RETURN(const std::filesystem::path configs, ConfigFolder(flags_, "configs"));
    TACET_ASSIGN_OR_RETURN(const std::filesystem::path out, FolderOf(flags_, "hospitals"));
    HospitalsFlags flags = hospitals_;
    flags.config =
        (configs / (hospitals_mlp_ ? "heart-disease-mlp.toml" : "heart-disease.toml")).string();
    flags.data = *flags_.experiment.data;
    flags.out = out.string();
    flags.threads = flags_.experiment.threads.value_or(0);
    flags.progress = flags_.progress;
    flags.command += fmt::format(" --seeds {}{}{}", flags.seeds, hospitals_mlp_ ? " --mlp" : "",
                                 flags.encrypt ? " --encrypt" : "");
    TACET_ASSIGN_OR_RETURN(HospitalsResult made, ReproduceHospitals(flags));
    return Reproduced{.json = std::move(made.json), .text = std::move(made.text)};
  }

  std::string what_;
  ReproduceFlags flags_;
  HospitalsFlags hospitals_;
  bool hospitals_mlp_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<program::Command> NewReproduceCommand() {
  return std::make_unique<ReproduceCommand>();
}

}  // namespace tacet::app::reproduce
