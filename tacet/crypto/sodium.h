// Start-up of libsodium, which picks its implementations for this processor.
#ifndef TACET_CRYPTO_SODIUM_H_
#define TACET_CRYPTO_SODIUM_H_

namespace tacet::crypto {

// Called by everything that uses libsodium; thread-safe, does its work once, aborts on failure.
void EnsureSodium();

}  // namespace tacet::crypto

#endif  // TACET_CRYPTO_SODIUM_H_
