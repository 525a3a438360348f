#include "apps/tacet/first_steps/demo_command.h"

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "fmt/chrono.h"
#include "fmt/core.h"
#include "fmt/ranges.h"

#include "apps/tacet/first_steps/configurations.h"
#include "apps/tacet/first_steps/new_files.h"
#include "tacet/base/status.h"

namespace tacet::app::first_steps {
namespace {

using Words = std::vector<std::string>;

class DemoCommand : public program::Command {
 public:
  explicit DemoCommand(RunTacet run_tacet) : run_tacet_(std::move(run_tacet)) {}

  std::string_view name() const override { return "demo"; }
  std::string_view summary() const override {
    return "train two federations with encryption and differential privacy: people's handwriting "
           "and four hospitals, whose data the program draws";
  }

  void Register(program::Options& options) override {
    options.AddString("data",
                      "a data set of images with a thousand people or more, in place of drawn "
                      "handwriting",
                      &data_);
    options.AddString("out", "folder for the runs; when not given, a new one below runs/", &out_);
    options.AddUint("rounds", "rounds of the handwriting, in place of 30", &rounds_);
    options.AddUint("insecure-seed",
                    "seed that fixes cohorts, noise and keys, for debugging: it protects nobody",
                    &insecure_seed_);
  }

  absl::Status Run() override {
    folder_ = out_.value_or(
        fmt::format("runs/demo-{:%Y%m%d-%H%M%S}", fmt::localtime(std::time(nullptr))));
    std::vector<NewFile> files = PatientTables();
    files.push_back({.path = "handwriting.toml",
                     .text = std::string(data_ ? WritersConfiguration() : ImagesConfiguration())});
    files.push_back({.path = "patients.toml", .text = std::string(TablesConfiguration())});
    TACET_RETURN_IF_ERROR(WriteNewFiles(folder_, files));
    TACET_RETURN_IF_ERROR(TrainHandwriting());
    TACET_RETURN_IF_ERROR(TrainHospitals());
    Say("\n== Reports, for a browser\n");
    TACET_RETURN_IF_ERROR(Step({"report", Path("handwriting")}));
    TACET_RETURN_IF_ERROR(Step({"report", Path("hospitals")}));
    Say(fmt::format("\nEverything is in {}. For a configuration of your own: tacet init\n",
                    folder_.string()));
    return absl::OkStatus();
  }

 private:
  absl::Status TrainHandwriting() const {
    Say("A federation trains a model on people's handwriting. All parties run in this process.\n"
        "Each client clips, noises, quantises and encrypts its update and adds a MAC.\n"
        "The server adds the ciphertexts without a key.\n"
        "A committee of clients votes for the aggregate and unmasks it; everybody checks it.\n");
    Words simulate = Simulate("handwriting.toml", data_, "handwriting");
    if (rounds_) simulate.insert(simulate.end(), {"--rounds", std::to_string(*rounds_)});
    TACET_RETURN_IF_ERROR(Step(simulate));
    Say("\n== The guarantee in words\n"
        "Nobody learns who took part: each client tosses a secret coin, and all upload.\n");
    TACET_RETURN_IF_ERROR(Step({"report", Path("handwriting"), "--explain"}));
    Say("\n== The guarantee at the size of the paper's experiment\n"
        "3596 clients, 1000 in each of 100 rounds, noise of six clip norms.\n");
    return Step({"privacy", "--clients", "3596", "--cohort", "1000", "--rounds", "100",
                 "--noise-multiplier", "6", "--delta", "1e-5", "--brief"});
  }

  absl::Status TrainHospitals() const {
    Say("\n== Four hospitals\n"
        "Each has a table of 1,000 patients, which the program draws. Every patient's row is\n"
        "protected. The hospitals agree on an epsilon, and the program finds the noise for it.\n");
    TACET_RETURN_IF_ERROR(Step(Simulate("patients.toml", Path("patients"), "hospitals")));
    Say("\n== The guarantee of the hospitals in words\n");
    return Step({"report", Path("hospitals"), "--explain"});
  }

  std::string Path(std::string_view name) const { return (folder_ / name).string(); }

  Words Simulate(std::string_view configuration, const std::optional<std::string>& data,
                 std::string_view run) const {
    Words words = {"simulate", "--config", Path(configuration)};
    if (data) words.insert(words.end(), {"--data", *data});
    words.insert(words.end(), {"--out", Path(run)});
    if (insecure_seed_) {
      words.insert(words.end(), {"--insecure-seed", std::to_string(*insecure_seed_)});
    }
    return words;
  }

  static void Say(std::string_view text) {
    fmt::print("{}", text);
    std::fflush(stdout);
  }

  absl::Status Step(const Words& words) const {
    const std::string line = fmt::format("tacet {}", fmt::join(words, " "));
    Say(fmt::format("\n$ {}\n", line));
    if (run_tacet_(words) == 0) return absl::OkStatus();
    return base::FailedPrecondition("the demo ended with its step `{}`", line);
  }

  RunTacet run_tacet_;
  std::filesystem::path folder_;
  std::optional<std::string> data_, out_;
  std::optional<uint64_t> rounds_, insecure_seed_;
};

}  // namespace

std::unique_ptr<program::Command> NewDemoCommand(RunTacet run_tacet) {
  return std::make_unique<DemoCommand>(std::move(run_tacet));
}

}  // namespace tacet::app::first_steps
