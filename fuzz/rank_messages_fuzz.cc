// Messages between ranks of a simulation. The first byte picks the message; a task is the plaintext
// of its sealed box.
#include <algorithm>
#include <cstdlib>
#include <span>

#include "fuzz/fuzz_round.h"
#include "tacet/crypto/random.h"
#include "tacet/simulation/rank_messages.h"

namespace {

using namespace tacet;
using simulation::RankTask;

constexpr uint64_t kDimension = 3;
constexpr uint64_t kClients = 5;

// An accepted message is written again byte for byte.
void Expect(bool same) {
  if (!same) std::abort();
}

void ReadTask(std::span<const uint8_t> plaintext) {
  static crypto::InsecureSeededEntropy& entropy = *new crypto::InsecureSeededEntropy(1, "box");
  static const crypto::SealingKey& key =
      *new crypto::SealingKey(crypto::SealingKey::Generate(entropy));
  const auto task = simulation::DecryptRankTask(
      fuzz::ValueOrDie(crypto::SealFor(key.public_key(), plaintext)), key, kClients);
  if (!task.ok()) return;
  for (const simulation::Seat& seat : task->share.seats) Expect(seat.client < kClients);
  const auto again =
      key.Open(fuzz::ValueOrDie(simulation::EncryptRankTask(*task, key.public_key())));
  Expect(again.ok() && std::ranges::equal(again->Expose(), plaintext));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::span<const uint8_t> message(data + 1, size - 1);
  switch (data[0] % 4) {
    case 0: {
      const auto hello = simulation::ReadRankHello(message);
      if (hello.ok()) Expect(std::ranges::equal(simulation::WriteRankHello(*hello), message));
      break;
    }
    case 1: {
      const auto job = simulation::ReadRankJob(message, kDimension);
      if (!job.ok()) break;
      Expect(std::ranges::equal(job->has_value()
                                    ? simulation::WriteRankJob((*job)->attempt, (*job)->model)
                                    : simulation::WriteRankEnd(),
                                message));
      break;
    }
    case 2:
      ReadTask(message);
      break;
    default: {
      const auto report = simulation::ReadRankReport(message);
      if (report.ok()) Expect(std::ranges::equal(simulation::WriteRankReport(*report), message));
      break;
    }
  }
  return 0;
}
