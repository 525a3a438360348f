#include "tacet/transport/https/https_wire.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <string_view>
#include <utility>
#include <vector>

#include <openssl/evp.h>

#include "tacet/base/host_port.h"
#include "tacet/base/mutex.h"
#include "tacet/base/status.h"
#include "tacet/crypto/hash.h"
#include "tacet/transport/https/call_format.h"
#include "tacet/transport/https/connection_failure.h"
#include "tacet/transport/https/curl_line.h"

namespace tacet::transport::https {
namespace {

constexpr int kMostDoublings = 3;

// "%40" is "@"; a percent sign that begins nothing stays.
std::string PercentDecoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      if (const auto byte = base::FromHex(text.substr(i + 1, 2)); byte.ok()) {
        decoded += static_cast<char>((*byte)[0]);
        i += 2;
        continue;
      }
    }
    decoded += text[i];
  }
  return decoded;
}

// As libcurl takes it.
std::string PinOf(std::span<const base::Bytes> keys) {
  std::string pin;
  for (const base::Bytes& key : keys) {
    const crypto::Digest digest = crypto::Sha256(key);
    std::array<unsigned char, 4 * ((sizeof(digest) + 2) / 3) + 1> text{};
    EVP_EncodeBlock(text.data(), digest.data(), digest.size());
    pin += fmt::format("{}sha256//{}", pin.empty() ? "" : ";",
                       reinterpret_cast<const char*>(text.data()));
  }
  return pin;
}

// Into host, port, user and password. Errors do not repeat the text, which may hold a password.
absl::Status ParseProxy(std::string_view text, LineSettings& settings) {
  constexpr std::string_view kScheme = "http://";
  if (text.starts_with(kScheme)) text.remove_prefix(kScheme.size());
  if (text.ends_with('/')) text.remove_suffix(1);
  if (const size_t at = text.rfind('@'); at != std::string_view::npos) {
    const std::string_view account = text.substr(0, at);
    const size_t colon = account.find(':');
    settings.proxy_user = PercentDecoded(account.substr(0, colon));
    if (colon != std::string_view::npos) {
      settings.proxy_password = PercentDecoded(account.substr(colon + 1));
    }
    text.remove_prefix(at + 1);
  }
  const absl::StatusOr<base::HostPort> at = base::ParseHostPort(text);
  if (!at.ok()) {
    return base::InvalidArgument("the proxy is not [http://[USER:PASSWORD@]]HOST:PORT");
  }
  settings.proxy = at->text();
  return absl::OkStatus();
}

}  // namespace

class HttpsWire::Impl {
 public:
  Impl(const HttpsWireSpec& spec, LineSettings settings)
      : names_{.server = spec.server, .host = settings.host, .proxy = settings.proxy},
        most_silence_(spec.most_silence),
        settings_(std::make_shared<const LineSettings>(std::move(settings))) {}

  absl::StatusOr<base::Bytes> Call(std::span<const uint8_t> head, std::span<const uint8_t> content,
                                   uint32_t most_seconds) {
    TACET_ASSIGN_OR_RETURN(CurlLine* const line, TakeLine());
    const int doublings = std::min<int>(silences_, kMostDoublings);
    LineOutcome outcome = line->Call(head, content, std::chrono::seconds(most_seconds),
                                     most_silence_ * (1 << doublings));
    ReturnLine(line);
    if (outcome.answered) silences_ = 0;
    if (outcome.silent) {
      ++silences_;
      DropIdleLines();
    }
    if (outcome.stopped) return absl::CancelledError("stopped");
    return AnswerIn(std::move(outcome));
  }

  void Stop() {
    const base::MutexLock lock(mutex_);
    stopped_ = true;
    for (const std::unique_ptr<CurlLine>& line : lines_) line->Stop();
  }

