#include "tacet/host/guarantee_worker.h"

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "tacet/protocol/small_federation_for_test.h"

namespace tacet::host {
namespace {

using base::JsonValue;

JsonValue AwaitSpent(GuaranteeWorker& worker, uint64_t attempts) {
  for (int i = 0; i < 6000; ++i) {
    JsonValue spent = worker.Spent(attempts);
    if (!spent.is_null() && *spent.Find("attempts")->AsUint() == attempts) return spent;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ADD_FAILURE() << "nothing was worked out";
  return {};
}

double SmallestEpsilon(const JsonValue& json) {
  double smallest = 1e300;
  for (const JsonValue& row : json.Find("privacy")->Find("headlines")->items()) {
    smallest = std::min(smallest, *row.Find("epsilon")->AsDouble());
  }
  return smallest;
}

TEST(GuaranteeWorkerTest, WorksOutWhatAttemptsCost) {
  const protocol::testing::SmallFederation members;
  GuaranteeWorker worker(members.manifest().manifest());
  const JsonValue nothing = AwaitSpent(worker, 0);
  EXPECT_EQ(*nothing.Find("privacy")->Find("reason")->AsString(), "no attempt was begun yet");
  EXPECT_TRUE(nothing.Find("statement")->is_null());
  const JsonValue one = AwaitSpent(worker, 1), two = AwaitSpent(worker, 2);
  EXPECT_LT(SmallestEpsilon(one), SmallestEpsilon(two));
  EXPECT_EQ(one.Find("statement")->Find("guarantees")->items().size(),
            two.Find("statement")->Find("guarantees")->items().size());
  JsonValue whole;
  while ((whole = worker.Whole()).is_null()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(*whole.Find("attempts")->AsUint(), 3u + 4u);
  EXPECT_LT(SmallestEpsilon(two), SmallestEpsilon(whole));
}

TEST(GuaranteeWorkerTest, WithoutNoiseNothingIsGuaranteed) {
  agreement::ManifestSpec agreed = protocol::testing::SmallAgreement();
  agreed.mechanism.without_noise = true;
  const protocol::testing::SmallFederation members(agreed);
  const JsonValue json = ForecastJson(members.manifest().manifest(), 3);
  EXPECT_NE(json.Find("privacy")->Find("reason"), nullptr);
  EXPECT_TRUE(json.Find("statement")->is_null());
  EXPECT_NE(GuaranteeJson(members.manifest().manifest()).Find("privacy")->Find("reason"), nullptr);
}

}  // namespace
}  // namespace tacet::host
