#include "tacet/transport/grpc/grpc_server.h"

#include <algorithm>
#include <climits>
#include <mutex>
#include <optional>
#include <utility>

#include <grpc/grpc.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/auth_context.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include "tacet/base/host_port.h"
#include "tacet/base/status.h"
#include "tacet/transport/grpc/call_desk.h"
#include "tacet/transport/grpc/grpc_status.h"
#include "tacet/transport/grpc/listener.h"
#include "tacet/transport/grpc/message_buffer.h"
#include "tacet/transport/grpc/server_identity.h"

namespace tacet::transport::grpc {
namespace {

constexpr char kMethod[] = "/tacet.v1.Federation/Call";
// What protocol buffers add to a request.
constexpr size_t kMessageSlack = 64;
constexpr int kKeepaliveMilliseconds = 60'000;
constexpr int kKeepaliveTimeoutMilliseconds = 20'000;
// Clients of ours ping every 30 seconds.
constexpr int kMinPingMilliseconds = 10'000;
constexpr int kHandshakeMilliseconds = 20'000;
constexpr int kIdleMilliseconds = 600'000;
// What may be sent to a stream whose call is not read yet.
constexpr int kLookaheadBytes = 16 << 10;

// A call that gRPC made. Taken as a stream, so that gRPC does not read before it is asked to.
class GrpcCall final : public ::grpc::ServerGenericBidiReactor, public DeskCall {
 public:
  GrpcCall(CallDesk& desk, ::grpc::GenericCallbackServerContext& context,
           std::optional<std::string> certificate_name)
      : DeskCall(std::move(certificate_name)), desk_(desk), context_(context) {}

  void OnReadDone(bool ok) override { desk_.HasRead(this, ok); }
  void OnCancel() override { desk_.Cancelled(this); }
  void OnDone() override {
    desk_.Done(this);
    delete this;
  }

 private:
  void Read() override { StartRead(&buffer_); }
  absl::StatusOr<std::string> TakeRequest() override { return FromBuffer(buffer_); }
  void Answer(absl::StatusOr<base::Bytes> answer) override {
    context_.AddTrailingMetadata(kAnsweredKey, kAnsweredValue);
    if (!answer.ok()) return Finish(ToGrpc(answer.status()));
    buffer_ = ToBuffer(*std::move(answer));
    StartWriteAndFinish(&buffer_, ::grpc::WriteOptions(), ::grpc::Status::OK);
  }
  std::function<void()> Cutter() override {
    grpc_call_ref(context_.c_call());
    const std::shared_ptr<grpc_call> call(context_.c_call(), grpc_call_unref);
    return [call] {
      grpc_call_cancel_with_status(call.get(), GRPC_STATUS_RESOURCE_EXHAUSTED, "too slow", nullptr);
    };
  }

  CallDesk& desk_;
  ::grpc::GenericCallbackServerContext& context_;
  ::grpc::ByteBuffer buffer_;  // the request, later the answer
};

class Unimplemented final : public ::grpc::ServerGenericBidiReactor {
 public:
  Unimplemented() { Finish(::grpc::Status(::grpc::StatusCode::UNIMPLEMENTED, "no such method")); }
  void OnDone() override { delete this; }
};

class Service final : public ::grpc::CallbackGenericService {
 public:
  Service(CallDesk& desk, bool client_certificates)
      : desk_(desk), client_certificates_(client_certificates) {}

 private:
  ::grpc::ServerGenericBidiReactor* CreateReactor(
      ::grpc::GenericCallbackServerContext* context) override {
    if (context->method() != kMethod) return new Unimplemented;
    auto* const call = new GrpcCall(desk_, *context, CertificateName(*context));
    desk_.Arrive(call);
    return call;
  }

  std::optional<std::string> CertificateName(
      const ::grpc::GenericCallbackServerContext& context) const {
    if (!client_certificates_) return std::nullopt;
    const auto names = context.auth_context()->FindPropertyValues(GRPC_X509_CN_PROPERTY_NAME);
    // An empty name is nobody's.
    return names.size() == 1 ? std::string(names[0].data(), names[0].size()) : std::string();
  }

