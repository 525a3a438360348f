// ML-KEM-768 keys and ciphertexts of strangers. The first byte says which: even a public key, odd a
// ciphertext. The rest replaces the first bytes of a valid one.
#include <algorithm>
#include <cstdlib>
#include <span>

#include "tacet/crypto/ml_kem.h"
#include "tacet/crypto/random.h"

namespace {

using namespace tacet::crypto;

void Expect(bool right) {
  if (!right) std::abort();
}

struct Honest {
  InsecureSeededEntropy entropy{1, "ML-KEM fuzz"};
  KemKey key = KemKey::Generate(entropy);
  Encapsulated sent = *Encapsulate(key.public_key(), entropy);
};

bool EachCoefficientIsBelowQ(const KemPublicKey& key) {
  for (size_t bit = 0; bit < 8 * 1152; bit += 12) {
    unsigned coefficient = 0;
    for (size_t i = 0; i < 12; ++i) {
      coefficient |= (key[(bit + i) / 8] >> ((bit + i) % 8) & 1u) << i;
    }
    if (coefficient >= 3329) return false;
  }
  return true;
}

// A key is taken exactly if it passes FIPS 203's check, and then gives the same secret to the same
// coins.
void TakeKey(const KemPublicKey& key) {
  InsecureSeededEntropy entropy(2, "ML-KEM fuzz"), again(2, "ML-KEM fuzz");
  const auto first = Encapsulate(key, entropy);
  const bool good = EachCoefficientIsBelowQ(key);
  Expect(CheckKemKey(key).ok() == good && first.ok() == good);
  if (!good) return;
  const auto second = Encapsulate(key, again);
  Expect(second.ok() && first->ciphertext == second->ciphertext);
  Expect(ConstantTimeEqual(first->shared.Expose(), second->shared.Expose()));
}

// Only the sender's own ciphertext gives the sender's secret.
void TakeCiphertext(const KemCiphertext& ciphertext, const Honest& honest) {
  const SecretBytes shared = honest.key.Decapsulate(ciphertext);
  Expect(ConstantTimeEqual(shared.Expose(), honest.sent.shared.Expose()) ==
         (ciphertext == honest.sent.ciphertext));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Honest honest;
  if (size == 0) return 0;
  const std::span<const uint8_t> given(data + 1, size - 1);
  const auto replace = [&given](auto whole) {
    std::copy_n(given.begin(), std::min(given.size(), whole.size()), whole.begin());
    return whole;
  };
  if (data[0] % 2 == 0) {
    TakeKey(replace(honest.key.public_key()));
  } else {
    TakeCiphertext(replace(honest.sent.ciphertext), honest);
  }
  return 0;
}
