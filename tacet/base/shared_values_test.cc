#include "tacet/base/shared_values.h"

#include <cmath>
#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace tacet::base {
namespace {

using Values = std::vector<int>;

TEST(SharedValuesTest, EqualValuesAreInMemoryOnce) {
  SharedValues<Values> pool;
  const auto first = pool.Share({1, 2});
  EXPECT_EQ(*first, (Values{1, 2}));
  EXPECT_EQ(pool.Share({1, 2}), first);
}

TEST(SharedValuesTest, ADifferenceMakesAnotherValue) {
  SharedValues<Values> pool;
  const auto first = pool.Share({1, 2});
  const auto other = pool.Share({1, 3});
  EXPECT_EQ(*other, (Values{1, 3}));
  EXPECT_EQ(*first, (Values{1, 2}));
  EXPECT_EQ(pool.Share({1, 2}), first);
  EXPECT_EQ(pool.Share({1, 3}), other);
}

TEST(SharedValuesTest, AValueGoesWithItsLastOwner) {
  SharedValues<Values> pool;
  auto owner = pool.Share({1, 2});
  const std::weak_ptr<const Values> observer = owner;
  auto second = pool.Share({1, 2});
  owner.reset();
  EXPECT_FALSE(observer.expired());
  second.reset();
  EXPECT_TRUE(observer.expired());
  EXPECT_EQ(*pool.Share({1, 2}), (Values{1, 2}));
}

TEST(SharedValuesTest, AnOwnerMayOutliveThePool) {
  std::shared_ptr<const Values> owner;
  {
    SharedValues<Values> pool;
    owner = pool.Share({1, 2});
  }
  EXPECT_EQ(*owner, (Values{1, 2}));
}

// The caller decides what is equal: -0 and 0 are equal numbers of different bytes.
struct SameBits {
  bool operator()(double a, double b) const { return a == b && std::signbit(a) == std::signbit(b); }
};

TEST(SharedValuesTest, TheCallerSaysWhatIsEqual) {
  SharedValues<double, SameBits> pool;
  const auto zero = pool.Share(0.0);
  EXPECT_NE(pool.Share(-0.0), zero);
  EXPECT_EQ(pool.Share(0.0), zero);
}

TEST(SharedValuesTest, ThreadsGetTheSameValue) {
  SharedValues<Values> pool;
  std::vector<std::shared_ptr<const Values>> got(8);
  {
    std::vector<std::jthread> threads;
    for (auto& mine : got) threads.emplace_back([&pool, &mine] { mine = pool.Share({7, 7, 7}); });
  }
  for (const auto& mine : got) EXPECT_EQ(mine, got.front());
}

}  // namespace
}  // namespace tacet::base
