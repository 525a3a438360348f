// Settings that both ends of a TLS connection share, and OpenSSL's objects as unique pointers.
#ifndef TACET_TRANSPORT_HTTP_TLS_CONTEXT_H_
#define TACET_TRANSPORT_HTTP_TLS_CONTEXT_H_

#include <cstdint>
#include <memory>
#include <span>

#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "tacet/base/bytes.h"
#include "tacet/crypto/certificates.h"

namespace tacet::transport::http {

template <auto kFree>
struct FreedBy {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using SslPointer = std::unique_ptr<SSL, FreedBy<SSL_free>>;
using ContextPointer = std::unique_ptr<SSL_CTX, FreedBy<SSL_CTX_free>>;
using CertificatePointer = std::unique_ptr<X509, FreedBy<X509_free>>;
using KeyPointer = std::unique_ptr<EVP_PKEY, FreedBy<EVP_PKEY_free>>;

base::Bytes DerOf(X509* certificate);  // empty when OpenSSL cannot write it

// Sets the rules of a federation's connections: TLS 1.3 only, the hybrid group X25519MLKEM768
// before others where OpenSSL has it, keys on P-256 only, `authority` alone is trusted, this end
// shows `certificate` with its key. False when OpenSSL refuses any of it.
bool SetUpContext(SSL_CTX* context, std::span<const uint8_t> authority,
                  std::span<const uint8_t> certificate, const crypto::TlsKey& key);

}  // namespace tacet::transport::http

#endif  // TACET_TRANSPORT_HTTP_TLS_CONTEXT_H_
