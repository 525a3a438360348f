#include "tacet/base/mutex.h"

#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace tacet::base {
namespace {

struct Turns {
  Mutex mutex;
  CondVar changed;
  int taken ABSL_GUARDED_BY(mutex) = 0;
};

TEST(MutexTest, OneThreadAtATimeHoldsIt) {
  Turns turns;
  constexpr int kThreads = 4;
  constexpr int kEach = 2000;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&turns] {
        for (int j = 0; j < kEach; ++j) {
          const MutexLock lock(turns.mutex);
          ++turns.taken;
        }
      });
    }
  }
  const MutexLock lock(turns.mutex);
  EXPECT_EQ(turns.taken, kThreads * kEach);
}

TEST(MutexTest, AScopeCanReleaseItForAWhile) {
  Turns turns;
  MutexLock lock(turns.mutex);
  lock.Unlock();
  std::jthread([&turns] {
    const MutexLock other(turns.mutex);
    ++turns.taken;
  }).join();
  lock.Lock();
  EXPECT_EQ(turns.taken, 1);
  lock.Unlock();  // the scope ends without it
}

TEST(MutexTest, AWaitReleasesItAndEndsWithASignal) {
  Turns turns;
  const std::jthread other([&turns] {
    const MutexLock lock(turns.mutex);
    while (turns.taken == 0) turns.changed.Wait(turns.mutex);
    turns.taken = 2;
    turns.changed.SignalAll();
  });
  const MutexLock lock(turns.mutex);
  turns.taken = 1;
  turns.changed.SignalAll();
  while (turns.taken != 2) turns.changed.Wait(turns.mutex);
  EXPECT_EQ(turns.taken, 2);
}

TEST(MutexTest, ATimedWaitEnds) {
  Turns turns;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  const MutexLock lock(turns.mutex);
  while (std::chrono::steady_clock::now() < end) turns.changed.WaitUntil(turns.mutex, end);
  EXPECT_EQ(turns.taken, 0);
}

}  // namespace
}  // namespace tacet::base
