#include "apps/tacet/privacy/privacy_command.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fmt/core.h"

#include "apps/tacet/privacy/privacy_output.h"
#include "apps/tacet/privacy/privacy_sweep.h"
#include "apps/tacet/privacy/privacy_warnings.h"
#include "tacet/accounting/calibration.h"
#include "tacet/accounting/guarantee_in_words.h"
#include "tacet/accounting/privacy_rows.h"
#include "tacet/agreement/manifest.h"
#include "tacet/base/status.h"
#include "tacet/dp/mechanism_plan.h"
#include "tacet/he/key_sharing.h"
#include "tacet/report/privacy_json.h"

namespace tacet::app::privacy {
namespace {

using accounting::Accountant;
using accounting::HeldFixed;
using accounting::Observer;
using accounting::Unit;

absl::Status WriteFile(const std::string& path, std::string_view text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  return out ? absl::OkStatus() : base::Unavailable("cannot write {}", path);
}

// Parameters of the paper's network.
constexpr uint64_t kPaperDimension = 486'654;

class PrivacyCommand : public program::Command {
 public:
  std::string_view name() const override { return "privacy"; }
  std::string_view summary() const override {
    return "privacy guarantee of a planned federation: epsilon for every observer and accountant";
  }

  void Register(program::Options& options) override {
    options.AddUint("clients", "M, number of clients in the federation", &spec_.sampling.clients);
    options.AddUint("cohort", "K, number of clients drawn for a round", &spec_.sampling.cohort);
    options.AddUint("rounds", "T, number of rounds, counting every attempt", &rounds_);
    options.AddDouble("clip", "S, the L2 clip norm of a contribution", &spec_.mechanism.clip_norm);
    options.AddDouble("noise", "sigma, standard deviation of the noise in the sum", &noise_);
    options.AddDouble("delta",
                      "delta of the (epsilon, delta) guarantee: bound of the probability that the "
                      "factor e^epsilon does not cover",
                      &spec_.privacy.delta);
    options.AddUint("min-participants",
                    "K_min, uploads below which a round is not decrypted; 0: the cohort (with "
                    "Poisson sampling a size that is missed once in 1e9 rounds)",
                    &spec_.sampling.min_participants);
    options.AddChoice("sampling", "sampling of a cohort", {"fixed-size", "poisson"}, &sampling_);
    options.AddChoice("neighbouring",
                      "neighbouring relation: pairs of data sets that must look alike",
                      {"replace-one", "zero-out"}, &neighbouring_);
    options.AddUint("colluders", "c, number of clients that collude", &spec_.privacy.colluders);
    options.AddUint("colluding", "the same as --colluders", &spec_.privacy.colluders);
    options.AddString("committee",
                      "N,F: seats of the committee that decrypts sums, and how many of them may "
                      "collude with the server; when not given, as a federation of M clients has",
                      &committee_);
    options.AddDouble("availability",
                      "share of the clients that are available in a round, above 0 and at most 1",
                      &availability_);
    options.AddUint("max-participations", "largest number of rounds that one client joins; 0: all",
                    &spec_.sampling.max_participations);
    options.AddFlag("dummy-uploads",
                    "clients that were not drawn upload zeros and noise; needs poisson sampling",
                    &spec_.sampling.dummy_uploads);
    options.AddChoice("unit", "unit of privacy: whose data the guarantee hides",
                      {"client", "person", "record"}, &unit_);
    options.AddUint("sites", "the same as --clients, for --unit person or record", &sites_);
    options.AddDouble("record-rate", "q_r, probability with which a site draws a record",
                      &spec_.sampling.record_rate);
    options.AddUint("appearances", "largest number of sites at which one person or record appears",
                    &spec_.sampling.appearances);
    options.AddFlag("json", "print JSON", &json_);
    options.AddFlag("explain", "explain the guarantee in words for each observer, with its limits",
                    &explain_);
    options.AddDouble("false-positive-rate",
                      "for --explain: false-positive rate that an attacker accepts",
                      &false_positive_rate_);
    options.AddString("calibrate",
                      "find noise, rounds, cohort (at the given noise) or "
                      "cohort-at-average-noise (noise / cohort fixed) for --epsilon",
                      &calibrate_);
    options.AddDouble("epsilon", "for --calibrate: epsilon to spend", &epsilon_);
    options.AddChoice(
        "accountant",
        "for --calibrate: accountant that computes epsilon; best: the smallest valid bound",
        {"best", "moments", "rdp", "pld", "fixed-size-tight"}, &accountant_);
    options.AddChoice(
        "view",
        "for --calibrate: observer against whom --epsilon must hold; worst: the worst that has a "
        "guarantee, or outsider (the external observer) with --accountant",
        {"worst", "outsider", "participant-in-cohort", "participant-out-of-cohort", "colluders",
         "cohort-knowing", "traffic-observer", "coalition"},
        &view_);
    options.AddString("sweep",
                      "QUANTITY=FROM:TO:STEP with noise, rounds, cohort (noise / cohort "
                      "fixed) or colluding: writes CSV and SVG",
                      &sweep_);
    options.AddString("out", "for --sweep: path of the files without .csv and .svg", &out_);
    options.AddUint("dimension",
                    "d, values of one update, for the terms of finite arithmetic (when not given, "
                    "486,654) and the warning about too much noise",
                    &dimension_);
    options.AddDouble("expected-batch",
                      "records (persons) that all sites together draw in a round on average, for "
                      "the warnings",
                      &spec_.sampling.expected_batch);
    options.AddDouble(
        "bound", "b, bound of one coordinate, for the terms of finite arithmetic; 0: the clip norm",
        &spec_.mechanism.coordinate_bound);
    options.AddDouble("scale", "s, step of the quantisation, for the terms of finite arithmetic",
                      &spec_.mechanism.scale);
    options.AddChoice("sampler",
                      "algorithm that draws the noise, for the terms of finite arithmetic",
                      {"default", "box-muller", "polar", "ziggurat"}, &sampler_);
  }

