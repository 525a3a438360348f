// OpenSSL's own TLS, for tests that observe gRPC from outside.
#ifndef TACET_TRANSPORT_GRPC_TLS_FOR_TEST_H_
#define TACET_TRANSPORT_GRPC_TLS_FOR_TEST_H_

#include <csignal>
#include <memory>
#include <string>
#include <string_view>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>

#include "tacet/crypto/certificates.h"
#include "tacet/crypto/hash.h"
#include "tacet/transport/grpc/listener.h"

namespace tacet::transport::grpc {

// A TCP connection to 127.0.0.1; none when it is refused.
inline Descriptor ConnectTo(uint16_t port) {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int failed =
      ::connect(socket.number(), reinterpret_cast<sockaddr*>(&address), sizeof(address));
  return failed != 0 ? Descriptor() : std::move(socket);
}

struct TlsSettings {
  bool server = false;
  int version = TLS1_3_VERSION;  // no other
  const crypto::TlsKey* key = nullptr;
  base::Bytes certificate;  // with `key`; empty: none
};

// One end of a TLS connection over `socket`. ALPN is h2, certificates are not checked.
class TlsForTest {
 public:
  TlsForTest(Descriptor socket, const TlsSettings& settings)
      : socket_(std::move(socket)),
        context_(SSL_CTX_new(settings.server ? TLS_server_method() : TLS_client_method())) {
    std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to sockets that the other end has closed
    SSL_CTX_set_min_proto_version(context_.get(), settings.version);
    SSL_CTX_set_max_proto_version(context_.get(), settings.version);
    SSL_CTX_set_alpn_protos(context_.get(), kH2, sizeof(kH2));
    SSL_CTX_set_alpn_select_cb(context_.get(), SelectH2, nullptr);
    if (settings.key != nullptr) Identify(*settings.key, settings.certificate);
    ssl_.reset(SSL_new(context_.get()));
    SSL_set_fd(ssl_.get(), socket_.number());
    ERR_clear_error();
    const int done = settings.server ? SSL_accept(ssl_.get()) : SSL_connect(ssl_.get());
    connected_ = done == 1;
    if (!connected_) NoteError();
  }

  bool connected() const { return connected_; }
  const std::string& error() const { return error_; }
  std::string version() const { return SSL_get_version(ssl_.get()); }
  crypto::Digest PeerFingerprint() const {
    crypto::Digest digest{};
    X509_digest(SSL_get0_peer_certificate(ssl_.get()), EVP_sha256(), digest.data(), nullptr);
    return digest;
  }

  void Write(std::string_view bytes) {
    SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()));
  }
  // Whether the other end said anything at all: with TLS 1.3 a client learns only by reading
  // whether its certificate was accepted.
  bool Reads() {
    char byte = 0;
    const bool read = connected_ && SSL_read(ssl_.get(), &byte, 1) == 1;
    if (!read) NoteError();
    return read;
  }

 private:
  static constexpr unsigned char kH2[] = {2, 'h', '2'};
  static int SelectH2(SSL*, const unsigned char** out, unsigned char* size, const unsigned char*,
                      unsigned, void*) {
    *out = kH2 + 1;
    *size = 2;
    return SSL_TLSEXT_ERR_OK;
  }

  struct Frees {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  };

  void Identify(const crypto::TlsKey& key, const base::Bytes& certificate) {
    SSL_CTX_use_certificate_ASN1(context_.get(), static_cast<int>(certificate.size()),
                                 certificate.data());
    const uint8_t* der = key.der().Expose().data();
    EVP_PKEY* const parsed = d2i_AutoPrivateKey(nullptr, &der, static_cast<long>(key.der().size()));
    SSL_CTX_use_PrivateKey(context_.get(), parsed);
    EVP_PKEY_free(parsed);
  }
  void NoteError() {
    const unsigned long code = ERR_get_error();
    error_ = code == 0 ? "closed" : ERR_reason_error_string(code);
  }

  Descriptor socket_;
  std::unique_ptr<SSL_CTX, Frees> context_;
  std::unique_ptr<SSL, Frees> ssl_;
  bool connected_ = false;
  std::string error_;
};

}  // namespace tacet::transport::grpc

#endif  // TACET_TRANSPORT_GRPC_TLS_FOR_TEST_H_
