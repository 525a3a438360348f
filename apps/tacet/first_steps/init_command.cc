#include "apps/tacet/first_steps/init_command.h"

#include <string>
#include <vector>

#include "fmt/core.h"

#include "apps/tacet/first_steps/configurations.h"
#include "apps/tacet/first_steps/new_files.h"
#include "tacet/base/status.h"

namespace tacet::app::first_steps {
namespace {

constexpr std::string_view kConfiguration = "tacet.toml";

class InitCommand : public program::Command {
 public:
  std::string_view name() const override { return "init"; }
  std::string_view summary() const override {
    return "write a commented configuration for `tacet simulate`, which runs as it stands";
  }

  void Register(program::Options& options) override {
    options.AddChoice(
        "format",
        "of the data: csv (tables; also writes four invented hospitals to try it on) "
        "or images (IDX or LEAF folders; runs on drawn characters until it names one)",
        {"csv", "images"}, &format_);
    options.AddString("folder", "where to write; nothing that is there is replaced", &folder_);
  }

  absl::Status Run() override {
    std::vector<NewFile> files;
    if (format_ == "csv") files = PatientTables();
    files.insert(files.begin(), {.path = kConfiguration,
                                 .text = std::string(format_ == "csv" ? TablesConfiguration()
                                                                      : ImagesConfiguration())});
    TACET_RETURN_IF_ERROR(WriteNewFiles(folder_, files));
    for (const NewFile& file : files) {
      fmt::print("written     {}\n",
                 (std::filesystem::path(folder_) / file.path).lexically_normal().string());
    }
    fmt::print("next        {}tacet simulate --config {}\n",
               folder_ == "." ? std::string() : fmt::format("cd {} && ", folder_), kConfiguration);
    return absl::OkStatus();
  }

 private:
  std::string format_ = "csv";
  std::string folder_ = ".";
};

}  // namespace

std::unique_ptr<program::Command> NewInitCommand() { return std::make_unique<InitCommand>(); }

}  // namespace tacet::app::first_steps
