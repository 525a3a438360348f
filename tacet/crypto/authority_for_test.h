// Certificates of authorities that certify themselves.
#ifndef TACET_CRYPTO_AUTHORITY_FOR_TEST_H_
#define TACET_CRYPTO_AUTHORITY_FOR_TEST_H_

#include <cstdint>
#include <string>
#include <utility>

#include "tacet/base/bytes.h"
#include "tacet/crypto/certificates.h"

namespace tacet::crypto {

inline base::Bytes AuthorityOf(const TlsKey& key, uint64_t not_before = 1'750'000'000,
                               uint64_t not_after = 1'760'000'000, std::string name = "hospitals") {
  return *IssueAuthority({.common_name = std::move(name),
                          .role = CertificateRole::kAuthority,
                          .public_key = key.public_key(),
                          .hosts = {},
                          .not_before = not_before,
                          .not_after = not_after},
                         key);
}

// One for the whole process.
inline const base::Bytes& SomeAuthority() {
  static const auto& authority = *new base::Bytes(AuthorityOf(TlsKey::Generate()));
  return authority;
}

}  // namespace tacet::crypto

#endif  // TACET_CRYPTO_AUTHORITY_FOR_TEST_H_
