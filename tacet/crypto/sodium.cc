#include "tacet/crypto/sodium.h"

#include <cstdio>
#include <cstdlib>

#include <sodium.h>

namespace tacet::crypto {

void EnsureSodium() {
  static const bool ready = sodium_init() >= 0;
  if (!ready) {
    std::fprintf(stderr, "tacet: libsodium could not start\n");
    std::abort();
  }
}

}  // namespace tacet::crypto
