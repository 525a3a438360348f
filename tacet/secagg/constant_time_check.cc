// Constant-time check of unmasking under valgrind. Pair keys are marked as undefined memory, so
// that memcheck reports every branch and every address that depends on them or on masks.
// constant_time.supp names the exception: words of the key stream that are skipped.
#include <array>
#include <cstdio>
#include <span>

#include <valgrind/memcheck.h>

#include "tacet/crypto/random.h"
#include "tacet/he/key_sharing.h"
#include "tacet/secagg/pair_masks.h"

namespace {

using namespace tacet;
using namespace tacet::secagg;

constexpr size_t kWords = 1366;

crypto::SecretBytes SecretOf(crypto::Entropy& entropy) {
  crypto::SecretBytes secret = entropy.Draw(32);
  VALGRIND_MAKE_MEM_UNDEFINED(secret.Expose().data(), secret.size());
  return secret;
}

// A seat's answer for `uploads` uploads is below p in each word.
bool Unmask(uint64_t uploads) {
  crypto::InsecureSeededEntropy entropy(1, "constant time");
  const crypto::SecretBytes epoch_key = SecretOf(entropy);
  const Attempt attempt;
  MaskAccumulator masks(attempt, kWords);
  for (uint64_t client = 0; client < uploads; ++client) {
    const crypto::SecretBytes pair_key =
        DerivePairKey(SecretOf(entropy), epoch_key,
                      {.manifest_hash = {}, .epoch = 0, .client = client, .seat = 0});
    masks.Add(pair_key.Expose(), SealNonce{static_cast<uint8_t>(client)});
  }
  crypto::SecretVector<uint16_t> sums = masks.Finish();
  VALGRIND_MAKE_MEM_DEFINED(sums.Expose().data(), sums.Expose().size_bytes());
  for (const uint16_t word : sums.Expose()) {
    if (word >= he::kSharePrime) return false;
  }
  return true;
}

}  // namespace

int main() {
  if (Unmask(20)) return 0;
  std::fprintf(stderr, "a sum of masks is not canonical\n");
  return 1;
}
