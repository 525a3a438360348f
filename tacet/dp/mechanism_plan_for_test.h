// The plan of a setting that a test expects to be valid.
#ifndef TACET_DP_MECHANISM_PLAN_FOR_TEST_H_
#define TACET_DP_MECHANISM_PLAN_FOR_TEST_H_

#include "tacet/base/status_for_test.h"
#include "tacet/dp/mechanism_plan.h"

namespace tacet::dp {

inline MechanismPlan PlanOf(const MechanismSpec& spec) {
  return base::ValueOf(MechanismPlan::Create(spec));
}

}  // namespace tacet::dp

#endif  // TACET_DP_MECHANISM_PLAN_FOR_TEST_H_