  absl::Status Run() override {
    TACET_RETURN_IF_ERROR(ReadFederation());
    if (calibrate_) {
      return Calibrate();
    }
    if (sweep_) {
      return Sweep();
    }
    const absl::StatusOr<dp::MechanismPlan> plan = Plan();
    TACET_ASSIGN_OR_RETURN(const accounting::Guarantees guarantees,
                           accounting::GuaranteesOf(spec_, accounting::Extent::kAllRows,
                                                    plan.ok() ? &*plan : nullptr));
    TACET_ASSIGN_OR_RETURN(const std::vector<std::string> warnings,
                           PrivacyWarnings(spec_, dimension_.value_or(0)));
    if (explain_) {
      TACET_ASSIGN_OR_RETURN(const accounting::PrivacyStatement statement,
                             accounting::StatePrivacy(spec_, guarantees, false_positive_rate_));
      fmt::print("{}\n\n{}{}", Heading(), accounting::StatementText(statement),
                 WarningsText(warnings));
      return absl::OkStatus();
    }
    Print(guarantees, plan.status(), warnings);
    return absl::OkStatus();
  }

 private:
  absl::Status ReadFederation() {
    TACET_ASSIGN_OR_RETURN(spec_.sampling.method, accounting::ParseSampling(sampling_));
    TACET_ASSIGN_OR_RETURN(spec_.privacy.neighbouring,
                           accounting::ParseNeighbouring(neighbouring_));
    TACET_ASSIGN_OR_RETURN(spec_.privacy.unit, accounting::ParseUnit(unit_));
    TACET_ASSIGN_OR_RETURN(spec_.mechanism.sampler, dp::ParseGaussianSampler(sampler_));
    if (sites_ > 0) {
      spec_.sampling.clients = sites_;
    }
    if (epsilon_ && !calibrate_) {
      return base::InvalidArgument(
          "--epsilon is what --calibrate may spend: say with it which quantity to find");
    }
    if (!noise_ && calibrate_ != "noise" && !(sweep_ && sweep_->starts_with("noise"))) {
      return base::InvalidArgument("--noise is missing");
    }
    spec_.mechanism.noise_stddev = noise_.value_or(spec_.mechanism.clip_norm);
    if (!rounds_ && calibrate_ != "rounds" && !(sweep_ && sweep_->starts_with("rounds"))) {
      return base::InvalidArgument("--rounds is missing");
    }
    spec_.rounds = rounds_.value_or(1);
    if (!(availability_ > 0 && availability_ <= 1)) {
      return base::InvalidArgument("--availability is {}, expected above 0 and at most 1",
                                   availability_);
    }
    if (availability_ < 1) {
      spec_.pool = static_cast<uint64_t>(
          std::floor(availability_ * static_cast<double>(spec_.sampling.clients) + 1e-9));
    }
    TACET_RETURN_IF_ERROR(accounting::CheckFederation(spec_));
    return ReadCommittee();
  }

