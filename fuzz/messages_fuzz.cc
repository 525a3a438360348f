// Every message of an attempt, as its receiver reads it. The first byte picks the message.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "fuzz/fuzz_round.h"
#include "tacet/secagg/closed_round.h"
#include "tacet/secagg/memory_journal.h"
#include "tacet/secagg/opened_sum.h"
#include "tacet/secagg/opener.h"
#include "tacet/secagg/upload.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tacet;
  static fuzz::FuzzRound& round = *new fuzz::FuzzRound;
  if (size == 0) return 0;
  const std::span<const uint8_t> message(data + 1, size - 1);
  const he::AggregationParams& params = round.terms.aggregation();
  switch (data[0] % 4) {
    case 0:
      (void)secagg::ReadUpload(message, round.attempt, params);
      break;
    case 1: {
      const auto closed = secagg::ReadClosedRound(message, round.attempt, params, 1);
      // What was read is written again byte for byte: there is one form of every closed round.
      if (closed.ok() && !std::ranges::equal(secagg::WriteClosedRound(*closed), message)) {
        std::abort();
      }
      break;
    }
    case 2:
      (void)secagg::ReadOpenedSum(message, round.attempt, params, round.openers,
                                  round.keys.result_key);
      break;
    case 3: {
      static const base::Bytes& closed = *new base::Bytes([] {
        secagg::ClosedRound empty{
            .attempt = round.attempt, .nonces = {}, .tag_sum = {}, .closed_sum = {}};
        for (uint8_t k = 0; k < fuzz::FuzzRound::kParticipants; ++k) empty.nonces.push_back({k});
        empty.closed_sum.resize(round.terms.aggregation().closed_sum_bytes());
        return secagg::WriteClosedRound(empty);
      }());
      secagg::MemoryJournal journal;
      const auto opener = fuzz::ValueOrDie(secagg::Opener::Create(
          round.terms, round.attempt,
          secagg::DeriveAttemptKeys(round.epoch_key, he::Scheme::kCompact, round.attempt),
          round.openers, 0, round.signing_keys[0], journal, round.entropy));
      (void)fuzz::ValueOrDie(opener->Review(closed));
      // The sum is of nothing, so no vote may ever open it.
      const std::vector<base::Bytes> votes = {base::Bytes(message.begin(), message.end())};
      if (opener->Open(votes).ok()) std::abort();
      break;
    }
    default:
      break;
  }
  return 0;
}
