// Constant-time check of our ML-KEM-768 under valgrind. Seeds, messages and shared secrets are
// marked as undefined memory, so that memcheck reports every branch and every address that depends
// on them. constant_time.supp names the exception: the public matrix is expanded from a hash of the
// seed.
#include <cstdio>
#include <span>

#include <valgrind/memcheck.h>

#include "tacet/crypto/ml_kem_implementation.h"
#include "tacet/crypto/random.h"

namespace {

using namespace tacet::crypto;

// Secret bytes that memcheck follows.
class MarkedEntropy final : public Entropy {
 public:
  void Fill(std::span<uint8_t> bytes) override {
    entropy_.Fill(bytes);
    VALGRIND_MAKE_MEM_UNDEFINED(bytes.data(), bytes.size());
  }

 private:
  InsecureSeededEntropy entropy_{1, "constant time"};
};

template <typename Bytes>
Bytes Published(Bytes bytes) {
  VALGRIND_MAKE_MEM_DEFINED(bytes.data(), bytes.size());
  return bytes;
}

// Whether the owner computes the sender's secret from what was sent, and from `altered` bytes of it
// another one.
bool AgreeUnless(bool altered) {
  MarkedEntropy entropy;
  const SecretBytes seed = entropy.Draw(KemKey::kSeedBytes);
  const KemPublicKey key = Published(OwnMlKem().key_of_seed(seed));
  const Encapsulated sent = OwnMlKem().encapsulate(entropy.Draw(32), key);
  KemCiphertext received = Published(sent.ciphertext);
  if (altered) received.back() ^= 1;
  const SecretBytes shared = OwnMlKem().decapsulate(seed, key, received);
  uint8_t difference = 0;
  for (size_t i = 0; i < shared.size(); ++i) {
    difference = static_cast<uint8_t>(difference | (shared.Expose()[i] ^ sent.shared.Expose()[i]));
  }
  VALGRIND_MAKE_MEM_DEFINED(&difference, sizeof(difference));
  return (difference == 0) != altered;
}

}  // namespace

int main() {
  if (AgreeUnless(false) && AgreeUnless(true)) return 0;
  std::fprintf(stderr, "the owner of a key computed something else than its sender\n");
  return 1;
}
