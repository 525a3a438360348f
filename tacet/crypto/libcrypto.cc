#include "tacet/crypto/libcrypto.h"

#include <cstdio>
#include <cstdlib>

namespace tacet::crypto {

void CheckLibcrypto(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "tacet: libcrypto failed: %s\n", what);
  std::abort();
}

}  // namespace tacet::crypto
