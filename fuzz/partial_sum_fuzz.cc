// Partial sums given to an aggregator that has an upload of its own. With the first byte's top bit
// the rest is the message itself, otherwise patches of an honest one, four bytes each: a 24-bit
// position and the byte to be put there; positions from 2^23 on count from the end. Bit 6 cuts the
// patched message at the last patch's position.
#include <cstdlib>
#include <vector>

#include "fuzz/fuzz_round.h"
#include "tacet/secagg/aggregator.h"
#include "tacet/secagg/partial_sum.h"

namespace {

using namespace tacet;

struct Honest {
  Honest() {
    secagg::Aggregator other(params, round.attempt, 0);
    if (!other.Submit(1, uploads[1]).ok()) std::abort();
    partial = fuzz::ValueOrDie(other.ClosePartial());
    alone = fuzz::ValueOrDie(OfOneUpload().ClosePartial());
    secagg::Aggregator both = OfOneUpload();
    if (!both.Submit(1, uploads[1]).ok()) std::abort();
    together = fuzz::ValueOrDie(both.ClosePartial());
  }
  secagg::Aggregator OfOneUpload() const {
    secagg::Aggregator aggregator(params, round.attempt, 0);
    if (!aggregator.Submit(0, uploads[0]).ok()) std::abort();
    return aggregator;
  }

  fuzz::FuzzRound round;
  const he::AggregationParams& params = round.terms.aggregation();
  std::vector<base::Bytes> uploads = round.Uploads();
  base::Bytes partial;          // of the second upload
  base::Bytes alone, together;  // partial sums of the first and of both
};

base::Bytes Patched(base::Bytes message, bool cut, const uint8_t* data, size_t size) {
  size_t position = message.size();
  for (size_t i = 0; i + 4 <= size; i += 4) {
    const size_t place = data[i] | size_t{data[i + 1]} << 8 | size_t{data[i + 2]} << 16;
    position = place < size_t{1} << 23 ? place % message.size()
                                       : message.size() - 1 - place % message.size();
    message[position] = data[i + 3];
  }
  if (cut) message.resize(position);
  return message;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Honest& honest = *new Honest;
  if (size < 1) return 0;
  const base::Bytes message =
      (data[0] & 0x80) != 0 ? base::Bytes(data + 1, data + size)
                            : Patched(honest.partial, (data[0] & 0x40) != 0, data + 1, size - 1);
  secagg::Aggregator aggregator = honest.OfOneUpload();
  const absl::Status merged = aggregator.Merge(message);
  if (message == honest.partial && !merged.ok()) std::abort();
  const base::Bytes after = fuzz::ValueOrDie(aggregator.ClosePartial());
  // A refused message leaves no trace; an accepted one is read again as it was written.
  if (!merged.ok() && after != honest.alone) std::abort();
  if (message == honest.partial && after != honest.together) std::abort();
  const auto read = secagg::ReadPartialSum(after, honest.round.attempt, honest.params);
  if (!read.ok() || secagg::WritePartialSum(*read, honest.params) != after) std::abort();
  if (read->uploads.size() > fuzz::FuzzRound::kParticipants) std::abort();
  return 0;
}
