// A whole round from fixed seeds has the same bytes on every processor and with every TACET_SIMD:
// what was sealed on one can be added and decrypted on another.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/cpu.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/random.h"
#include "tacet/dp/kernels.h"
#include "tacet/he/sum_kernels.h"
#include "tacet/ring/kernels.h"
#include "tacet/secagg/small_round_for_test.h"

namespace tacet::secagg {
namespace {

using namespace testing;  // NOLINT: tacet::secagg::testing

constexpr uint64_t kDimension = 20000;
constexpr uint32_t kParticipants = 3;

std::string Hash(std::span<const uint8_t> bytes) { return base::ToHex(crypto::Sha256(bytes)); }

std::vector<float> UpdateOf(uint32_t participant) {
  std::vector<float> update(kDimension);
  for (size_t i = 0; i < update.size(); ++i) {
    update[i] = 0.001f * static_cast<float>((7 + participant) * i % 211) - 0.1f;
  }
  return update;
}

TEST(SameBytesTest, OfAWholeRound) {
  SmallRound round(SmallTerms(kDimension, kParticipants));
  const auto sealer =
      ValueOf(Sealer::Create(round.terms(), round.attempt(), round.KeysOf(round.attempt())));
  std::vector<base::Bytes> uploads;
  std::string hashes;
  for (uint32_t participant = 0; participant < kParticipants; ++participant) {
    uploads.push_back(
        ValueOf(sealer->Seal(UpdateOf(participant), round.PairKeys(participant), round.entropy()))
            .bytes);
    hashes += Hash(uploads.back());
  }
  const Aggregator::Closed closed = round.Close(uploads);
  hashes += Hash(closed.closed_round);
  const DecryptedRound decrypted =
      ValueOf(round.Decrypt(closed.closed_round, round.AnswersOf(closed, uploads)));
  const std::vector<uint64_t>& sums = decrypted.aggregate.sums;
  ASSERT_EQ(sums.size(), kDimension);
  base::ByteWriter writer;
  for (const uint64_t sum : sums) writer.U64(sum);
  hashes += Hash(writer.bytes());
  EXPECT_EQ(Hash({reinterpret_cast<const uint8_t*>(hashes.data()), hashes.size()}),
            "3b26fe3042009b7005224fd5b4345f49156f9f212c299b91a19fc7b8789cb90c");
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
