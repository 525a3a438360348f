// A site's policy for tests: it allows trainings with five seats, up to an epsilon a year.
#ifndef TACET_TESTS_LIVE_SITE_POLICY_FOR_TEST_H_
#define TACET_TESTS_LIVE_SITE_POLICY_FOR_TEST_H_

#include "tacet/policy/site_policy.h"

namespace tacet::live::testing {

inline policy::SitePolicy PolicyOfFirstSite(double epsilon_per_year) {
  return {.sites = {"site-0"},
          .serial = 1,
          .epsilon_per_year = epsilon_per_year,
          .delta = 1e-5,
          .units = {accounting::Unit::kClient},
          .min_participants = 2,
          .committee_seats = 5,
          .committee_corrupt = 1,
          .records = 1,
          .columns = {"*"},
          .kinds = {"training"}};
}

}  // namespace tacet::live::testing

#endif  // TACET_TESTS_LIVE_SITE_POLICY_FOR_TEST_H_
