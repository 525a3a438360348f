#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tacet/base/test_size_for_test.h"
#include "tacet/crypto/random.h"
#include "tacet/protocol/whole_requests_for_test.h"
#include "tacet/transport/https/serving_for_test.h"

namespace tacet::transport::https {
namespace {

const int kRequests = base::TestSize("TACET_MALFORMED_REQUESTS", 1500);

TEST(MalformedTest, EveryRequestIsRefused) {
  constexpr int kThreads = 4;
  ServingForTest serving;
  serving.Begin();
  const protocol::MemberRequest genuine{
      .member = 1, .time = Now(), .body = protocol::AwaitRequest{}};
  const base::Bytes request = protocol::WriteMemberRequest(genuine, serving.members.manifest(),
                                                           serving.members.site(1).signing);
  std::atomic<int> refused = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      const auto wire = serving.Wire("site-1");
      crypto::InsecureSeededEntropy entropy(static_cast<uint64_t>(thread), "malformed");
      crypto::Random random = crypto::Random::FromEntropy(entropy);
      for (int i = 0; i < kRequests / kThreads; ++i) {
        base::Bytes bytes;
        if (i % 2 == 0) {  // random ones, most of them short
          bytes.resize(random.Below(300));
          random.Fill(bytes);
        } else {  // a genuine one with one bit changed
          bytes = request;
          bytes[random.Below(bytes.size())] ^= static_cast<uint8_t>(1 << random.Below(8));
        }
        absl::StatusCode code = wire->Call(bytes, 60).status().code();
        // A connection that was not made at once is made later; what reaches the server is counted.
        for (int tries = 0; code == absl::StatusCode::kUnavailable && tries < 400; ++tries) {
          std::this_thread::sleep_for(std::chrono::milliseconds(50));
          code = wire->Call(bytes, 60).status().code();
        }
        refused += code == absl::StatusCode::kDataLoss ||
                           code == absl::StatusCode::kFailedPrecondition ||
                           code == absl::StatusCode::kPermissionDenied
                       ? 1
                       : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, kRequests);
  EXPECT_EQ(serving.observer.refused, static_cast<uint64_t>(kRequests));
  for (uint64_t member = 0; member < 5; ++member) {
    EXPECT_TRUE(MemberForTest(serving, member).remote.Await({}).ok());
  }
}

}  // namespace
}  // namespace tacet::transport::https
