// All messages of an attempt, decoded by their receivers. The first byte picks the message.
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
  // What was read is written again byte for byte: every message has one form. (That of an opened
  // sum is signed, so of its values only.)
  switch (data[0] % 5) {
    case 0: {
      const auto upload = secagg::ReadUpload(message, round.attempt, params);
      if (upload.ok() &&
          !std::ranges::equal(secagg::WriteUpload(upload->attempt, params, upload->nonce,
                                                  upload->tag, upload->ciphertext),
                              message)) {
        std::abort();
      }
      break;
    }
    case 1: {
      const auto closed = secagg::ReadClosedRound(message, round.attempt, params, 1);
      if (closed.ok() && !std::ranges::equal(secagg::WriteClosedRound(*closed), message)) {
        std::abort();
      }
      break;
    }
    case 2: {
      const auto read = secagg::ReadOpenedSum(message, round.attempt, params, round.openers,
                                              round.keys.result_key);
      if (!read.ok()) break;
      const auto again = secagg::ReadOpenedSum(
          secagg::WriteOpenedSum(read->opened, round.attempt, params, read->round_hash,
                                 read->opener, round.keys.result_key,
                                 round.signing_keys[read->opener], round.entropy),
          round.attempt, params, round.openers, round.keys.result_key);
      if (!again.ok() || again->opened.sums != read->opened.sums ||
          again->round_hash != read->round_hash) {
        std::abort();
      }
      break;
    }
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
    case 4: {
      // The values of an opened sum without seal and signature, which no mutation gets past.
      const uint64_t centre = uint64_t{fuzz::FuzzRound::kParticipants} * params.offset();
      const auto sums =
          secagg::UnpackCentred(message, params.dimension(), centre, params.plaintext_bits());
      if (sums.ok() && !std::ranges::equal(
                           secagg::PackCentred(*sums, centre, params.plaintext_bits()), message)) {
        std::abort();
      }
      break;
    }
    default:
      break;
  }
  return 0;
}
