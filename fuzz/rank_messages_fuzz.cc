// What ranks of a simulation tell each other. The first byte picks the message; a task is the
// plaintext of its sealed box.
#include <algorithm>
#include <cstdlib>
#include <span>

#include "fuzz/fuzz_round.h"
#include "tacet/base/random.h"
#include "tacet/federation/rank_messages.h"

namespace {

using namespace tacet;
using federation::RankTask;

constexpr uint64_t kDimension = 3;
constexpr uint64_t kClients = 5;

// What was read is written again byte for byte.
void Expect(bool same) {
  if (!same) std::abort();
}

void ReadTask(std::span<const uint8_t> plaintext) {
  static base::InsecureSeededEntropy& entropy = *new base::InsecureSeededEntropy(1, "box");
  static const base::SealingKey& key = *new base::SealingKey(base::SealingKey::Generate(entropy));
  const auto task = federation::OpenRankTask(
      fuzz::ValueOrDie(base::SealFor(key.public_key(), plaintext)), key, kClients);
  if (!task.ok()) return;
  for (const federation::Seat& seat : task->share.seats) Expect(seat.owner < kClients);
  const auto again = key.Open(fuzz::ValueOrDie(federation::SealRankTask(*task, key.public_key())));
  Expect(again.ok() && std::ranges::equal(again->Expose(), plaintext));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::span<const uint8_t> message(data + 1, size - 1);
  switch (data[0] % 4) {
    case 0: {
      const auto hello = federation::ReadRankHello(message);
      if (hello.ok()) Expect(std::ranges::equal(federation::WriteRankHello(*hello), message));
      break;
    }
    case 1: {
      const auto job = federation::ReadRankJob(message, kDimension);
      if (!job.ok()) break;
      Expect(std::ranges::equal(job->has_value()
                                    ? federation::WriteRankJob((*job)->attempt, (*job)->model)
                                    : federation::WriteRankEnd(),
                                message));
      break;
    }
    case 2:
      ReadTask(message);
      break;
    default: {
      const auto report = federation::ReadRankReport(message);
      if (report.ok()) Expect(std::ranges::equal(federation::WriteRankReport(*report), message));
      break;
    }
  }
  return 0;
}
