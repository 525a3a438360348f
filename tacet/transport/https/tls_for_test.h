// OpenSSL's own TLS for tests, without libcurl and the server's code.
#ifndef TACET_TRANSPORT_HTTPS_TLS_FOR_TEST_H_
#define TACET_TRANSPORT_HTTPS_TLS_FOR_TEST_H_

#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>

#include "tacet/crypto/certificates.h"
#include "tacet/crypto/hash.h"
#include "tacet/transport/http/descriptor.h"
#include "tacet/transport/http/raw_client_for_test.h"
#include "tacet/transport/http/tls_context.h"

namespace tacet::transport::https {

struct TlsSettings {
  bool server = false;
  int version = TLS1_3_VERSION;  // no other
  const crypto::TlsKey* key = nullptr;
  base::Bytes certificate;  // with `key`; empty: none
};

// One end of a TLS connection over `socket`. Certificates are not checked.
class TlsForTest {
 public:
  TlsForTest(http::Descriptor socket, const TlsSettings& settings)
      : socket_(std::move(socket)),
        context_(SSL_CTX_new(settings.server ? TLS_server_method() : TLS_client_method())) {
    std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to sockets that the other end has closed
    SSL_CTX_set_min_proto_version(context_.get(), settings.version);
    SSL_CTX_set_max_proto_version(context_.get(), settings.version);
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

  // False when the other end has closed.
  bool Write(std::string_view bytes) {
    return connected_ && SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size())) ==
                             static_cast<int>(bytes.size());
  }
  // The same bytes as they go through the socket, not yet sent; nothing else may be written before.
  std::string Encrypted(std::string_view bytes, size_t bytes_a_write = 1 << 20) {
    return Collected([&] {
      for (size_t at = 0; at < bytes.size(); at += bytes_a_write)
        Write(bytes.substr(at, bytes_a_write));
    });
  }
  // As many messages that change the keys as have that many bytes, not yet sent.
  std::string KeyUpdates(size_t bytes) {
    return Collected([&] {
      while (BIO_ctrl_pending(SSL_get_wbio(ssl_.get())) < bytes) {
        SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED);
        SSL_do_handshake(ssl_.get());
      }
    });
  }
  // Below TLS, from any thread: sends; throws away what comes, until the other end closes; closes.
  bool SendRaw(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t count = ::send(socket_.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(count));
    }
    return true;
  }
  void DiscardRaw() const {
    std::vector<char> bytes(1 << 16);
    while (::recv(socket_.number(), bytes.data(), bytes.size(), 0) > 0) {
    }
  }
  void CloseRaw() const { ::shutdown(socket_.number(), SHUT_RDWR); }
  // Whether the other end said anything at all: with TLS 1.3 a client learns only by reading
  // whether its certificate was accepted.
  bool Reads() {
    char byte = 0;
    const bool read = connected_ && SSL_read(ssl_.get(), &byte, 1) == 1;
    if (!read) NoteError();
    return read;
  }
  // A response whole, with its head; empty when the other end closes.
  std::string ReadResponse() {
    const std::string head = ReadUntil("\r\n\r\n");
    constexpr std::string_view kLength = "Content-Length: ";
    const size_t at = head.find(kLength);
    if (at == std::string::npos) return "";
    std::string body(std::strtoul(head.c_str() + at + kLength.size(), nullptr, 10), ' ');
    for (char& byte : body) {
      if (SSL_read(ssl_.get(), &byte, 1) != 1) return "";
    }
    return head + body;
  }
  // Everything until it ends with `end`, or the other end closes.
  std::string ReadUntil(std::string_view end) {
    std::string all;
    char byte = 0;
    while (connected_ && !all.ends_with(end) && SSL_read(ssl_.get(), &byte, 1) == 1) all += byte;
    if (!all.ends_with(end)) NoteError();
    return all;
  }

 private:
  // The bytes that OpenSSL writes because of `write`.
  template <typename Write>
  std::string Collected(const Write& write) {
    BIO* const memory = BIO_new(BIO_s_mem());
    BIO* const socket = SSL_get_wbio(ssl_.get());
    BIO_up_ref(socket);
    BIO_up_ref(memory);
    SSL_set0_wbio(ssl_.get(), memory);
    write();
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(memory, &bytes);
    std::string collected(bytes, static_cast<size_t>(size));
    SSL_set0_wbio(ssl_.get(), socket);
    BIO_free(memory);
    return collected;
  }

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

  http::Descriptor socket_;
  http::ContextPointer context_;
  http::SslPointer ssl_;
  bool connected_ = false;
  std::string error_;
};

}  // namespace tacet::transport::https

#endif  // TACET_TRANSPORT_HTTPS_TLS_FOR_TEST_H_
