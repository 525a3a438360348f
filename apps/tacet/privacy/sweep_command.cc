#include "apps/tacet/privacy/sweep_command.h"

#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fmt/core.h"

#include "apps/tacet/privacy/planned_federation.h"
#include "apps/tacet/privacy/privacy_sweep.h"
#include "tacet/base/status.h"

namespace tacet::app::privacy {
namespace {

absl::Status WriteFile(const std::string& path, std::string_view text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  return out ? absl::OkStatus() : base::Unavailable("cannot write {}", path);
}

class SweepCommand : public program::Command {
 public:
  std::string_view name() const override { return "sweep"; }
  std::string_view summary() const override {
    return "write epsilon along a varied quantity of a planned federation as CSV";
  }

  void Register(program::Options& options) override {
    options.AddPositional("range",
                          "QUANTITY=FROM:TO:STEP with noise-multiplier, rounds, cohort (noise / "
                          "cohort fixed) or colluders",
                          {}, true, &range_);
    options.AddString("out", "path of the table; else privacy-QUANTITY.csv", &out_);
    federation_.Register(options);
  }

  absl::Status Run() override {
    TACET_ASSIGN_OR_RETURN(const SweepRange range, ParseSweep(range_));
    TACET_ASSIGN_OR_RETURN(const accounting::FederationPrivacySpec spec,
                           federation_.Read(range.quantity == "noise-multiplier" ? Varied::kNoise
                                            : range.quantity == "rounds"         ? Varied::kRounds
                                                                         : Varied::kNothing));
    TACET_ASSIGN_OR_RETURN(const std::vector<SweepPoint> points, RunSweep(spec, range));
    const std::string path = out_.value_or(fmt::format("privacy-{}.csv", range.quantity));
    TACET_RETURN_IF_ERROR(WriteFile(path, SweepCsv(range, points)));
    fmt::print("wrote {}: {} values of {}\n", path, points.size(), range.quantity);
    return absl::OkStatus();
  }

 private:
  PlannedFederation federation_;
  std::string range_;
  std::optional<std::string> out_;
};

}  // namespace

std::unique_ptr<program::Command> NewSweepCommand() { return std::make_unique<SweepCommand>(); }

}  // namespace tacet::app::privacy
