// Calls of libcrypto that fail only when it is broken or out of memory.
#ifndef TACET_CRYPTO_LIBCRYPTO_H_
#define TACET_CRYPTO_LIBCRYPTO_H_

namespace tacet::crypto {

// Ends the process with `what` unless `ok`.
void CheckLibcrypto(bool ok, const char* what);

}  // namespace tacet::crypto

#endif  // TACET_CRYPTO_LIBCRYPTO_H_
