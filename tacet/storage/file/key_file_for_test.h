// A key file's 32 bytes, of which the first is given.
#ifndef TACET_STORAGE_FILE_KEY_FILE_FOR_TEST_H_
#define TACET_STORAGE_FILE_KEY_FILE_FOR_TEST_H_

#include <cstdint>
#include <utility>

#include "tacet/crypto/locked_secret.h"

namespace tacet::storage::file {

inline crypto::Unlocker KeyFile(uint8_t value) {
  crypto::SecretBytes content(32);
  content.Expose()[0] = value;
  return *crypto::Unlocker::FromKeyFile(std::move(content));
}

}  // namespace tacet::storage::file

#endif  // TACET_STORAGE_FILE_KEY_FILE_FOR_TEST_H_
