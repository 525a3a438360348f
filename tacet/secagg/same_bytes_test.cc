// A whole round from fixed seeds has the same bytes on every processor and with every TACET_SIMD:
// what was sealed on one can be added and decrypted on another.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/cpu.h"
#include "tacet/crypto/hash.h"
#include "tacet/dp/kernels.h"
#include "tacet/he/sum_kernels.h"
#include "tacet/ring/kernels.h"
#include "tacet/secagg/seeded_round_for_test.h"

namespace tacet::secagg {
namespace {

using testing::SeededRound;

std::string Hash(std::span<const uint8_t> bytes) { return base::ToHex(crypto::Sha256(bytes)); }

TEST(SameBytesTest, OfAWholeRound) {
  SeededRound round;
  const std::vector<base::Bytes> uploads = round.SealedUpdates();
  const Aggregator::Closed closed = round.Close(uploads);
  const base::Bytes sums = round.SumsOf(closed, uploads);
  ASSERT_EQ(sums.size(), 8 * SeededRound::kDimension);
  std::string hashes;
  for (const base::Bytes& upload : uploads) hashes += Hash(upload);
  hashes += Hash(closed.closed_round);
  hashes += Hash(sums);
  EXPECT_EQ(Hash({reinterpret_cast<const uint8_t*>(hashes.data()), hashes.size()}),
            "ec06852434c5ff26347455d9ec5ee4e76914a2d704cdaa6c121051236b712a3a");
}

// The environment's choice reaches every table.
TEST(SameBytesTest, FromTheTablesThatTheEnvironmentChose) {
  const auto widest = [](auto available) {
    base::Target target = base::Target::kScalar;
    for (const auto* kernels : available) {
      if (base::MayUse(kernels->target)) target = kernels->target;
    }
    return target;
  };
  EXPECT_EQ(ring::ActiveKernels().target, widest(ring::AvailableKernels()));
  EXPECT_EQ(base::TargetName(dp::ActiveKernels().target), base::SimdName(base::ActiveSimd()));
  EXPECT_EQ(base::TargetName(he::ActiveSumKernels().target), base::SimdName(base::ActiveSimd()));
  EXPECT_THAT(std::string(base::TargetName(ring::ActiveKernels().target)),
              ::testing::StartsWith(std::string(base::SimdName(base::ActiveSimd()))));
}

}  // namespace
}  // namespace tacet::secagg
