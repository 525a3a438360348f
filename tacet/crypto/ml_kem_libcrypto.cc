// Algorithms and parameters are fetched by their names, so that headers of any libcrypto 3 serve.
#include <array>
#include <memory>
#include <span>

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include "tacet/crypto/libcrypto.h"
#include "tacet/crypto/ml_kem_implementation.h"

namespace tacet::crypto {
namespace {

constexpr char kAlgorithm[] = "ML-KEM-768";
// Defined in <openssl/core_names.h> since 3.5.
constexpr char kSeed[] = "seed";
constexpr char kCoins[] = "ikme";
constexpr size_t kSharedBytes = 32;

void Check(bool ok) { CheckLibcrypto(ok, kAlgorithm); }

struct Free {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(EVP_PKEY_CTX* context) const { EVP_PKEY_CTX_free(context); }
};
using Key = std::unique_ptr<EVP_PKEY, Free>;
using Context = std::unique_ptr<EVP_PKEY_CTX, Free>;

// libcrypto reads the bytes, and takes them as void*.
std::array<OSSL_PARAM, 2> Parameter(const char* name, std::span<const uint8_t> bytes) {
  return {OSSL_PARAM_construct_octet_string(name, const_cast<uint8_t*>(bytes.data()), bytes.size()),
          OSSL_PARAM_construct_end()};
}

Key KeyOf(int selection, const char* name, std::span<const uint8_t> bytes) {
  const Context context(EVP_PKEY_CTX_new_from_name(nullptr, kAlgorithm, nullptr));
  Check(context != nullptr && EVP_PKEY_fromdata_init(context.get()) == 1);
  EVP_PKEY* key = nullptr;
  Check(EVP_PKEY_fromdata(context.get(), &key, selection, Parameter(name, bytes).data()) == 1);
  return Key(key);
}

Context ContextOf(const Key& key) {
  Context context(EVP_PKEY_CTX_new_from_pkey(nullptr, key.get(), nullptr));
  Check(context != nullptr);
  return context;
}

KemPublicKey KeyOfSeed(const SecretBytes& seed) {
  const Key key = KeyOf(EVP_PKEY_KEYPAIR, kSeed, seed.Expose());
  KemPublicKey result;
  size_t size = 0;
  Check(EVP_PKEY_get_octet_string_param(key.get(), OSSL_PKEY_PARAM_PUB_KEY, result.data(),
                                        result.size(), &size) == 1 &&
        size == result.size());
  return result;
}

SecretBytes Decapsulate(const SecretBytes& seed, const KemPublicKey&,
                        const KemCiphertext& ciphertext) {
  const Context context = ContextOf(KeyOf(EVP_PKEY_KEYPAIR, kSeed, seed.Expose()));
  SecretBytes shared(kSharedBytes);
  size_t size = shared.size();
  Check(EVP_PKEY_decapsulate_init(context.get(), nullptr) == 1 &&
        EVP_PKEY_decapsulate(context.get(), shared.Expose().data(), &size, ciphertext.data(),
                             ciphertext.size()) == 1 &&
        size == shared.size());
  return shared;
}

Encapsulated Encapsulate(const SecretBytes& coins, const KemPublicKey& key) {
  const Context context = ContextOf(KeyOf(EVP_PKEY_PUBLIC_KEY, OSSL_PKEY_PARAM_PUB_KEY, key));
  Encapsulated sent = {.ciphertext = {}, .shared = SecretBytes(kSharedBytes)};
  size_t size = sent.ciphertext.size(), shared_size = sent.shared.size();
  Check(EVP_PKEY_encapsulate_init(context.get(), Parameter(kCoins, coins.Expose()).data()) == 1 &&
        EVP_PKEY_encapsulate(context.get(), sent.ciphertext.data(), &size,
                             sent.shared.Expose().data(), &shared_size) == 1 &&
        size == sent.ciphertext.size() && shared_size == sent.shared.size());
  return sent;
}

// A validated module does not know coins of its caller as a parameter.
bool TakesCoins() {
  EVP_KEM* const kem = EVP_KEM_fetch(nullptr, kAlgorithm, nullptr);
  const OSSL_PARAM* const settable = EVP_KEM_settable_ctx_params(kem);
  const bool takes = settable != nullptr && OSSL_PARAM_locate_const(settable, kCoins) != nullptr;
  EVP_KEM_free(kem);
  return takes;
}

}  // namespace

const MlKemImplementation* LibcryptoMlKem() {
  static constexpr MlKemImplementation kImplementation = {
      .key_of_seed = KeyOfSeed, .decapsulate = Decapsulate, .encapsulate = Encapsulate};
  static const bool takes_coins = TakesCoins();
  return takes_coins ? &kImplementation : nullptr;
}

}  // namespace tacet::crypto
