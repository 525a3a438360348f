// Constant-time check of sharing, unmasking, check rows and recovery under valgrind. Pair keys,
// one-time keys and the random secrets next to them are marked as undefined memory, so that
// memcheck reports every branch and every address that depends on them, on masks or on sums of
// either. constant_time.supp names the exceptions.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

#include <valgrind/memcheck.h>

#include "tacet/crypto/random.h"
#include "tacet/he/key_sharing.h"
#include "tacet/secagg/check_row.h"
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
    const crypto::SecretBytes agreed = SecretOf(entropy), shared = SecretOf(entropy);
    const crypto::SecretBytes pair_key =
        DerivePairKey({.agreed = agreed, .shared = shared, .epoch_key = epoch_key},
                      {.manifest_hash = {}, .epoch = 0, .client = client, .seat = 0, .list = {}});
    masks.Add(pair_key.Expose(), SealNonce{static_cast<uint8_t>(client)});
  }
  crypto::SecretVector<uint16_t> sums = masks.Finish();
  VALGRIND_MAKE_MEM_DEFINED(sums.Expose().data(), sums.Expose().size_bytes());
  for (const uint16_t word : sums.Expose()) {
    if (word >= he::kSharePrime) return false;
  }
  return true;
}

// A seat's combinations of a mask, words below p.
bool CheckShares() {
  crypto::InsecureSeededEntropy entropy(3, "constant time");
  const he::KeySharing sharing = *he::KeySharing::Create({.seats = 7, .corrupt = 2});
  const he::ShareCheck check = ShareCheckOf(sharing, {});
  crypto::SecretVector<uint16_t> mask(sharing.mask_words());
  ExpandMask(SecretOf(entropy).Expose(), Attempt{}, SealNonce{}, mask.Expose());
  he::ShareCombination combination = check.Combine(mask.Expose());
  VALGRIND_MAKE_MEM_DEFINED(combination.data(), sizeof(combination));
  return std::ranges::all_of(combination, [](uint16_t word) { return word < he::kSharePrime; });
}

// Two clients share one-time keys under masks. The answers of as many seats as are needed recover
// the sum.
bool ShareAndRecover() {
  constexpr uint32_t kSeats = 5;
  constexpr size_t kCoefficients = 4096;
  crypto::InsecureSeededEntropy entropy(2, "constant time");
  const he::KeySharing sharing = *he::KeySharing::Create({.seats = kSeats, .corrupt = 2});
  const size_t words = sharing.mask_words();
  const Attempt attempt;
  std::vector<MaskAccumulator> mask_sums;
  for (uint32_t seat = 0; seat < kSeats; ++seat) mask_sums.emplace_back(attempt, words);
  he::ShareSums share_sums(sharing);
  std::vector<int32_t> expected(kCoefficients);
  for (uint8_t client = 0; client < 2; ++client) {
    const SealNonce nonce{client};
    crypto::SecretVector<int8_t> key(kCoefficients);
    for (size_t i = 0; i < kCoefficients; ++i) {
      key.Expose()[i] = static_cast<int8_t>(static_cast<int>((i + client) % 43) - 21);
      expected[i] += key.Expose()[i];
    }
    VALGRIND_MAKE_MEM_UNDEFINED(key.Expose().data(), key.Expose().size_bytes());
    crypto::SecretVector<uint16_t> masks(kSeats * words);
    for (uint32_t seat = 0; seat < kSeats; ++seat) {
      const crypto::SecretBytes pair_key = SecretOf(entropy);
      ExpandMask(pair_key.Expose(), attempt, nonce, masks.Expose().subspan(seat * words, words));
      mask_sums[seat].Add(pair_key.Expose(), nonce);
    }
    crypto::SecretVector<uint16_t> checks(sharing.check_secrets());
    for (size_t i = 0; i < checks.size(); ++i)
      checks.Expose()[i] = static_cast<uint16_t>(i + client);
    VALGRIND_MAKE_MEM_UNDEFINED(checks.Expose().data(), checks.Expose().size_bytes());
    base::Bytes shares(sharing.share_bytes());
    sharing.Share(key.Expose(), checks.Expose(), masks.Expose(), shares);
    VALGRIND_MAKE_MEM_DEFINED(shares.data(), shares.size());
    share_sums.Add(shares);
  }
  base::Bytes sums(sharing.share_bytes());
  share_sums.Write(sums);
  std::vector<crypto::SecretVector<uint16_t>> given;
  std::vector<he::KeySharing::Answer> answers;
  for (MaskAccumulator& seat : mask_sums) given.push_back(seat.Finish());
  for (uint32_t seat = kSeats - sharing.threshold(); seat < kSeats; ++seat) {
    answers.push_back({.seat = seat, .mask_sums = given[seat].Expose()});
  }
  auto recovery = *sharing.Recover(sums, answers);
  const std::span<int32_t> key_sum = recovery.key_sum.Expose();
  VALGRIND_MAKE_MEM_DEFINED(key_sum.data(), key_sum.size_bytes());
  return std::ranges::equal(key_sum, expected);
}

}  // namespace

int main() {
  if (!Unmask(20)) {
    std::fprintf(stderr, "a sum of masks is not canonical\n");
    return 1;
  }
  if (!CheckShares()) {
    std::fprintf(stderr, "a combination of a mask is not canonical\n");
    return 1;
  }
  if (!ShareAndRecover()) {
    std::fprintf(stderr, "something else than the sum of the keys was recovered\n");
    return 1;
  }
  return 0;
}
