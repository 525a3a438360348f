#include "tacet/transport/https/curl_line.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>
#include <optional>
#include <string_view>
#include <utility>

#include "fmt/core.h"
#include <curl/curl.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <unistd.h>

#include "tacet/base/status.h"
#include "tacet/transport/http/tls_context.h"
#include "tacet/transport/https/answer_head.h"
#include "tacet/transport/https/call_clock.h"
#include "tacet/transport/https/call_format.h"

namespace tacet::transport::https {
namespace {

// Longest body of an answer; a part of an object is 2 MiB.
constexpr size_t kMaxAnswerBytes = size_t{8} << 20;
constexpr long kMaxConnectSeconds = 30;
constexpr long kKeepaliveSeconds = 30;
// Between looks whether to stop, if the call that wakes up is lost, and whether bytes moved.
constexpr std::chrono::milliseconds kLook(1000);

using Easy = std::unique_ptr<CURL, http::FreedBy<curl_easy_cleanup>>;
using Multi = std::unique_ptr<CURLM, http::FreedBy<curl_multi_cleanup>>;
using Headers = std::unique_ptr<curl_slist, http::FreedBy<curl_slist_free_all>>;

bool CurlIsReady() {
  static const bool ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  return ready;
}

// OpenSSL writes to sockets that the other end has closed. The signal of that is nobody's.
class WithoutPipeSignal {
 public:
  WithoutPipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    was_pending_ = sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~WithoutPipeSignal() {
    const timespec now{};
    while (!was_pending_ && sigtimedwait(&pipe_, nullptr, &now) == SIGPIPE) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutPipeSignal(const WithoutPipeSignal&) = delete;
  WithoutPipeSignal& operator=(const WithoutPipeSignal&) = delete;

 private:
  sigset_t pipe_{}, before_{};
  bool was_pending_ = false;
};

// "error:0A00010B:…" of OpenSSL in libcurl's text: its reason.
int TlsReasonIn(std::string_view text) {
  constexpr std::string_view kMark = "error:";
  const size_t at = text.find(kMark);
  if (at == std::string_view::npos) return 0;
  text.remove_prefix(at + kMark.size());
  unsigned long code = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), code, 16);
  const bool of_tls =
      error == std::errc() && end != text.data() && ERR_GET_LIB(code) == ERR_LIB_SSL;
  return of_tls ? ERR_GET_REASON(code) : 0;
}

// Why a name has no address, now that there is time to ask.
int ResolverErrorOf(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (error == 0) freeaddrinfo(found);
  return error;
}

// "HOST" of "http://HOST:PORT".
std::string HostOf(std::string_view proxy) {
  if (const size_t scheme = proxy.find("://"); scheme != std::string_view::npos) {
    proxy.remove_prefix(scheme + 3);
  }
  return std::string(proxy.substr(0, proxy.rfind(':')));
}

}  // namespace

class CurlLine::Impl {
 public:
  explicit Impl(std::shared_ptr<const LineSettings> settings)
      : settings_(std::move(settings)),
        easy_(CurlIsReady() ? curl_easy_init() : nullptr),
        multi_(CurlIsReady() ? curl_multi_init() : nullptr) {
    ok_ = easy_ != nullptr && multi_ != nullptr && SetUp();
  }

  bool ok() const { return ok_; }

