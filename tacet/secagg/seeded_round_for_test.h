// A whole round of 20,000 numbers from fixed seeds. Its bytes are the same on every processor.
#ifndef TACET_SECAGG_SEEDED_ROUND_FOR_TEST_H_
#define TACET_SECAGG_SEEDED_ROUND_FOR_TEST_H_

#include <cstdint>
#include <vector>

#include "tacet/secagg/small_round_for_test.h"

namespace tacet::secagg::testing {

struct SeededRound : SmallRound {
  static constexpr uint64_t kDimension = 20000;
  static constexpr uint32_t kParticipants = 3;

  SeededRound() : SmallRound(SmallTerms(kDimension, kParticipants)) {}

  static std::vector<float> UpdateOf(uint32_t participant) {
    std::vector<float> update(kDimension);
    for (size_t i = 0; i < update.size(); ++i) {
      update[i] = 0.001f * static_cast<float>((7 + participant) * i % 211) - 0.1f;
    }
    return update;
  }

  // Clipped, noised, quantised and encrypted. The first call's are the round's.
  std::vector<base::Bytes> SealedUpdates() {
    const auto sealer = ValueOf(Sealer::Create(terms(), attempt(), KeysOf(attempt())));
    std::vector<base::Bytes> uploads;
    for (uint32_t participant = 0; participant < kParticipants; ++participant) {
      uploads.push_back(
          ValueOf(sealer->Seal(UpdateOf(participant), PairKeys(participant), entropy())).bytes);
    }
    return uploads;
  }

  // By all seats' answers; eight bytes a sum.
  base::Bytes SumsOf(const Aggregator::Closed& closed, const std::vector<base::Bytes>& uploads) {
    const DecryptedRound decrypted =
        ValueOf(Decrypt(closed.closed_round, AnswersOf(closed, uploads)));
    base::ByteWriter writer;
    for (const uint64_t sum : decrypted.aggregate.sums) writer.U64(sum);
    return writer.bytes();
  }
};

}  // namespace tacet::secagg::testing

#endif  // TACET_SECAGG_SEEDED_ROUND_FOR_TEST_H_
