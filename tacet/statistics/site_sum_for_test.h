// Sum of the vectors of a table's units, as a site sends it.
#ifndef TACET_STATISTICS_SITE_SUM_FOR_TEST_H_
#define TACET_STATISTICS_SITE_SUM_FOR_TEST_H_

#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/statistics/site_units.h"

namespace tacet::statistics {

inline std::vector<float> SumOfSite(const std::shared_ptr<const Query>& query,
                                    const SiteTable& table, const std::string& person_column = "") {
  const auto site = SiteUnits::Create(query, table, person_column);
  EXPECT_TRUE(site.ok()) << site.status();
  std::vector<float> sum(query->dimension());
  if (!site.ok()) return sum;
  std::vector<uint32_t> units(site->units());
  std::iota(units.begin(), units.end(), 0U);
  site->SumUnits(units, sum);
  return sum;
}

}  // namespace tacet::statistics

#endif  // TACET_STATISTICS_SITE_SUM_FOR_TEST_H_