  LineOutcome Call(std::span<const uint8_t> head, std::span<const uint8_t> content,
                   std::chrono::milliseconds most, std::chrono::milliseconds most_silence) {
    const WithoutPipeSignal guard;
    pieces_ = {head, content};
    sent_ = 0;
    head_ = {};
    outcome_ = {};
    error_.fill(0);
    Set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(head.size() + content.size()));
    clock_.Begin(most, most_silence, head.size() + content.size());
    if (curl_multi_add_handle(multi_.get(), easy_.get()) != CURLM_OK) {
      outcome_.failure = {.curl = CURLE_FAILED_INIT, .text = "libcurl does not work"};
      return std::move(outcome_);
    }
    const std::optional<CURLcode> ended = Perform();
    if (ended.has_value()) NoteEnd(*ended);
    outcome_.stopped = !ended.has_value();
    curl_multi_remove_handle(multi_.get(), easy_.get());
    pieces_ = {};
    return std::move(outcome_);
  }

  void Stop() {
    stopped_ = true;
    curl_multi_wakeup(multi_.get());
  }

 private:
  template <typename Value>
  bool Set(CURLoption option, Value value) {
    return curl_easy_setopt(easy_.get(), option, value) == CURLE_OK;
  }

  bool SetUp() {
    headers_.reset(curl_slist_append(nullptr, ("Content-Type: " + std::string(kCallType)).c_str()));
    if (headers_ == nullptr) return false;
    curl_slist_append(headers_.get(), "Expect:");  // a part is not worth another round trip
    curl_slist_append(headers_.get(), "Accept:");
    return SetUpHttp() && SetUpTls() && SetUpProxy();
  }

  bool SetUpHttp() {
    return Set(CURLOPT_URL, settings_->url.c_str()) && Set(CURLOPT_PROTOCOLS_STR, "https") &&
           Set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1)) &&
           Set(CURLOPT_POST, 1L) && Set(CURLOPT_HTTPHEADER, headers_.get()) &&
           Set(CURLOPT_NOSIGNAL, 1L) && Set(CURLOPT_NOPROGRESS, 1L) &&
           Set(CURLOPT_CONNECTTIMEOUT, kMaxConnectSeconds) &&
           Set(CURLOPT_SOCKOPTFUNCTION, &Impl::NoteSocket) && Set(CURLOPT_SOCKOPTDATA, this) &&
           Set(CURLOPT_CLOSESOCKETFUNCTION, &Impl::CloseSocket) &&
           Set(CURLOPT_CLOSESOCKETDATA, this) && Set(CURLOPT_MAXCONNECTS, 1L) &&
           Set(CURLOPT_TCP_KEEPALIVE, 1L) && Set(CURLOPT_TCP_KEEPIDLE, kKeepaliveSeconds) &&
           Set(CURLOPT_TCP_KEEPINTVL, kKeepaliveSeconds) &&
           Set(CURLOPT_ERRORBUFFER, error_.data()) && Set(CURLOPT_READFUNCTION, &Impl::Send) &&
           Set(CURLOPT_READDATA, this) && Set(CURLOPT_SEEKFUNCTION, &Impl::Seek) &&
           Set(CURLOPT_SEEKDATA, this) && Set(CURLOPT_WRITEFUNCTION, &Impl::Take) &&
           Set(CURLOPT_WRITEDATA, this) && Set(CURLOPT_HEADERFUNCTION, &Impl::TakeHeader) &&
           Set(CURLOPT_HEADERDATA, this) && Set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  }

  // The authority and this end's certificate go into OpenSSL's context. libcurl must not add those
  // of the system.
  bool SetUpTls() {
    // libcurl's word for the newest version to use is its word for the oldest, shifted by 16.
    constexpr long kTls13 = CURL_SSLVERSION_TLSv1_3;
    return Set(CURLOPT_SSLVERSION, kTls13 | kTls13 << 16) &&
           Set(CURLOPT_CAINFO, static_cast<char*>(nullptr)) &&
           Set(CURLOPT_CAPATH, static_cast<char*>(nullptr)) && Set(CURLOPT_SSL_VERIFYPEER, 1L) &&
           Set(CURLOPT_SSL_VERIFYHOST, 2L) &&
           (settings_->server_key.empty() ||
            Set(CURLOPT_PINNEDPUBLICKEY, settings_->server_key.c_str())) &&
           Set(CURLOPT_SSL_SESSIONID_CACHE, 0L) &&
           Set(CURLOPT_SSL_CTX_FUNCTION, &Impl::PrepareContext) && Set(CURLOPT_SSL_CTX_DATA, this);
  }

  bool SetUpProxy() {
    if (settings_->proxy.empty()) return true;
    // The proxy that was named is used whatever the environment says.
    bool done = Set(CURLOPT_PROXY, settings_->proxy.c_str()) && Set(CURLOPT_NOPROXY, "") &&
                Set(CURLOPT_PROXYTYPE, static_cast<long>(CURLPROXY_HTTP));
    if (!settings_->proxy_user.empty()) {
      done = done && Set(CURLOPT_PROXYUSERNAME, settings_->proxy_user.c_str()) &&
             Set(CURLOPT_PROXYPASSWORD, settings_->proxy_password.c_str());
    }
    // The proxy says which of them; only then it is told.
    return done && Set(CURLOPT_PROXYAUTH, static_cast<long>(CURLAUTH_ANY));
  }

  // Nothing when it was stopped.
  std::optional<CURLcode> Perform() {
    int running = 1;
    while (!stopped_) {
      if (curl_multi_perform(multi_.get(), &running) != CURLM_OK) return CURLE_FAILED_INIT;
      if (running == 0) {
        int left = 0;
        const CURLMsg* const message = curl_multi_info_read(multi_.get(), &left);
        return message == nullptr ? CURLE_FAILED_INIT : message->data.result;
      }
      if (const CallClock::Verdict verdict = clock_.Look(); verdict != CallClock::Verdict::kGoOn) {
        outcome_.silent = verdict == CallClock::Verdict::kSilent;
        outcome_.failure.text = outcome_.silent ? "no byte came or went over the connection"
                                                : "the answer was on its way for too long";
        return CURLE_OPERATION_TIMEDOUT;
      }
      const auto wait = std::min(kLook, clock_.UntilNextLook());
      curl_multi_poll(multi_.get(), nullptr, 0, static_cast<int>(wait.count()), nullptr);
    }
    return std::nullopt;
  }

  void NoteEnd(CURLcode code) {
    outcome_.answered = code == CURLE_OK;
    outcome_.wire = head_.wire();
    outcome_.status = head_.status();
    curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &outcome_.http_status);
    ConnectionFailure& failure = outcome_.failure;
    failure.curl = code;
    if (outcome_.answered) return;
    if (failure.text.empty()) {
      failure.text = error_[0] == 0 ? curl_easy_strerror(code) : error_.data();
    }
    failure.tls_reason = TlsReasonIn(failure.text);
    curl_easy_getinfo(easy_.get(), CURLINFO_SSL_VERIFYRESULT, &failure.verified);
    curl_easy_getinfo(easy_.get(), CURLINFO_HTTP_CONNECTCODE, &failure.proxy_status);
    if (code == CURLE_COULDNT_RESOLVE_HOST) failure.resolver = ResolverErrorOf(settings_->host);
    if (code == CURLE_COULDNT_RESOLVE_PROXY) {
      failure.resolver =
          settings_->proxy.empty() ? EAI_AGAIN : ResolverErrorOf(HostOf(settings_->proxy));
    }
  }

  // Callbacks of libcurl and OpenSSL.

  static size_t Send(char* out, size_t size, size_t count, void* self) {
    Impl& line = *static_cast<Impl*>(self);
    line.clock_.NoteBytes();
    size_t room = size * count, written = 0;
    size_t skip = line.sent_;
    for (const std::span<const uint8_t> piece : line.pieces_) {
      const auto rest = piece.subspan(std::min(skip, piece.size()));
      skip -= std::min(skip, piece.size());
      const auto now = rest.first(std::min(rest.size(), room - written));
      if (!now.empty()) std::memcpy(out + written, now.data(), now.size());
      written += now.size();
    }
    line.sent_ += written;
    return written;
  }

  // For a request that is sent again through a new connection.
  static int Seek(void* self, curl_off_t offset, int origin) {
    if (origin != SEEK_SET || offset < 0) return CURL_SEEKFUNC_FAIL;
    static_cast<Impl*>(self)->sent_ = static_cast<size_t>(offset);
    return CURL_SEEKFUNC_OK;
  }

  static size_t Take(char* bytes, size_t size, size_t count, void* self) {
    static_cast<Impl*>(self)->clock_.NoteBytes();
    LineOutcome& outcome = static_cast<Impl*>(self)->outcome_;
    const size_t all = size * count;
    if (all > kMaxAnswerBytes - outcome.body.size()) {
      outcome.failure.text = fmt::format("it sends more than {} bytes", kMaxAnswerBytes);
      return 0;  // ends the call
    }
    outcome.body.insert(outcome.body.end(), bytes, bytes + all);
    return all;
  }

  static size_t TakeHeader(char* bytes, size_t size, size_t count, void* self) {
    Impl& line = *static_cast<Impl*>(self);
    const std::string_view header(bytes, size * count);
    if (const absl::Status taken = line.head_.Take(header); !taken.ok()) {
      line.outcome_.failure.text = base::Message(taken);
      return 0;
    }
    line.clock_.NoteBytes();
    const uint64_t body = line.head_.content_length().value_or(0);
    if (body <= kMaxAnswerBytes) {
      line.outcome_.body.reserve(static_cast<size_t>(body));
      line.clock_.NoteAnswer(body);
    }
    return header.size();
  }

  static int NoteSocket(void* self, curl_socket_t socket, curlsocktype) {
    static_cast<Impl*>(self)->clock_.NoteSocket(socket);
    return CURL_SOCKOPT_OK;
  }

  static int CloseSocket(void* self, curl_socket_t socket) {
    static_cast<Impl*>(self)->clock_.ForgetSocket(socket);
    return ::close(socket);
  }

  static CURLcode PrepareContext(CURL*, void* context, void* self) {
    Impl& line = *static_cast<Impl*>(self);
    auto* const ssl = static_cast<SSL_CTX*>(context);
    const LineSettings& settings = *line.settings_;
    if (!http::SetUpContext(ssl, settings.authority, settings.certificate, settings.key)) {
      return CURLE_SSL_CERTPROBLEM;
    }
    SSL_CTX_set_keylog_callback(ssl, nullptr);  // libcurl's writes secrets to $SSLKEYLOGFILE
    SSL_CTX_set_ex_data(ssl, ContextIndex(), self);
    SSL_CTX_set_info_callback(ssl, &Impl::NoteAlert);
    return CURLE_OK;
  }

  static int ContextIndex() {
    static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
    return index;
  }

  static void NoteAlert(const SSL* ssl, int where, int value) {
    constexpr int kDescription = 0xFF;
    const bool received = (where & SSL_CB_ALERT) != 0 && (where & SSL_CB_READ) != 0;
    if (!received || (value & kDescription) == SSL_AD_CLOSE_NOTIFY) return;
    auto* const line =
        static_cast<Impl*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), ContextIndex()));
    line->outcome_.failure.alert = value & kDescription;
    line->outcome_.failure.alert_is_servers = SSL_is_init_finished(ssl) == 1;
  }

  const std::shared_ptr<const LineSettings> settings_;
  std::array<char, CURL_ERROR_SIZE> error_{};
  std::array<std::span<const uint8_t>, 2> pieces_;
  size_t sent_ = 0;
  CallClock clock_;
  AnswerHead head_;
  LineOutcome outcome_;
  std::atomic<bool> stopped_ = false;
  bool ok_ = false;
  Headers headers_;
  // The connections go with `multi_`, the first of all: their callbacks refer to the others.
  Easy easy_;
  Multi multi_;
};

CurlLine::CurlLine(std::shared_ptr<const LineSettings> settings)
    : impl_(std::make_unique<Impl>(std::move(settings))) {}
CurlLine::~CurlLine() = default;

bool CurlLine::ok() const { return impl_->ok(); }
LineOutcome CurlLine::Call(std::span<const uint8_t> head, std::span<const uint8_t> content,
                           std::chrono::milliseconds most, std::chrono::milliseconds most_silence) {
  return impl_->Call(head, content, most, most_silence);
}
void CurlLine::Stop() { impl_->Stop(); }

}  // namespace tacet::transport::https
