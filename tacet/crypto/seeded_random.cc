#include "tacet/crypto/seeded_random.h"

#include <utility>

#include "tacet/base/bytes.h"
#include "tacet/crypto/hash.h"

namespace tacet::crypto {

Random SeededRandom(uint64_t seed, std::string_view purpose, uint64_t first, uint64_t second) {
  uint8_t key[8];
  base::StoreU64(seed, key);
  base::ByteWriter info;
  info.Raw("tacet/1/learning/");
  info.Blob(purpose);
  info.U64(first);
  info.U64(second);
  return Random(HkdfSha256(key, info.bytes(), 32));
}

double Uniform(Random& random) { return static_cast<double>(random.NextU64() >> 11) * 0x1p-53; }

void Shuffle(Random& random, std::span<uint32_t> values) {
  for (size_t left = values.size(); left > 1; --left) {
    std::swap(values[left - 1], values[random.Below(left)]);
  }
}

}  // namespace tacet::crypto
