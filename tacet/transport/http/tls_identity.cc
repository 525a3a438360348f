#include "tacet/transport/http/tls_identity.h"

#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <sys/socket.h>

#include "tacet/base/status.h"
#include "tacet/transport/http/hello_watch.h"
#include "tacet/transport/http/tls_context.h"

namespace tacet::transport::http {
namespace {

// A certificate of ours has less than 1 KB, and only the authority stands above it.
constexpr long kMaxCertificateListBytes = 16 << 10;
constexpr int kMaxDepth = 1;

// That a client may send over one connection. TLS needs one for hundreds of gigabytes.
constexpr int kMaxKeyUpdates = 64;

constexpr unsigned char kAlpn[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

// For clients that say which protocols they speak.
int SelectProtocol(SSL*, const unsigned char** out, unsigned char* size,
                   const unsigned char* offered, unsigned offered_size, void*) {
  unsigned char* selected = nullptr;
  const int found =
      SSL_select_next_proto(&selected, size, kAlpn, sizeof(kAlpn), offered, offered_size);
  *out = selected;
  return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

// OpenSSL has checked the signature before the time.
bool IsOutOfTime(int error) {
  return error == X509_V_ERR_CERT_HAS_EXPIRED || error == X509_V_ERR_CERT_NOT_YET_VALID;
}

// Names in a client's certificate, which is read once.
struct ClientNames {
  std::string admitted;
  std::string refused;  // of the authority, too
};

// OpenSSL has checked signature, time and purpose; at depth 0 it is the client's own. Its name is
// left in the stream's data.
int CheckCertificate(int good, X509_STORE_CTX* store) {
  if (X509_STORE_CTX_get_error_depth(store) != 0) return good;
  if (good != 1 && !IsOutOfTime(X509_STORE_CTX_get_error(store))) return good;
  const auto* const ssl = static_cast<const SSL*>(
      X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
  const auto* const rules =
      static_cast<const TlsIdentity::Rules*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
  const absl::StatusOr<crypto::CertificateFacts> facts =
      crypto::ReadCertificate(DerOf(X509_STORE_CTX_get_current_cert(store)));
  if (!facts.ok()) {
    X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_REJECTED);
    return 0;
  }
  auto& names = *static_cast<ClientNames*>(SSL_get_app_data(ssl));
  if (good == 1 && rules->admits(*facts)) {
    names.admitted = facts->common_name;
    return 1;
  }
  if (good == 1) X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_REVOKED);
  names.refused = facts->common_name;
  return 0;
}

HandshakeFault FaultOf(const SSL* ssl) {
  switch (SSL_get_verify_result(ssl)) {
    case X509_V_OK:
      break;
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return HandshakeFault::kCertificateEnded;
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return HandshakeFault::kCertificateNotYetValid;
    case X509_V_ERR_CERT_REVOKED:
      return HandshakeFault::kNotAMember;
    default:
      return HandshakeFault::kOtherCertificate;
  }
  const int reason = ERR_GET_REASON(ERR_peek_last_error());
  if (reason == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE) return HandshakeFault::kNoCertificate;
  return reason > SSL_AD_REASON_OFFSET ? HandshakeFault::kAlert : HandshakeFault::kBroken;
}

// A socket for OpenSSL. Its own would raise a signal when the other end is gone, and would not tell
// whether the socket has been asked.
struct Socket {
  int number = -1;
  bool blocked = false;                            // the last call to the system would have waited
  std::optional<HelloWatch> hello = HelloWatch();  // until the handshake is done
};

int Transfer(BIO* bio, ssize_t (*call)(int, char*, size_t), char* bytes, size_t size,
             size_t* transferred, int retry) {
  auto* const socket = static_cast<Socket*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  const ssize_t count = call(socket->number, bytes, size);
  socket->blocked = count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
  if (socket->blocked) BIO_set_flags(bio, retry | BIO_FLAGS_SHOULD_RETRY);
  *transferred = count > 0 ? static_cast<size_t>(count) : 0;
  return count > 0 ? 1 : 0;
}

int Receive(BIO* bio, char* out, size_t size, size_t* received) {
  const auto call = [](int socket, char* bytes, size_t count) {
    return ::recv(socket, bytes, count, MSG_DONTWAIT);
  };
  const int done = Transfer(bio, call, out, size, received, BIO_FLAGS_READ);
  auto& hello = static_cast<Socket*>(BIO_get_data(bio))->hello;
  const std::span bytes(reinterpret_cast<const uint8_t*>(out), *received);
  return !hello.has_value() || hello->Admits(bytes) ? done : 0;
}

int Send(BIO* bio, const char* bytes, size_t size, size_t* sent) {
  const auto call = [](int socket, char* data, size_t count) {
    return ::send(socket, data, count, MSG_DONTWAIT | MSG_NOSIGNAL);
  };
  return Transfer(bio, call, const_cast<char*>(bytes), size, sent, BIO_FLAGS_WRITE);
}

long Control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

const BIO_METHOD* SocketMethod() {
  static const BIO_METHOD* const method = [] {
    BIO_METHOD* const made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    const bool done = made != nullptr && BIO_meth_set_read_ex(made, Receive) == 1 &&
                      BIO_meth_set_write_ex(made, Send) == 1 &&
                      BIO_meth_set_ctrl(made, Control) == 1;
    return done ? made : nullptr;
  }();
  return method;
}

class TlsStream final : public ByteStream {
 public:
  TlsStream(std::shared_ptr<ssl_ctx_st> context, int socket)
      : context_(std::move(context)), socket_{.number = socket}, ssl_(SSL_new(context_.get())) {
    const BIO_METHOD* const method = SocketMethod();
    BIO* const bio = method == nullptr || ssl_ == nullptr ? nullptr : BIO_new(method);
    if (bio == nullptr) {
      ssl_.reset();
      return;
    }
    BIO_set_data(bio, &socket_);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl_.get(), bio, bio);
    SSL_set_accept_state(ssl_.get());
    SSL_set_app_data(ssl_.get(), &names_);
    SSL_set_msg_callback(ssl_.get(), &TlsStream::CountKeyUpdates);
    SSL_set_msg_callback_arg(ssl_.get(), this);
  }
  ~TlsStream() override { ERR_clear_error(); }

  IoResult Handshake() override {
    if (ssl_ == nullptr) return {.state = IoState::kEnded};
    Prepare();
    const IoResult result = ResultOf(SSL_do_handshake(ssl_.get()), 0);
    if (result.state == IoState::kDone) socket_.hello.reset();
    if (result.state == IoState::kEnded) TellOfRefusal();
    return result;
  }

  std::optional<std::string> certificate_name() const override {
    if (SSL_get0_peer_certificate(ssl_.get()) == nullptr) return std::nullopt;
    return names_.admitted;
  }

  IoResult Read(std::span<uint8_t> out) override {
    Prepare();
    size_t bytes = 0;
    const int done = SSL_read_ex(ssl_.get(), out.data(), out.size(), &bytes);
    return ResultOf(done, bytes);
  }

  IoResult Write(std::span<const uint8_t> bytes) override {
    Prepare();
    size_t written = 0;
    const int done = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &written);
    return ResultOf(done, written);
  }

