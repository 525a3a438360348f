// Constant-time check under valgrind. Secrets and counts are marked as undefined memory, so that
// memcheck reports every branch and every address that depends on them. Sealing, decrypting and
// authenticating must give no report; constant_time.supp names the exceptions: expanding a seed
// that is sent in the clear anyway, and a branch that no checked answer takes.
#include <cstdio>
#include <span>
#include <vector>

#include <valgrind/memcheck.h>

#include "tacet/crypto/random.h"
#include "tacet/he/aggregation.h"
#include "tacet/he/committee_for_test.h"
#include "tacet/he/homomorphic_mac.h"

namespace {

using namespace tacet;
using namespace tacet::he;

template <typename T, size_t kExtent>
void MarkSecret(std::span<T, kExtent> values) {
  VALGRIND_MAKE_MEM_UNDEFINED(values.data(), values.size_bytes());
}
template <typename T, size_t kExtent>
void MarkPublic(std::span<T, kExtent> values) {
  VALGRIND_MAKE_MEM_DEFINED(values.data(), values.size_bytes());
}

// True when the sum of two seals decrypts to what was put in.
bool SealAddOpen(Scheme scheme) {
  const AggregationParams params = *AggregationParams::Create({.scheme = scheme,
                                                               .dimension = 17001,
                                                               .max_participants = 1000,
                                                               .offset = 40000,
                                                               .sum_bound = 2000000});
  crypto::InsecureSeededEntropy entropy(1, "constant time");
  const crypto::SecretBytes public_seed = entropy.Draw(32);
  crypto::SecretBytes group_secret = entropy.Draw(32);
  crypto::SecretBytes tag_key = entropy.Draw(32);
  crypto::Random mask_random = crypto::Random::FromEntropy(entropy);
  MaskSums mask_sums(params);
  MarkSecret(group_secret.Expose());
  MarkSecret(tag_key.Expose());

  const auto encryptor = *NewEncryptor(params, public_seed.Expose(), group_secret);
  const HomomorphicMacKey tagger(tag_key, params.dimension(), public_seed.Expose());
  const TagNonce nonce{};
  const auto adder = NewAdder(params);
  for (int i = 0; i < 2; ++i) {
    crypto::SecretBytes seal_key = entropy.Draw(32);
    MarkSecret(seal_key.Expose());
    std::vector<uint32_t> counts(params.dimension(), 41000);
    MarkSecret(std::span(counts));
    base::Bytes ciphertext;
    std::vector<uint16_t> masks = RandomMasks(mask_random, params.mask_words());
    MarkSecret(std::span(masks));
    mask_sums.Add(masks);
    const Tag tag = tagger.Compute(counts, nonce);
    if (!encryptor->Encrypt(counts, tag, {.key = seal_key, .masks = masks}, ciphertext).ok()) {
      return false;
    }
    MarkPublic(std::span(ciphertext));
    if (!adder->Add(ciphertext).ok()) return false;
  }

  const base::Bytes closed = adder->Close();
  const auto decryptor =
      *DecryptorOf(params, public_seed.Expose(), group_secret, closed, mask_sums);
  auto [sums, tag] = *decryptor->Decrypt(closed, 2);
  Tag expected = tagger.OfSum(sums);
  for (int i = 0; i < 2; ++i) expected = AddTags(expected, tagger.Mask(nonce));
  bool equal = TagsEqual(tag, expected);
  MarkPublic(std::span(&equal, 1));
  MarkPublic(std::span(sums));
  return equal && sums == std::vector<uint64_t>(params.dimension(), 82000);
}

}  // namespace

int main() {
  for (const Scheme scheme : {Scheme::kCompact, Scheme::kPaperPublicKey, Scheme::kPaperSecretKey}) {
    if (SealAddOpen(scheme)) continue;
    std::fprintf(stderr, "scheme %s decrypted something else\n", SchemeName(scheme).data());
    return 1;
  }
  return 0;
}
