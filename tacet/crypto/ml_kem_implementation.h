// Implementations of ML-KEM-768 (FIPS 203). All give the same bytes. Only ml_kem.cc and tests
// include this: the rest of the program does not know which one runs.
#ifndef TACET_CRYPTO_ML_KEM_IMPLEMENTATION_H_
#define TACET_CRYPTO_ML_KEM_IMPLEMENTATION_H_

#include "tacet/crypto/ml_kem.h"
#include "tacet/crypto/secret.h"

namespace tacet::crypto {

// Seeds have 64 bytes, d ‖ z of the standard, and coins 32. Public keys passed CheckKemKey.
struct MlKemImplementation {
  KemPublicKey (*key_of_seed)(const SecretBytes& seed);
  SecretBytes (*decapsulate)(const SecretBytes& seed, const KemPublicKey& key,
                             const KemCiphertext& ciphertext);
  Encapsulated (*encapsulate)(const SecretBytes& coins, const KemPublicKey& key);
};

const MlKemImplementation& OwnMlKem();
// libcrypto's, from its version 3.5 on. Null where it has none, or none that takes coins, as in a
// validated module.
const MlKemImplementation* LibcryptoMlKem();

}  // namespace tacet::crypto

#endif  // TACET_CRYPTO_ML_KEM_IMPLEMENTATION_H_
