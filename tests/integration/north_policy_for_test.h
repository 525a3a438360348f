// A policy of the site "north" as its officer writes it, for tests: trainings with unit client,
// over five records and more.
#ifndef TACET_TESTS_INTEGRATION_NORTH_POLICY_FOR_TEST_H_
#define TACET_TESTS_INTEGRATION_NORTH_POLICY_FOR_TEST_H_

#include <filesystem>
#include <string>

#include "fmt/core.h"

namespace tacet::app {

struct NorthPolicy {
  int serial = 1;
  std::string more = {};  // of [policy]
  double epsilon_per_year = 1e6;
  int seats = 3;
  std::filesystem::path ledger = {};
};

inline std::string TextOf(const NorthPolicy& policy) {
  return fmt::format(R"(
[policy]
sites = ["north"]
serial = {}
{}
[privacy]
epsilon_per_year = {}
delta = 1e-5
units = ["client"]
[federation]
min_participants = 2
committee_seats = {}
committee_corrupt = 0
[data]
records = 5
columns = ["*"]
[training]
kinds = ["training"]
[ledger]
folder = "{}"
)",
                     policy.serial, policy.more, policy.epsilon_per_year, policy.seats,
                     policy.ledger.string());
}

}  // namespace tacet::app

#endif  // TACET_TESTS_INTEGRATION_NORTH_POLICY_FOR_TEST_H_
