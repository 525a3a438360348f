#include "tacet/site/app_member.h"

#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "tacet/base/status.h"
#include "tacet/config/site_config.h"
#include "tacet/site/app_link.h"
#include "tacet/site/app_socket.h"
#include "tacet/trainer/function_learner.h"
#include "tacet/trainer/update_source.h"

namespace tacet::site {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kForTheEnd(120);  // to be told
constexpr std::chrono::seconds kAfterIt(2);      // in which it may be asked for again
constexpr std::chrono::milliseconds kBetweenLooks(50);

// Trainings by the app. What it returns is checked as a function's is.
class AppTraining final : public trainer::UpdateSource {
 public:
  AppTraining(AppLink& link, uint64_t units) : link_(link), units_(units) {}

  uint64_t units() const override { return units_; }
  absl::Status Update(const trainer::AttemptContext& context, std::span<const float> model,
                      std::span<float> update) override {
    AppTask task{.round = context.round, .attempt = context.attempt, .model = model};
    if (!context.units.has_value()) {
      TACET_RETURN_IF_ERROR(link_.Train(task, update));
      return trainer::CheckUpdate(update, 0);
    }
    task.units = *context.units;
    task.clip_norm = context.clip_norm * (1 - trainer::kRoundingRoom);
    TACET_RETURN_IF_ERROR(link_.Train(task, update));
    return trainer::CheckSum(update, 0, context.units->size(), context.clip_norm);
  }

 private:
  AppLink& link_;
  const uint64_t units_;
};

absl::StatusOr<uint64_t> UnitsOf(const agreement::ManifestSpec& spec,
                                 const std::optional<uint64_t>& units) {
  const accounting::Unit unit = spec.privacy.unit;
  if (unit == accounting::Unit::kClient) return 0;
  if (!units.has_value()) {
    return base::InvalidArgument(
        "--{0}s is missing: with unit {0} it is the number of this site's {0}s",
        accounting::UnitName(unit));
  }
  TACET_RETURN_IF_ERROR(trainer::CheckExpectedUnits(spec, *units));
  return *units;
}

// Until the app has heard of the end.
void AwaitTold(const AppLink& link, const std::function<bool()>& stop) {
  auto end = steady_clock::now() + kForTheEnd;
  bool told = false;
  while (!stop() && steady_clock::now() < end) {
    if (!told && link.told()) {
      told = true;
      end = steady_clock::now() + kAfterIt;
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

}  // namespace

absl::StatusOr<SiteMemberEnd> RunForApp(const SiteMember& member, const SiteTraining& training,
                                        const AppMemberSpec& spec, const SiteMemberHooks& hooks) {
  TACET_ASSIGN_OR_RETURN(std::string configuration, config::AppConfiguration(training.config));
  AppLink link(member.manifest().spec().dimension, std::move(configuration), hooks.stop);
  TACET_ASSIGN_OR_RETURN(const uint64_t units, UnitsOf(member.manifest().spec(), spec.units));
  AppTraining updates(link, units);
  TACET_ASSIGN_OR_RETURN(const auto socket, AppSocket::Listen(spec.socket, link));
  absl::StatusOr<SiteMemberEnd> end = member.Run(
      {.training = training, .updates = updates, .wire = link.wire(), .out = spec.out}, hooks);
  link.End(end.ok() ? SiteMemberEndJson(member.membership(), *end).Dump()
                    : ErrorJson(base::Message(end.status())));
  AwaitTold(link, hooks.stop);
  return end;
}

}  // namespace tacet::site
