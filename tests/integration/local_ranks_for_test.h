// Ranks that are threads of one process.
#ifndef TACET_TESTS_INTEGRATION_LOCAL_RANKS_FOR_TEST_H_
#define TACET_TESTS_INTEGRATION_LOCAL_RANKS_FOR_TEST_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "tacet/base/mutex.h"
#include "tacet/simulation/rank_group.h"

namespace tacet::simulation {

class LocalRanks {
 public:
  // `size` >= 1 ranks.
  explicit LocalRanks(uint32_t size);

  // For the thread that plays `rank`; lives as long as this object.
  RankGroup& rank(uint32_t rank) { return *members_[rank]; }

  // Every call that waits, and every later one, fails as Unavailable: a rank is gone.
  void Abandon();

 private:
  class Member;

  base::Mutex mutex_;
  base::CondVar changed_;
  std::map<std::pair<uint32_t, uint32_t>, std::deque<base::Bytes>> sent_
      ABSL_GUARDED_BY(mutex_);  // by (from, to)
  bool abandoned_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::unique_ptr<RankGroup>> members_;
};

}  // namespace tacet::simulation

#endif  // TACET_TESTS_INTEGRATION_LOCAL_RANKS_FOR_TEST_H_
