#include "apps/tacet/privacy/privacy_command.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fmt/core.h"

#include "apps/tacet/privacy/calibrate_command.h"
#include "apps/tacet/privacy/planned_federation.h"
#include "apps/tacet/privacy/privacy_output.h"
#include "apps/tacet/privacy/sweep_command.h"
#include "tacet/accounting/guarantee_in_words.h"
#include "tacet/accounting/privacy_rows.h"
#include "tacet/agreement/privacy_warnings.h"
#include "tacet/base/json_lists.h"
#include "tacet/base/status.h"
#include "tacet/dp/mechanism_plan.h"
#include "tacet/report/privacy_json.h"

namespace tacet::app::privacy {
namespace {

using accounting::Unit;

// Parameters of the paper's network.
constexpr uint64_t kPaperDimension = 486'654;

class PrivacyCommand : public program::Command {
 public:
  std::string_view name() const override { return "privacy"; }
  std::string_view summary() const override {
    return "privacy guarantee of a planned federation: epsilon for every observer and accountant";
  }

  void Register(program::Options& options) override {
    federation_.Register(options);
    options.AddFlag("json", "print JSON", &json_);
    options.AddFlag("brief", "print the epsilon that counts, without the table", &brief_);
    options.AddFlag("explain", "explain the guarantee in words for each observer, with its limits",
                    &explain_);
    options.AddDouble("false-positive-rate",
                      "for --explain: false-positive rate that an attacker accepts",
                      &false_positive_rate_);
  }

  bool needs_subcommand() const override { return false; }
  std::vector<Command*> subcommands() override { return {calibrate_.get(), sweep_.get()}; }

  absl::Status Run() override {
    TACET_ASSIGN_OR_RETURN(spec_, federation_.Read(Varied::kNothing));
    const absl::StatusOr<dp::MechanismPlan> plan = Plan();
    TACET_ASSIGN_OR_RETURN(const accounting::Guarantees guarantees,
                           accounting::GuaranteesOf(spec_, accounting::Extent::kAllRows,
                                                    plan.ok() ? &*plan : nullptr));
    TACET_ASSIGN_OR_RETURN(const std::vector<std::string> warnings,
                           agreement::PrivacyWarnings(spec_, federation_.dimension().value_or(0)));
    if (explain_) {
      TACET_ASSIGN_OR_RETURN(const accounting::PrivacyStatement statement,
                             accounting::StatePrivacy(spec_, guarantees, false_positive_rate_));
      fmt::print("{}\n\n{}{}", Heading(), accounting::StatementText(statement),
                 agreement::WarningsText(warnings));
      return absl::OkStatus();
    }
    Print(guarantees, plan.status(), warnings);
    if (json_ || spec_.privacy.unit != Unit::kClient || !(spec_.mechanism.noise_stddev > 0)) {
      return absl::OkStatus();
    }
    const accounting::FederationPrivacySpec resolved = accounting::Resolved(spec_);
    if (resolved.sampling.cohort >= resolved.pool) return absl::OkStatus();
    TACET_ASSIGN_OR_RETURN(const std::string comparison, CohortComparison());
    fmt::print("{}", comparison);
    return absl::OkStatus();
  }

 private:
  std::string Heading() const {
    const accounting::FederationPrivacySpec resolved = accounting::Resolved(spec_);
    if (spec_.privacy.unit != Unit::kClient) {
      return fmt::format(
          "{} sites, each draws every {} with probability {}, {} rounds, clip norm {}, "
          "noise multiplier {:.6g}, delta {}",
          spec_.sampling.clients, accounting::UnitName(spec_.privacy.unit),
          spec_.sampling.record_rate, spec_.rounds, spec_.mechanism.clip_norm,
          Multiplier(spec_.mechanism.noise_stddev), spec_.privacy.delta);
    }
    const double expected = resolved.sampling.dummy_uploads
                                ? static_cast<double>(resolved.pool)
                                : static_cast<double>(resolved.sampling.cohort);
    const double resulting =
        spec_.mechanism.noise_stddev *
        std::sqrt(expected / static_cast<double>(resolved.sampling.min_participants));
    return fmt::format(
        "{} clients, cohorts of {} ({}) out of {}, at least {} arrive, {} rounds, clip norm {}, "
        "noise multiplier {:.6g} at least and {:.4g} when all arrive, delta {}",
        spec_.sampling.clients, spec_.sampling.cohort,
        resolved.sampling.dummy_uploads ? "poisson, hidden by dummy uploads"
                                        : accounting::SamplingName(*resolved.sampling.method),
        resolved.pool, resolved.sampling.min_participants, spec_.rounds, spec_.mechanism.clip_norm,
        Multiplier(spec_.mechanism.noise_stddev), Multiplier(resulting), spec_.privacy.delta);
  }

