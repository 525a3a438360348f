#include "tacet/transport/grpc/grpc_wire.h"

#include <chrono>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include "proto/federation.grpc.pb.h"
#include "tacet/base/host_port.h"
#include "tacet/base/mutex.h"
#include "tacet/base/status.h"
#include "tacet/transport/grpc/grpc_status.h"
#include "tacet/transport/grpc/process_settings.h"

namespace tacet::transport::grpc {
namespace {

// What a server may send at once; a part of an object is 1 MiB.
constexpr int kMaxAnswerBytes = 8 << 20;
constexpr int kKeepaliveMilliseconds = 30'000;
constexpr int kKeepaliveTimeoutMilliseconds = 20'000;
constexpr int kFirstReconnectMilliseconds = 1'000;
constexpr int kMaxReconnectMilliseconds = 30'000;

// Channel arguments that gRPC derives from the environment itself: whom a proxy is asked to connect
// to, and what else is said to it.
constexpr char kConnectServer[] = "grpc.http_connect_server";
constexpr char kConnectHeaders[] = "grpc.http_connect_headers";

struct Proxy {
  base::HostPort at;
  std::string authorization;  // header; empty: none
};

absl::StatusOr<Proxy> ParseProxy(std::string_view text) {
  constexpr std::string_view kScheme = "http://";
  if (text.starts_with(kScheme)) text.remove_prefix(kScheme.size());
  if (text.ends_with('/')) text.remove_suffix(1);
  Proxy proxy;
  if (const size_t at = text.rfind('@'); at != std::string_view::npos) {
    const std::string account(text.substr(0, at));
    proxy.authorization = "Proxy-Authorization:Basic " + absl::Base64Escape(account);
    text.remove_prefix(at + 1);
  }
  absl::StatusOr<base::HostPort> at = base::ParseHostPort(text);
  // The text may hold a password.
  if (!at.ok()) {
    return base::InvalidArgument("the proxy is not [http://[USER:PASSWORD@]]HOST:PORT");
  }
  proxy.at = *std::move(at);
  return proxy;
}

std::string Target(const base::HostPort& at) { return "dns:///" + at.text(); }

::grpc::ChannelArguments Arguments(const GrpcWireSpec& spec) {
  ::grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxAnswerBytes);
  // A server could send a small answer that inflates to a large one.
  arguments.SetInt(GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET, 1 << GRPC_COMPRESS_NONE);
  arguments.SetInt(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMilliseconds);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMilliseconds);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // no limit
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstReconnectMilliseconds);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kMaxReconnectMilliseconds);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);                     // the caller's
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);  // DNS has no say in it
  arguments.SetInt(GRPC_ARG_ENABLE_CHANNELZ, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, spec.own_connection ? 1 : 0);
  return arguments;
}

}  // namespace

class GrpcWire::Impl {
 public:
  Impl(std::string server, std::shared_ptr<::grpc::Channel> channel)
      : server_(std::move(server)), stub_(v1::Federation::NewStub(std::move(channel))) {}

  absl::StatusOr<base::Bytes> Call(std::span<const uint8_t> request, uint32_t most_seconds) {
    ::grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(most_seconds));
    v1::Message message, answer;
    message.set_content(request.data(), request.size());
    if (!Begin(&context)) return Stopped();
    const ::grpc::Status status = stub_->Call(&context, message, &answer);
    const bool stopped = End(&context);
    if (status.ok()) return base::Bytes(answer.content().begin(), answer.content().end());
    if (stopped) return Stopped();
    return Explain(status, context);
  }

  void Stop() {
    const base::MutexLock lock(mutex_);
    stopped_ = true;
    for (::grpc::ClientContext* const call : calls_) call->TryCancel();
  }

 private:
  static absl::Status Stopped() { return absl::CancelledError("stopped"); }

  bool Begin(::grpc::ClientContext* context) {
    const base::MutexLock lock(mutex_);
    if (!stopped_) calls_.insert(context);
    return !stopped_;
  }
  bool End(::grpc::ClientContext* context) {
    const base::MutexLock lock(mutex_);
    calls_.erase(context);
    return stopped_;
  }

  absl::Status Explain(const ::grpc::Status& status, const ::grpc::ClientContext& context) const {
    if (context.GetServerTrailingMetadata().contains(kAnsweredKey)) return FromGrpc(status);
    if (status.error_code() == ::grpc::StatusCode::DEADLINE_EXCEEDED) {
      return absl::DeadlineExceededError(
          fmt::format("the server at {} did not answer in time", server_));
    }
    return base::Unavailable("no answer from the server at {}: {}", server_,
                             status.error_message());
  }

  const std::string server_;
  std::unique_ptr<v1::Federation::Stub> stub_;
  base::Mutex mutex_;
  std::set<::grpc::ClientContext*> calls_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

absl::StatusOr<std::unique_ptr<GrpcWire>> GrpcWire::Create(const GrpcWireSpec& spec,
                                                           const crypto::TlsKey& key) {
  if (!ProcessSettingsMade()) return base::Unavailable("the environment cannot be written");
  TACET_ASSIGN_OR_RETURN(const base::HostPort server, base::ParseHostPort(spec.server));
  TACET_RETURN_IF_ERROR(crypto::CheckIssuedBy(spec.certificate, spec.authority));
  TACET_ASSIGN_OR_RETURN(const crypto::CertificateFacts facts,
                         crypto::ReadCertificate(spec.certificate));
  if (facts.public_key != key.public_key()) {
    return base::InvalidArgument("the certificate of {} is for another key", facts.common_name);
  }
  ::grpc::ChannelArguments arguments = Arguments(spec);
  std::string target = Target(server);
  if (!spec.proxy.empty()) {
    TACET_ASSIGN_OR_RETURN(const Proxy proxy, ParseProxy(spec.proxy));
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // that is: the environment's
    arguments.SetString(kConnectServer, server.text());
    arguments.SetString(kConnectHeaders, proxy.authorization);
    arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, server.text());
    target = Target(proxy.at);
  }
  const crypto::SecretBytes key_pem = key.Pem();
  const auto credentials =
      ::grpc::SslCredentials({.pem_root_certs = crypto::CertificatePem(spec.authority),
                              .pem_private_key = std::string(base::AsText(key_pem.Expose())),
                              .pem_cert_chain = crypto::CertificatePem(spec.certificate)});
  return std::unique_ptr<GrpcWire>(new GrpcWire(std::make_unique<Impl>(
      spec.server, ::grpc::CreateCustomChannel(target, credentials, arguments))));
}

GrpcWire::GrpcWire(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GrpcWire::~GrpcWire() = default;

absl::StatusOr<base::Bytes> GrpcWire::Call(std::span<const uint8_t> request,
                                           uint32_t most_seconds) {
  return impl_->Call(request, most_seconds);
}
void GrpcWire::Stop() { impl_->Stop(); }

}  // namespace tacet::transport::grpc
