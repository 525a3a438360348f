// Answers with this ML-KEM-768 for tests/vectors/ml_kem_peer_test.py. Reads lines of hexadecimal
// words, and writes one line for each:
//   key SEED                  -> the public key
//   send KEY MESSAGE          -> ciphertext and shared secret
//   receive SEED CIPHERTEXT   -> the shared secret
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <string>

#include "tacet/base/bytes.h"
#include "tacet/crypto/fixed_entropy_for_test.h"
#include "tacet/crypto/ml_kem.h"

namespace {

using namespace tacet;
using namespace tacet::crypto;

template <typename Array>
Array ArrayOf(const std::string& hex) {
  const base::Bytes bytes = base::FromHex(hex).value();
  Array array;
  if (bytes.size() != array.size()) std::abort();
  std::ranges::copy(bytes, array.begin());
  return array;
}

KemKey KeyOf(const std::string& seed) {
  return KemKey::FromSeed(SecretBytes::CopyOf(base::FromHex(seed).value())).value();
}

}  // namespace

int main() {
  std::string what, first, second;
  while (std::cin >> what >> first) {
    if (what == "key") {
      std::cout << base::ToHex(KeyOf(first).public_key()) << std::endl;
      continue;
    }
    std::cin >> second;
    if (what == "send") {
      FixedEntropy entropy(base::FromHex(second).value());
      const Encapsulated sent = Encapsulate(ArrayOf<KemPublicKey>(first), entropy).value();
      std::cout << base::ToHex(sent.ciphertext) << ' ' << base::ToHex(sent.shared.Expose())
                << std::endl;
    } else {
      const SecretBytes shared = KeyOf(first).Decapsulate(ArrayOf<KemCiphertext>(second));
      std::cout << base::ToHex(shared.Expose()) << std::endl;
    }
  }
  return 0;
}
