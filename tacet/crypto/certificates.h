// X.509 certificates for TLS within one federation: an authority of its own signs the server's and
// each site's. ECDSA on P-256 with SHA-256, no other algorithm.
#ifndef TACET_CRYPTO_CERTIFICATES_H_
#define TACET_CRYPTO_CERTIFICATES_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/secret.h"

namespace tacet::crypto {

// A private key for TLS. The operating system's randomness, through libcrypto's generator.
class TlsKey {
 public:
  static TlsKey Generate();
  // Made from what der() gave; InvalidArgument for anything but a private key on P-256.
  static absl::StatusOr<TlsKey> FromDer(const SecretBytes& der);

  const SecretBytes& der() const { return der_; }                // PKCS #8
  const base::Bytes& public_key() const { return public_key_; }  // SubjectPublicKeyInfo, DER

 private:
  TlsKey(SecretBytes der, base::Bytes public_key)
      : der_(std::move(der)), public_key_(std::move(public_key)) {}

  SecretBytes der_;
  base::Bytes public_key_;
};

enum class CertificateRole : uint8_t { kAuthority, kServer, kClient };

struct CertificateSpec {
  std::string common_name;  // 1 to 64 printable ASCII characters
  CertificateRole role = CertificateRole::kClient;
  base::Bytes public_key;          // SubjectPublicKeyInfo, DER, on P-256
  std::vector<std::string> hosts;  // of a server: DNS names and IP addresses
  uint64_t not_before = 0;         // Unix seconds
  uint64_t not_after = 0;
};

// DER. An authority's certificate is signed with its own key, any other by the `authority`.
// InvalidArgument names the field that cannot be used.
absl::StatusOr<base::Bytes> IssueAuthority(const CertificateSpec& spec, const TlsKey& key);
absl::StatusOr<base::Bytes> IssueCertificate(const CertificateSpec& spec,
                                             const TlsKey& authority_key,
                                             std::span<const uint8_t> authority);

struct CertificateFacts {
  std::string common_name;
  CertificateRole role = CertificateRole::kClient;
  base::Bytes public_key;  // SubjectPublicKeyInfo, DER
  uint64_t not_before = 0, not_after = 0;
  Digest fingerprint{};  // SHA-256 of the DER
};

// DataLoss when `der` is not a certificate of the kind that IssueAuthority and IssueCertificate
// make.
absl::StatusOr<CertificateFacts> ReadCertificate(std::span<const uint8_t> der);

// PermissionDenied unless `authority` signed `certificate`; times are not looked at.
absl::Status CheckIssuedBy(std::span<const uint8_t> certificate,
                           std::span<const uint8_t> authority);

}  // namespace tacet::crypto

#endif  // TACET_CRYPTO_CERTIFICATES_H_
