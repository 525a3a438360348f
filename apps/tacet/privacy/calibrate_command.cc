#include "apps/tacet/privacy/calibrate_command.h"

#include <cstdint>
#include <string>

#include "fmt/core.h"

#include "apps/tacet/privacy/planned_federation.h"
#include "tacet/accounting/calibration.h"
#include "tacet/base/json.h"
#include "tacet/base/status.h"

namespace tacet::app::privacy {
namespace {

using accounting::HeldFixed;

class CalibrateCommand : public program::Command {
 public:
  std::string_view name() const override { return "calibrate"; }
  std::string_view summary() const override {
    return "find the noise, the rounds or the cohort of a planned federation for a wanted epsilon";
  }

  void Register(program::Options& options) override {
    options.AddPositional(
        "quantity",
        "what to find: the least noise-multiplier, the most rounds, the largest cohort at the "
        "given noise, or cohort-at-average-noise (noise / cohort fixed)",
        {"noise-multiplier", "rounds", "cohort", "cohort-at-average-noise"}, true, &quantity_);
    options.AddDouble("epsilon", "epsilon to spend", &epsilon_);
    options.Require("epsilon");
    options.AddChoice("accountant",
                      "accountant that computes epsilon; best: the smallest valid bound",
                      {"best", "moments", "rdp", "pld", "fixed-size-tight"}, &accountant_);
    std::vector<std::string> observers = {"worst"};
    for (const auto& [observer, name] : accounting::kObservers) observers.emplace_back(name);
    options.AddChoice(
        "observer",
        "observer against whom --epsilon must hold; worst: the worst that has a guarantee, or "
        "external (the external observer) with --accountant",
        observers, &observer_);
    options.AddFlag("json", "print JSON", &json_);
    federation_.Register(options);
  }

  absl::Status Run() override {
    const bool noise = quantity_ == "noise-multiplier";
    TACET_ASSIGN_OR_RETURN(accounting::FederationPrivacySpec spec,
                           federation_.Read(noise                   ? Varied::kNoise
                                            : quantity_ == "rounds" ? Varied::kRounds
                                                                    : Varied::kNothing));
    const accounting::CalibrationTarget target = Target();
    double value = 0;
    if (noise) {
      TACET_ASSIGN_OR_RETURN(spec.mechanism.noise_stddev, accounting::CalibrateNoise(spec, target));
      value = spec.mechanism.noise_stddev / spec.mechanism.clip_norm;
    } else if (quantity_ == "rounds") {
      TACET_ASSIGN_OR_RETURN(spec.rounds, accounting::CalibrateRounds(spec, target));
      value = static_cast<double>(spec.rounds);
    } else {
      const HeldFixed held =
          quantity_ == "cohort" ? HeldFixed::kNoise : HeldFixed::kNoiseOfTheAverage;
      TACET_ASSIGN_OR_RETURN(const uint64_t cohort,
                             accounting::CalibrateCohort(spec, target, held));
      spec = accounting::WithCohort(spec, cohort, held);
      value = static_cast<double>(cohort);
    }
    TACET_ASSIGN_OR_RETURN(const double reached, accounting::EpsilonOf(spec, target));
    if (json_) {
      fmt::print("{}\n", base::JsonValue::MakeObject()
                             .Set("quantity", quantity_)
                             .Set("value", value)
                             .Set("noise_multiplier",
                                  spec.mechanism.noise_stddev / spec.mechanism.clip_norm)
                             .Set("observer", observer_)
                             .Set("accountant", accountant_)
                             .Set("epsilon", reached)
                             .Set("delta", spec.privacy.delta)
                             .Dump(2));
      return absl::OkStatus();
    }
    fmt::print("{} {:.8g} gives epsilon {:.6f} (observer {}, accountant {})\n", quantity_, value,
               reached, observer_, accountant_);
    return absl::OkStatus();
  }

 private:
  accounting::CalibrationTarget Target() const {
    accounting::CalibrationTarget target{.epsilon = epsilon_};
    for (const accounting::Accountant accountant : accounting::kAccountants) {
      if (accountant_ == accounting::AccountantName(accountant)) target.accountant = accountant;
    }
    for (const auto& [observer, name] : accounting::kObservers) {
      if (observer_ == name) target.observer = observer;
    }
    return target;
  }

  PlannedFederation federation_;
  std::string quantity_;
  double epsilon_ = 0;
  std::string accountant_ = "best";
  std::string observer_ = "worst";
  bool json_ = false;
};

}  // namespace

std::unique_ptr<program::Command> NewCalibrateCommand() {
  return std::make_unique<CalibrateCommand>();
}

}  // namespace tacet::app::privacy