  absl::Status ReadCommittee() {
    const uint64_t clients = spec_.sampling.clients;
    he::CommitteeShape shape = agreement::DefaultCommittee(
        clients, static_cast<uint32_t>(std::min<uint64_t>(spec_.privacy.colluders, clients - 1)));
    if (committee_) {
      TACET_ASSIGN_OR_RETURN(shape, he::ParseCommittee(*committee_));
      TACET_RETURN_IF_ERROR(he::KeySharing::Create(shape).status());
    }
    if (shape.seats > clients) {
      return base::InvalidArgument("--committee {} has {} seats, the federation only {} clients",
                                   committee_.value_or(""), shape.seats, clients);
    }
    spec_.committee_seats = shape.seats;
    spec_.corrupt_seats = shape.corrupt;
    return absl::OkStatus();
  }

  std::string Heading() const {
    const accounting::FederationPrivacySpec resolved = accounting::Resolved(spec_);
    if (spec_.privacy.unit != Unit::kClient) {
      return fmt::format(
          "{} sites, each draws every {} with probability {}, {} rounds, clip norm {}, noise {}, "
          "delta {}",
          spec_.sampling.clients, accounting::UnitName(spec_.privacy.unit),
          spec_.sampling.record_rate, spec_.rounds, spec_.mechanism.clip_norm,
          spec_.mechanism.noise_stddev, spec_.privacy.delta);
    }
    const double expected = spec_.sampling.dummy_uploads
                                ? static_cast<double>(resolved.pool)
                                : static_cast<double>(resolved.sampling.cohort);
    const double resulting =
        spec_.mechanism.noise_stddev *
        std::sqrt(expected / static_cast<double>(resolved.sampling.min_participants));
    return fmt::format(
        "{} clients, cohorts of {} ({}) out of {}, at least {} arrive, {} rounds, clip norm {}, "
        "noise {} at least and {:.4g} when all arrive, delta {}",
        spec_.sampling.clients, spec_.sampling.cohort, sampling_, resolved.pool,
        resolved.sampling.min_participants, spec_.rounds, spec_.mechanism.clip_norm,
        spec_.mechanism.noise_stddev, resulting, spec_.privacy.delta);
  }

  void Print(const accounting::Guarantees& guarantees, const absl::Status& plan,
             const std::vector<std::string>& warnings) const {
    if (json_) {
      fmt::print("{}\n", tacet::report::GuaranteesJson(guarantees)
                             .Set("warnings", WarningsJson(warnings))
                             .Dump(2));
      return;
    }
    fmt::print("{}\n\n{}", Heading(), GuaranteesTable(guarantees));
    if (!plan.ok()) {
      fmt::print("The mechanism cannot run at this size: {}\n", base::Message(plan));
    }
    fmt::print("{}", WarningsText(warnings));
  }

  // As a federation with these terms would plan it.
  absl::StatusOr<dp::MechanismPlan> Plan() const {
    const accounting::FederationPrivacySpec resolved = accounting::Resolved(spec_);
    const uint64_t largest =
        resolved.sampling.dummy_uploads ? resolved.pool : resolved.sampling.cohort;
    TACET_ASSIGN_OR_RETURN(
        dp::MechanismSpec mechanism,
        accounting::MechanismOf(spec_, dimension_.value_or(kPaperDimension), largest));
    if (mechanism.params.coordinate_bound == 0) {
      mechanism.params.coordinate_bound = mechanism.params.clip_norm;
    }
    mechanism.without_guarantee = true;  // terms that are too large are shown, not refused
    return dp::MechanismPlan::Create(mechanism);
  }