  void Close() override {
    if (ssl_ == nullptr || failed_ || SSL_in_init(ssl_.get()) != 0) return;
    Prepare();
    SSL_shutdown(ssl_.get());
  }

 private:
  void Prepare() {
    ERR_clear_error();
    socket_.blocked = false;
  }

  void TellOfRefusal() {
    const auto* const rules =
        static_cast<const TlsIdentity::Rules*>(SSL_CTX_get_app_data(context_.get()));
    if (rules->on_refused)
      rules->on_refused({.fault = FaultOf(ssl_.get()), .name = names_.refused});
  }

  static void CountKeyUpdates(int sent, int, int type, const void* message, size_t size, SSL*,
                              void* self) {
    const bool received = sent == 0 && type == SSL3_RT_HANDSHAKE && size > 0;
    if (received && *static_cast<const uint8_t*>(message) == SSL3_MT_KEY_UPDATE) {
      ++static_cast<TlsStream*>(self)->key_updates_;
    }
  }

  IoResult ResultOf(int done, size_t bytes) {
    if (key_updates_ > kMaxKeyUpdates) {
      failed_ = true;
      return {.state = IoState::kEnded};
    }
    if (done == 1) return {.state = IoState::kDone, .bytes = bytes};
    switch (SSL_get_error(ssl_.get(), done)) {
      case SSL_ERROR_WANT_READ:
        // OpenSSL also wants to be called again after a message that was not data. More may be in
        // its buffer then, of which the socket knows nothing.
        return {.state = socket_.blocked ? IoState::kWantRead : IoState::kAgain};
      case SSL_ERROR_WANT_WRITE:
        return {.state = IoState::kWantWrite};
      case SSL_ERROR_ZERO_RETURN:
        return {.state = IoState::kEnded};
      default:
        failed_ = true;
        return {.state = IoState::kEnded};
    }
  }

