// Start-up of libsodium, which picks its implementations for this processor.
#ifndef TACET_BASE_SODIUM_H_
#define TACET_BASE_SODIUM_H_

namespace tacet::base {

// Called by everything that uses libsodium; thread-safe, does its work once, aborts on failure.
void EnsureSodium();

}  // namespace tacet::base

#endif  // TACET_BASE_SODIUM_H_