  absl::StatusOr<accounting::CalibrationTarget> Target() const {
    if (!epsilon_) {
      return base::InvalidArgument("--calibrate needs --epsilon");
    }
    accounting::CalibrationTarget target{.epsilon = *epsilon_};
    for (const Accountant accountant : accounting::kAccountants) {
      if (accountant_ == accounting::AccountantName(accountant)) {
        target.accountant = accountant;
      }
    }
    for (const Observer observer :
         {Observer::kExternal, Observer::kParticipantInCohort, Observer::kParticipantOutOfCohort,
          Observer::kColluders, Observer::kCohortAware, Observer::kTrafficObserver,
          Observer::kCoalition}) {
      if (view_ == accounting::ObserverName(observer)) {
        target.observer = observer;
      }
    }
    return target;
  }

  absl::Status Calibrate() {
    TACET_ASSIGN_OR_RETURN(const accounting::CalibrationTarget target, Target());
    double value = 0;
    if (*calibrate_ == "noise") {
      TACET_ASSIGN_OR_RETURN(value, accounting::CalibrateNoise(spec_, target));
      spec_.mechanism.noise_stddev = value;
    } else if (*calibrate_ == "rounds") {
      TACET_ASSIGN_OR_RETURN(spec_.rounds, accounting::CalibrateRounds(spec_, target));
      value = static_cast<double>(spec_.rounds);
    } else if (*calibrate_ == "cohort" || *calibrate_ == "cohort-at-average-noise") {
      const HeldFixed held =
          *calibrate_ == "cohort" ? HeldFixed::kNoise : HeldFixed::kNoiseOfTheAverage;
      TACET_ASSIGN_OR_RETURN(const uint64_t cohort,
                             accounting::CalibrateCohort(spec_, target, held));
      spec_ = accounting::WithCohort(spec_, cohort, held);
      value = static_cast<double>(cohort);
    } else {
      return base::InvalidArgument(
          "cannot calibrate \"{}\": expected noise, rounds, cohort or cohort-at-average-noise",
          *calibrate_);
    }
    TACET_ASSIGN_OR_RETURN(const double reached, accounting::EpsilonOf(spec_, target));
    if (json_) {
      fmt::print("{}\n", base::JsonValue::MakeObject()
                             .Set("quantity", *calibrate_)
                             .Set("value", value)
                             .Set("noise", spec_.mechanism.noise_stddev)
                             .Set("view", view_)
                             .Set("accountant", accountant_)
                             .Set("epsilon", reached)
                             .Set("delta", spec_.privacy.delta)
                             .Dump(2));
      return absl::OkStatus();
    }
    fmt::print("{} {:.8g} gives epsilon {:.6f} (view {}, accountant {})\n", *calibrate_, value,
               reached, view_, accountant_);
    return absl::OkStatus();
  }

  absl::Status Sweep() {
    TACET_ASSIGN_OR_RETURN(const SweepRange range, ParseSweep(*sweep_));
    TACET_ASSIGN_OR_RETURN(const std::vector<SweepPoint> points, RunSweep(spec_, range));
    const std::string path = out_.value_or("privacy-" + range.quantity);
    TACET_RETURN_IF_ERROR(WriteFile(path + ".csv", SweepCsv(range, points)));
    TACET_RETURN_IF_ERROR(WriteFile(path + ".svg", SweepSvg(spec_, range, points)));
    fmt::print("wrote {0}.csv and {0}.svg: {1} values of {2}\n", path, points.size(),
               range.quantity);
    return absl::OkStatus();
  }

  // A coordinate bound of 0 is the clip norm.
  accounting::FederationPrivacySpec spec_ = {.sampling = {.appearances = 1},
                                             .mechanism = {.coordinate_bound = 0}};
  std::optional<std::string> committee_;
  std::optional<uint64_t> dimension_;
  std::string sampler_ = "default";
  std::optional<uint64_t> rounds_;
  std::optional<double> noise_;
  std::string sampling_ = "fixed-size";
  std::string neighbouring_ = "replace-one";
  std::string unit_ = "client";
  uint64_t sites_ = 0;
  double availability_ = 1;
  bool json_ = false;
  bool explain_ = false;
  double false_positive_rate_ = accounting::kFalsePositiveRate;
  std::optional<std::string> calibrate_;
  std::optional<double> epsilon_;
  std::string accountant_ = "best";
  std::string view_ = "worst";
  std::optional<std::string> sweep_;
  std::optional<std::string> out_;
};

}  // namespace

std::unique_ptr<program::Command> NewPrivacyCommand() { return std::make_unique<PrivacyCommand>(); }

}  // namespace tacet::app::privacy
