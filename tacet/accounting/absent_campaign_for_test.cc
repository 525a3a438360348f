#include "tacet/accounting/absent_campaign_for_test.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>

#include "fmt/format.h"
#include <gtest/gtest.h>

#include "tacet/accounting/absent_clients_for_test.h"
#include "tacet/accounting/observers.h"
#include "tacet/accounting/privacy_rows.h"

namespace tacet::accounting {
namespace {

class Draws {
 public:
  explicit Draws(int seed) : generator_(static_cast<uint64_t>(seed)) {}

  double Uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(generator_);
  }
  double LogUniform(double low, double high) {
    return std::exp(Uniform(std::log(low), std::log(high)));
  }
  bool Chance(double probability) { return Uniform(0, 1) < probability; }

  FederationPrivacySpec Federation() {
    FederationPrivacySpec spec;
    const double clients = std::round(LogUniform(4, 4000));
    const double cohort = std::clamp(std::round(Uniform(0.02, 0.9) * clients), 1.0, clients - 1);
    spec.sampling.clients = static_cast<uint64_t>(clients);
    spec.sampling.cohort = static_cast<uint64_t>(cohort);
    spec.sampling.method = Chance(0.7) ? Sampling::kPoisson : Sampling::kFixedSize;
    if (spec.sampling.method == Sampling::kFixedSize || Chance(0.7)) {
      spec.sampling.min_participants =
          static_cast<uint64_t>(std::clamp(std::ceil(Uniform(0.5, 1) * cohort), 1.0, cohort));
    }
    spec.mechanism.noise_stddev = LogUniform(0.8, 30);
    spec.rounds = Chance(0.3) ? 1 : static_cast<uint64_t>(LogUniform(2, 100));
    spec.privacy.delta = LogUniform(1e-9, 1e-2);
    spec.privacy.neighbouring = Chance(0.6) ? Neighbouring::kReplaceOne : Neighbouring::kZeroOut;
    return Resolved(spec);
  }

 private:
  std::mt19937_64 generator_;
};

// As the observer sees it: a participant is one of those here, and knows its own share.
AbsentClients SeenBy(const FederationPrivacySpec& spec, bool participant) {
  const auto clients = static_cast<double>(spec.sampling.clients);
  const auto cohort = static_cast<double>(spec.sampling.cohort);
  const auto least = static_cast<double>(spec.sampling.min_participants);
  const bool coins = spec.sampling.method == Sampling::kPoisson;
  AbsentClients seen{.clients = clients,
                     .cohort = cohort,
                     .coins = coins,
                     .least = least,
                     .share_noise = spec.mechanism.noise_stddev / std::sqrt(least),
                     .replace_one = spec.privacy.neighbouring == Neighbouring::kReplaceOne,
                     .rounds = spec.rounds};
  if (participant) {
    seen.clients -= 1;
    seen.cohort = coins ? cohort / clients * seen.clients : cohort - 1;
    seen.least = std::max(1.0, least - 1);
  }
  return seen;
}

void CheckSetting(Draws& draws, const std::string& name, AbsentChecked& checked) {
  const FederationPrivacySpec spec = draws.Federation();
  const bool participant =
      spec.sampling.cohort > 1 && spec.sampling.min_participants > 1 && draws.Chance(0.3);
  const double share = 1 - draws.Uniform(0, 1);
  const auto observers = ObserveFederation(spec);
  ASSERT_TRUE(observers.ok()) << observers.status();
  const auto observer = std::ranges::find(
      *observers, participant ? Observer::kParticipantInCohort : Observer::kExternal,
      &ObservedRounds::observer);
  ASSERT_NE(observer, observers->end());
  const std::clock_t start = std::clock();
  const auto rows = RowsOfObserver(*observer, spec);
  checked.slowest =
      std::max(checked.slowest, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  ASSERT_TRUE(rows.ok()) << rows.status();
  double epsilon = std::numeric_limits<double>::infinity();
  for (const PrivacyRow& row : *rows) {
    if (row.standing == Standing::kGuarantee) epsilon = std::min(epsilon, *row.epsilon);
  }
  ++checked.settings;
  AbsentClients seen = SeenBy(spec, participant);
  const double rate =
      static_cast<double>(spec.sampling.cohort) / static_cast<double>(spec.sampling.clients);
  const double enough = std::ceil((seen.least + 1.3 * std::sqrt(seen.least)) / rate);
  bool attained = false, close = false;
  for (const double here : {std::ceil(share * seen.clients), std::min(enough, seen.clients)}) {
    seen.here = std::max(here, 1.0);
    const double delta = spec.privacy.delta;
    EXPECT_LE(AbsentDelta(seen, epsilon + 1e-9), delta) << fmt::format(
        "{}: {} of {} clients here, cohorts of {} by {}, K_min {}, noise {}, {} rounds, delta {}, "
        "{}, {}: epsilon {}, attained {}",
        name, seen.here, seen.clients, seen.cohort, seen.coins ? "coins" : "the server", seen.least,
        spec.mechanism.noise_stddev, spec.rounds, delta,
        NeighbouringName(spec.privacy.neighbouring), ObserverName(observer->observer), epsilon,
        AbsentEpsilon(seen, delta));
    attained = attained || AbsentDelta(seen, 0) > delta;
    close = close || (epsilon > 0 && AbsentDelta(seen, 0.85 * epsilon) > delta);
  }
  checked.attained += attained ? 1 : 0;
  checked.close += close ? 1 : 0;
}

}  // namespace

AbsentChecked CheckAbsentClients(int count, int seed) {
  Draws draws(seed);
  AbsentChecked checked;
  for (int i = 0; i < count && !testing::Test::HasFatalFailure(); ++i) {
    CheckSetting(draws, fmt::format("seed {}, setting {}", seed, i), checked);
  }
  return checked;
}

}  // namespace tacet::accounting
