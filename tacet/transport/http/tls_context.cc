#include "tacet/transport/http/tls_context.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>

namespace tacet::transport::http {
namespace {

CertificatePointer CertificateFrom(std::span<const uint8_t> der) {
  const uint8_t* at = der.data();
  return CertificatePointer(d2i_X509(nullptr, &at, static_cast<long>(der.size())));
}

// OpenSSL has the hybrid group from version 3.5 on, and refuses a list with a name that it does not
// know. Both ends have the last two.
bool SetGroups(SSL_CTX* context) {
  return SSL_CTX_set1_groups_list(context, "X25519MLKEM768:X25519:P-256") == 1 ||
         SSL_CTX_set1_groups_list(context, "X25519:P-256") == 1;
}

}  // namespace

base::Bytes DerOf(X509* certificate) {
  uint8_t* der = nullptr;
  const int size = i2d_X509(certificate, &der);
  if (size <= 0) return {};
  base::Bytes bytes(der, der + size);
  OPENSSL_free(der);
  return bytes;
}

bool SetUpContext(SSL_CTX* context, std::span<const uint8_t> authority,
                  std::span<const uint8_t> certificate, const crypto::TlsKey& key) {
  const CertificatePointer trusted = CertificateFrom(authority), own = CertificateFrom(certificate);
  const uint8_t* der = key.der().Expose().data();
  const KeyPointer own_key(d2i_AutoPrivateKey(nullptr, &der, static_cast<long>(key.der().size())));
  constexpr int kNoPurpose = -1;  // only reads the extensions: later, threads would do so at once
  const bool done = trusted != nullptr && own != nullptr && own_key != nullptr &&
                    X509_check_purpose(trusted.get(), kNoPurpose, 0) == 1 &&
                    SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 &&
                    SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) == 1 &&
                    SetGroups(context) && SSL_CTX_set1_sigalgs_list(context, "ECDSA+SHA256") == 1 &&
                    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), trusted.get()) == 1 &&
                    SSL_CTX_use_certificate(context, own.get()) == 1 &&
                    SSL_CTX_use_PrivateKey(context, own_key.get()) == 1 &&
                    SSL_CTX_check_private_key(context) == 1;
  ERR_clear_error();
  return done;
}

}  // namespace tacet::transport::http