  double Multiplier(double noise_stddev) const { return noise_stddev / spec_.mechanism.clip_norm; }

  void Print(const accounting::Guarantees& guarantees, const absl::Status& plan,
             const std::vector<std::string>& warnings) const {
    if (json_) {
      fmt::print("{}\n", tacet::report::GuaranteesJson(guarantees)
                             .Set("warnings", base::JsonList(warnings))
                             .Dump(2));
      return;
    }
    fmt::print("{}\n\n{}", Heading(),
               brief_ ? GuaranteesSummary(guarantees) : GuaranteesTable(guarantees));
    if (!plan.ok()) {
      fmt::print("The mechanism cannot run at this size: {}\n", base::Message(plan));
    }
    fmt::print("{}", agreement::WarningsText(warnings));
  }

  // The same cohorts drawn by the server and known to it, with nobody absent, as in the paper, and
  // hidden from everybody.
  absl::StatusOr<std::string> CohortComparison() const {
    accounting::FederationPrivacySpec drawn = spec_;
    drawn.sampling.method = accounting::Sampling::kFixedSize;
    drawn.sampling.dummy_uploads = false;
    drawn.sampling.min_participants = drawn.sampling.cohort;
    drawn.sampling.max_absent.reset();
    accounting::FederationPrivacySpec hidden = drawn;
    hidden.sampling.method.reset();
    hidden.sampling.min_participants = 0;
    TACET_ASSIGN_OR_RETURN(const accounting::Guarantees by_server,
                           accounting::GuaranteesOf(drawn, accounting::Extent::kAllRows));
    TACET_ASSIGN_OR_RETURN(const accounting::Guarantees by_coins,
                           accounting::GuaranteesOf(hidden, accounting::Extent::kHeadline));
    const accounting::PrivacyRow* published = nullptr;
    for (const accounting::PrivacyRow& row : by_server.rows) {
      if (row.observer == accounting::Observer::kExternal &&
          row.accountant == accounting::Accountant::kMoments) {
        published = &row;
      }
    }
    const accounting::PrivacyRow* external = by_server.HeadlineOf(accounting::Observer::kExternal);
    if (published == nullptr || external == nullptr || by_server.headline() == nullptr ||
        by_coins.headline() == nullptr) {
      return std::string();
    }
    const auto figure = [](const accounting::PrivacyRow* row) {
      return row->epsilon ? fmt::format("{:.3f}", *row->epsilon) : std::string("none");
    };
    return fmt::format(
        "\nTwo ways to draw these cohorts, at delta {:.3g}:\n"
        "- Fixed size, drawn by the server, nobody absent: epsilon {} against an external observer "
        "by the moments accountant, as papers publish it, and {} by the tight one; {} against "
        "{}.\n"
        "- Each client's secret coin, hidden by dummy uploads (the default): epsilon {} against "
        "every observer.\n",
        spec_.privacy.delta, figure(published), figure(external), figure(by_server.headline()),
        accounting::ObserverName(by_server.headline()->observer), figure(by_coins.headline()));
  }

  // As a federation with these terms would plan it.
  absl::StatusOr<dp::MechanismPlan> Plan() const {
    const accounting::FederationPrivacySpec resolved = accounting::Resolved(spec_);
    const uint64_t largest =
        resolved.sampling.dummy_uploads ? resolved.pool : resolved.sampling.cohort;
    TACET_ASSIGN_OR_RETURN(
        dp::MechanismSpec mechanism,
        accounting::MechanismOf(spec_, federation_.dimension().value_or(kPaperDimension), largest));
    if (mechanism.params.coordinate_bound == 0) {
      mechanism.params.coordinate_bound = mechanism.params.clip_norm;
    }
    mechanism.without_guarantee = true;  // terms that are too large are shown, not refused
    return dp::MechanismPlan::Create(mechanism);
  }

  PlannedFederation federation_;
  const std::unique_ptr<program::Command> calibrate_ = NewCalibrateCommand();
  const std::unique_ptr<program::Command> sweep_ = NewSweepCommand();
  accounting::FederationPrivacySpec spec_;
  bool json_ = false;
  bool brief_ = false;
  bool explain_ = false;
  double false_positive_rate_ = accounting::kFalsePositiveRate;
};

}  // namespace

std::unique_ptr<program::Command> NewPrivacyCommand() { return std::make_unique<PrivacyCommand>(); }

}  // namespace tacet::app::privacy
