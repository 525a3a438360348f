#include "tacet/agreement/cohort.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/hypergeometric.hpp>

namespace tacet::agreement {
namespace {

constexpr double kTailProbability = 1e-9;

}  // namespace

std::vector<uint64_t> DrawCohort(accounting::Sampling sampling, uint64_t clients, uint64_t cohort,
                                 crypto::Random& random) {
  std::vector<uint64_t> chosen;
  if (sampling == accounting::Sampling::kPoisson) {
    for (uint64_t client = 0; client < clients; ++client) {
      if (random.Below(clients) < cohort) chosen.push_back(client);  // probability cohort / clients
    }
    return chosen;
  }
  // The first `cohort` steps of a Fisher-Yates shuffle.
  std::vector<uint64_t> order(clients);
  std::iota(order.begin(), order.end(), uint64_t{0});
  for (uint64_t i = 0; i < cohort; ++i) {
    std::swap(order[i], order[i + random.Below(clients - i)]);
  }
  chosen.assign(order.begin(), order.begin() + static_cast<ptrdiff_t>(cohort));
  std::ranges::sort(chosen);
  return chosen;
}

std::vector<uint64_t> NotIn(std::span<const uint64_t> cohort, uint64_t clients) {
  std::vector<uint64_t> all(clients), others;
  std::iota(all.begin(), all.end(), uint64_t{0});
  std::ranges::set_difference(all, cohort, std::back_inserter(others));
  return others;
}

CohortRange ExpectedCohortRange(accounting::Sampling sampling, uint64_t clients, uint64_t cohort) {
  const auto mean = static_cast<uint32_t>(cohort);
  if (sampling == accounting::Sampling::kFixedSize) return {mean, mean};
  const double probability = static_cast<double>(cohort) / static_cast<double>(clients);
  const boost::math::binomial_distribution<double> size(static_cast<double>(clients), probability);
  // Walk outwards from the mean; the distribution functions are exact to far below the threshold.
  uint32_t smallest = mean;
  while (smallest > 1 && boost::math::cdf(size, smallest - 1) >= kTailProbability) --smallest;
  uint32_t largest = mean;
  while (largest < clients &&
         boost::math::cdf(boost::math::complement(size, largest)) >= kTailProbability) {
    ++largest;
  }
  return {smallest, largest};
}

double ChanceOfEnough(accounting::Sampling sampling, uint64_t clients, uint64_t cohort,
                      uint64_t here, uint64_t enough) {
  if (enough == 0) return 1;
  if (sampling == accounting::Sampling::kPoisson) {
    if (enough > here) return 0;
    const double probability = static_cast<double>(cohort) / static_cast<double>(clients);
    const boost::math::binomial_distribution<double> size(static_cast<double>(here), probability);
    return boost::math::cdf(boost::math::complement(size, static_cast<double>(enough - 1)));
  }
  if (enough > std::min(cohort, here)) return 0;
  if (enough + clients <= cohort + here) return 1;  // fewer than that cannot be left out
  const boost::math::hypergeometric_distribution<double> size(
      static_cast<unsigned>(here), static_cast<unsigned>(cohort), static_cast<unsigned>(clients));
  return boost::math::cdf(boost::math::complement(size, static_cast<unsigned>(enough - 1)));
}

double ChanceOfInvitations(uint64_t attempts, uint64_t invitations, uint64_t clients,
                           uint64_t cohort) {
  if (invitations == 0) return 1;
  if (invitations > attempts) return 0;
  const double probability = static_cast<double>(cohort) / static_cast<double>(clients);
  const boost::math::binomial_distribution<double> law(static_cast<double>(attempts), probability);
  return boost::math::cdf(boost::math::complement(law, static_cast<double>(invitations - 1)));
}

}  // namespace tacet::agreement
