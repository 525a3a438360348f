#include <vector>

#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/server/blob_store_contract_for_test.h"
#include "tacet/server/memory_server_store_for_test.h"
#include "tacet/server/server_store_contract_for_test.h"

namespace tacet::server {
namespace {

struct MemoryBackend {
  ServerStore& store() { return memory_store; }
  BlobStore& blobs() { return memory_blobs; }
  void Reopen() {}

  MemoryServerStore memory_store;
  MemoryBlobStore memory_blobs;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Memory, ServerStoreContract, MemoryBackend);
INSTANTIATE_TYPED_TEST_SUITE_P(Memory, BlobStoreContract, MemoryBackend);

TEST(MemoryServerStoreTest, FailsBeforeOrAfterTheCallHasHappened) {
  MemoryServerStore store;
  const AttemptRecord record = RecordOf(0, 0, 0);
  store.failure().After(1);
  ASSERT_TRUE(store.Begin(record, {}).ok());
  EXPECT_EQ(store.Update(UnmaskingOf(record), {}).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(store.Attempts().status().code(), absl::StatusCode::kUnavailable);
  store.failure().Heal();
  EXPECT_EQ(store.Attempts().value(), std::vector{record});
  store.failure().After(0, InjectedFailure::When::kAfter);
  EXPECT_EQ(store.Update(UnmaskingOf(record), {}).code(), absl::StatusCode::kUnavailable);
  store.failure().Heal();
  EXPECT_EQ(store.Attempts().value(), std::vector{UnmaskingOf(record)});
}

}  // namespace
}  // namespace tacet::server