  std::shared_ptr<ssl_ctx_st> context_;  // with the rules that its callbacks look at
  Socket socket_;
  SslPointer ssl_;
  ClientNames names_;
  int key_updates_ = 0;  // received
  bool failed_ = false;
};

}  // namespace

TlsIdentity::TlsIdentity(base::Bytes authority, Admits admits, OnRefusedHandshake on_refused)
    : authority_(std::move(authority)), rules_{std::move(admits), std::move(on_refused)} {}
TlsIdentity::~TlsIdentity() = default;

absl::StatusOr<std::shared_ptr<ssl_ctx_st>> TlsIdentity::NewContext(
    const crypto::TlsKey& key, std::span<const uint8_t> certificate) const {
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), FreedBy<SSL_CTX_free>());
  if (context == nullptr || !SetUpContext(context.get(), authority_, certificate, key)) {
    return base::Unavailable("OpenSSL cannot serve with this key and these certificates");
  }
  SSL_CTX* const made = context.get();
  SSL_CTX_set_options(made, SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(made, 0);
  SSL_CTX_set_session_cache_mode(made, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_max_early_data(made, 0);
  SSL_CTX_set_max_cert_list(made, kMaxCertificateListBytes);
  SSL_CTX_set_read_ahead(made, 1);  // one call to the system for each record, not two
  SSL_CTX_set_mode(made, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                             SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // A read ends after the messages in its buffer that are not data, so that nobody keeps a thread
  // with such.
  SSL_CTX_clear_mode(made, SSL_MODE_AUTO_RETRY);
  SSL_CTX_set_alpn_select_cb(made, SelectProtocol, nullptr);
  SSL_CTX_set_app_data(made, const_cast<Rules*>(&rules_));
  if (rules_.admits) {
    SSL_CTX_set_verify(made, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, CheckCertificate);
    SSL_CTX_set_verify_depth(made, kMaxDepth);
  }
  return context;
}

absl::Status TlsIdentity::Set(const crypto::TlsKey& key, std::span<const uint8_t> certificate) {
  TACET_ASSIGN_OR_RETURN(const crypto::CertificateFacts facts,
                         crypto::ReadCertificate(certificate));
  if (facts.role != crypto::CertificateRole::kServer) {
    return base::InvalidArgument("the certificate of {} is not for a server", facts.common_name);
  }
  if (facts.public_key != key.public_key()) {
    return base::InvalidArgument("the certificate of {} is for another key", facts.common_name);
  }
  TACET_RETURN_IF_ERROR(crypto::CheckIssuedBy(certificate, authority_));
  TACET_ASSIGN_OR_RETURN(std::shared_ptr<ssl_ctx_st> context, NewContext(key, certificate));
  const base::MutexLock lock(mutex_);
  context_ = std::move(context);
  return absl::OkStatus();
}

std::unique_ptr<ByteStream> TlsIdentity::NewStream(int socket) const {
  const base::MutexLock lock(mutex_);
  return std::make_unique<TlsStream>(context_, socket);
}

}  // namespace tacet::transport::http
