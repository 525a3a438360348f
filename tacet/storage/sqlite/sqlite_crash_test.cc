// A server that is killed at random moments: everything that its store acknowledged is there, and
// nothing is incomplete.
#include <chrono>
#include <filesystem>
#include <random>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include <unistd.h>

#include "tacet/base/child_for_test.h"
#include "tacet/base/status_for_test.h"
#include "tacet/base/temporary_folder_for_test.h"
#include "tacet/server/server_store_contract_for_test.h"
#include "tacet/storage/sqlite/sqlite_store.h"

namespace tacet::storage::sqlite {
namespace {

using protocol::AttemptPhase;
using server::AttemptRecord;
using server::Item;
using server::ItemKind;

constexpr uint64_t kCohort = 5;
constexpr std::array kForgotten = {ItemKind::kAccepted, ItemKind::kClosedRound};

// The attempt with this index goes through the same steps every time: begin, kCohort items, an
// update with an item, the end. A step is done when the call returned.
constexpr uint64_t kSteps = kCohort + 3;
AttemptRecord RecordAt(uint64_t index) {
  return server::RecordOf(0, static_cast<uint32_t>(index / 2), index % 2);
}
std::vector<uint64_t> CohortAt(uint64_t index) {
  std::vector<uint64_t> cohort(kCohort);
  for (uint64_t i = 0; i < kCohort; ++i) cohort[i] = 10 * index + i;
  return cohort;
}
Item ItemAt(uint64_t index, uint64_t i) {
  return {ItemKind::kAccepted, CohortAt(index)[i], base::Bytes(100, static_cast<uint8_t>(i))};
}
const Item kClosed{ItemKind::kClosedRound, 0, base::Bytes(9000, 7)};

absl::Status Take(SqliteStore& store, uint64_t index, uint64_t step) {
  const AttemptRecord record = RecordAt(index);
  if (step == 0) return store.Begin(record, CohortAt(index));
  if (step <= kCohort) return store.PutItem(record.attempt.number, ItemAt(index, step - 1));
  if (step == kCohort + 1) return store.Update(server::UnmaskingOf(record), {&kClosed, 1});
  return store.Finish(server::Failed(record, "few"), kForgotten);
}

// The number of steps that the store knows of, over all attempts; fails when it holds anything that
// is not the state after that step.
uint64_t StepsIn(const SqliteStore& store) {
  const std::vector<AttemptRecord> attempts = store.Attempts().value();
  if (attempts.empty()) return 0;
  const uint64_t index = attempts.size() - 1;
  for (uint64_t i = 0; i < index; ++i) {
    EXPECT_EQ(attempts[i], server::Failed(RecordAt(i), "few"));
  }
  const AttemptRecord& last = attempts.back();
  const std::vector<Item> items = store.Items(last.attempt.number).value();
  const std::vector<uint64_t> cohort = store.Cohort().value();
  if (last.phase == AttemptPhase::kFailed) {
    EXPECT_TRUE(items.empty());
    EXPECT_TRUE(cohort.empty());
    return (index + 1) * kSteps;
  }
  EXPECT_EQ(cohort, CohortAt(index));
  std::vector<Item> expected;
  const bool closed = last.phase == AttemptPhase::kUnmasking;
  EXPECT_EQ(last, closed ? server::UnmaskingOf(RecordAt(index)) : RecordAt(index));
  for (uint64_t i = 0; i < items.size() - (closed ? 1 : 0); ++i) {
    expected.push_back(ItemAt(index, i));
  }
  if (closed) expected.push_back(kClosed);
  EXPECT_EQ(items, expected);
  return index * kSteps + 1 + items.size();
}

// Continues where the store is; tells of each step once it is done. Returns only after an error.
int GoOn(const std::filesystem::path& path, int acknowledge) {
  auto store = SqliteStore::Open(path);
  if (!store.ok()) return 1;
  for (uint64_t done = StepsIn(**store);;) {
    if (!Take(**store, done / kSteps, done % kSteps).ok()) return 2;
    ++done;
    if (::write(acknowledge, &done, sizeof done) != sizeof done) return 3;
  }
}

TEST(SqliteCrashTest, KilledAtRandomMomentsForgetsNothing) {
  const base::TemporaryFolder folder(base::TemporaryFolder::kInMemory);
  const std::filesystem::path path = folder.path() / "server.db";
  std::mt19937 generator(1);
  std::uniform_int_distribution<int> microseconds(500, 30'000);
  uint64_t acknowledged = 0;
  for (int i = 0; i < 100; ++i) {
    base::Child child([&](int acknowledge) { return GoOn(path, acknowledge); });
    std::this_thread::sleep_for(std::chrono::microseconds(microseconds(generator)));
    child.Kill();
    while (const auto done = child.Read<uint64_t>()) acknowledged = *done;
    ASSERT_EQ(child.ExitCode(), -1) << "it ended by itself";

    ASSERT_OK_AND_ASSIGN(const auto store, SqliteStore::Open(path));
    const uint64_t steps = StepsIn(*store);
    ASSERT_FALSE(HasFailure()) << "after death " << i;
    ASSERT_GE(steps, acknowledged);
    ASSERT_LE(steps, acknowledged + 1);
    acknowledged = steps;
  }
  EXPECT_GT(acknowledged, 0u);
}

}  // namespace
}  // namespace tacet::storage::sqlite