 private:
  absl::StatusOr<base::Bytes> AnswerIn(LineOutcome outcome) {
    if (!outcome.answered) return StatusOf(outcome.failure, names_, reached_);
    if (outcome.wire.empty()) return StatusOfStranger(outcome.http_status, names_, reached_);
    if (outcome.wire != std::to_string(kWireVersion)) return StatusOfVersion(outcome.wire, names_);
    reached_ = true;
    if (outcome.http_status == HttpStatusOf(absl::StatusCode::kOk)) return std::move(outcome.body);
    return StatusFrom(outcome.status, base::AsText(outcome.body));
  }

  // One that is not in use.
  absl::StatusOr<CurlLine*> TakeLine() {
    const base::MutexLock lock(mutex_);
    if (stopped_) return absl::CancelledError("stopped");
    if (idle_.empty()) {
      auto line = std::make_unique<CurlLine>(settings_);
      if (!line->ok()) return base::Unavailable("libcurl cannot be set up");
      idle_.push_back(line.get());
      lines_.push_back(std::move(line));
    }
    CurlLine* const taken = idle_.back();
    idle_.pop_back();
    return taken;
  }
  void ReturnLine(CurlLine* line) {
    const base::MutexLock lock(mutex_);
    idle_.push_back(line);
  }
  void DropIdleLines() {
    const base::MutexLock lock(mutex_);
    std::erase_if(lines_, [this](const std::unique_ptr<CurlLine>& line) {
      mutex_.AssertHeld();
      return std::ranges::find(idle_, line.get()) != idle_.end();
    });
    idle_.clear();
  }

  const ConnectionNames names_;
  const std::chrono::milliseconds most_silence_;
  const std::shared_ptr<const LineSettings> settings_;
  std::atomic<bool> reached_ = false;
  std::atomic<int> silences_ = 0;  // since a call was answered
  base::Mutex mutex_;
  std::vector<std::unique_ptr<CurlLine>> lines_
      ABSL_GUARDED_BY(mutex_);  // as many as calls at once
  std::vector<CurlLine*> idle_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

absl::StatusOr<std::unique_ptr<HttpsWire>> HttpsWire::Create(const HttpsWireSpec& spec,
                                                             const crypto::TlsKey& key) {
  TACET_ASSIGN_OR_RETURN(const base::HostPort server, base::ParseHostPort(spec.server));
  if (spec.most_silence <= std::chrono::milliseconds(0)) {
    return base::InvalidArgument("most_silence is {} ms, and at least 1 is needed",
                                 spec.most_silence.count());
  }
  TACET_RETURN_IF_ERROR(crypto::CheckIssuedBy(spec.certificate, spec.authority));
  TACET_ASSIGN_OR_RETURN(const crypto::CertificateFacts facts,
                         crypto::ReadCertificate(spec.certificate));
  if (facts.public_key != key.public_key()) {
    return base::InvalidArgument("the certificate of {} is for another key", facts.common_name);
  }
  TACET_ASSIGN_OR_RETURN(crypto::TlsKey own_key, crypto::TlsKey::FromDer(key.der()));
  LineSettings settings{.host = server.host,
                        .url = fmt::format("https://{}{}", server.text(), CallPath()),
                        .authority = spec.authority,
                        .server_key = PinOf(spec.server_keys),
                        .certificate = spec.certificate,
                        .key = std::move(own_key)};
  if (!spec.proxy.empty()) TACET_RETURN_IF_ERROR(ParseProxy(spec.proxy, settings));
  return std::unique_ptr<HttpsWire>(
      new HttpsWire(std::make_unique<Impl>(spec, std::move(settings))));
}

HttpsWire::HttpsWire(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpsWire::~HttpsWire() = default;

absl::StatusOr<base::Bytes> HttpsWire::Call(std::span<const uint8_t> request,
                                            uint32_t most_seconds) {
  return impl_->Call(request, {}, most_seconds);
}
absl::StatusOr<base::Bytes> HttpsWire::CallWithContent(std::span<const uint8_t> head,
                                                       std::span<const uint8_t> content,
                                                       uint32_t most_seconds) {
  return impl_->Call(head, content, most_seconds);
}
void HttpsWire::Stop() { impl_->Stop(); }

}  // namespace tacet::transport::https