  CallDesk& desk_;
  const bool client_certificates_;
};

absl::Status CheckSpec(const GrpcServerSpec& spec) {
  const auto zero = std::chrono::milliseconds(0);
  const bool positive = spec.calls > 0 && spec.waiting_calls > 0 && spec.memory > 0 &&
                        spec.calls_of_client > 0 && spec.connections > 0 && spec.patience > zero &&
                        spec.slowness > zero;
  return positive ? absl::OkStatus()
                  : base::InvalidArgument("a server's limits must be above zero");
}

void Configure(const GrpcServerSpec& spec, ::grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(static_cast<int>(protocol::kMaxRequestBytes + kMessageSlack));
  // Messages do not get smaller, and what inflates is for attackers.
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  // A balancer sends the calls of many members through one connection.
  const size_t streams = spec.client_certificates ? spec.calls_of_client : spec.waiting_calls;
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                             static_cast<int>(std::min<size_t>(streams, INT_MAX)));
  builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kLookaheadBytes);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);  // it would enlarge the above
  builder.SetResourceQuota(::grpc::ResourceQuota("tacet").Resize(spec.memory));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMilliseconds);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMilliseconds);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             kMinPingMilliseconds);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMilliseconds);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleMilliseconds);
  builder.AddChannelArgument(GRPC_ARG_ENABLE_CHANNELZ, 0);
}

}  // namespace

class GrpcServer::Impl {
 public:
  Impl(const GrpcServerSpec& spec, server::RequestHandler& handler)
      : identity_(spec.authority),
        desk_(spec, handler),
        service_(desk_, spec.client_certificates) {}
  ~Impl() { Drain(std::chrono::milliseconds(0)); }

  absl::Status Start(const GrpcServerSpec& spec, const crypto::TlsKey& key,
                     std::span<const uint8_t> certificate) {
    TACET_ASSIGN_OR_RETURN(const base::HostPort at, base::ParseHostPort(spec.listen));
    TACET_RETURN_IF_ERROR(identity_.Set(key, certificate));
    TACET_ASSIGN_OR_RETURN(listener_, Listener::Open(at, spec.connections));
    ::grpc::ServerBuilder builder;
    Configure(spec, builder);
    builder.RegisterCallbackGenericService(&service_);
    acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
        ::grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
        identity_.Credentials(spec.client_certificates));
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) {
      return base::Unavailable("gRPC does not start with this key and these certificates");
    }
    listener_->Start([this](int listener, Descriptor connection) {
      ::grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
      parameters.listener_fd = listener;
      parameters.fd = connection.Release();
      acceptor_->HandleNewConnection(&parameters);
    });
    return absl::OkStatus();
  }

  void Drain(std::chrono::milliseconds most) {
    std::call_once(drained_, [&] {
      desk_.Drain();
      if (listener_ != nullptr) listener_->Stop();
      if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now() + most);
      desk_.AwaitDone();
    });
  }

  ServerIdentity& identity() { return identity_; }
  CallDesk& desk() { return desk_; }
  uint16_t port() const { return listener_->port(); }

 private:
  ServerIdentity identity_;
  CallDesk desk_;
  Service service_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<::grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<::grpc::Server> server_;
  std::once_flag drained_;
};

absl::StatusOr<std::unique_ptr<GrpcServer>> GrpcServer::Start(const GrpcServerSpec& spec,
                                                              const crypto::TlsKey& key,
                                                              std::span<const uint8_t> certificate,
                                                              server::RequestHandler& handler) {
  TACET_RETURN_IF_ERROR(CheckSpec(spec));
  auto impl = std::make_unique<Impl>(spec, handler);
  TACET_RETURN_IF_ERROR(impl->Start(spec, key, certificate));
  return std::unique_ptr<GrpcServer>(new GrpcServer(std::move(impl)));
}

GrpcServer::GrpcServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GrpcServer::~GrpcServer() = default;

uint16_t GrpcServer::port() const { return impl_->port(); }
void GrpcServer::News() { impl_->desk().News(); }
absl::Status GrpcServer::SetCertificate(const crypto::TlsKey& key,
                                        std::span<const uint8_t> certificate) {
  return impl_->identity().Set(key, certificate);
}
void GrpcServer::Drain(std::chrono::milliseconds most) { impl_->Drain(most); }
GrpcServerLoad GrpcServer::Load() const { return impl_->desk().Load(); }

}  // namespace tacet::transport::grpc
