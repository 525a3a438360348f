// Attacks on the server by strangers and by malicious members.
#include <atomic>
#include <future>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "proto/federation.grpc.pb.h"
#include "tacet/base/status.h"
#include "tacet/crypto/random.h"
#include "tacet/transport/grpc/serving_for_test.h"
#include "tacet/transport/grpc/tls_for_test.h"

namespace tacet::transport::grpc {
namespace {

using protocol::Announcement;
using protocol::testing::ValueOf;
using ::testing::HasSubstr;

class HostileTest : public ::testing::Test {
 protected:
  std::shared_ptr<::grpc::Channel> Channel(const std::string& name) {
    const crypto::TlsKey key = crypto::TlsKey::Generate();
    ::grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto credentials = ::grpc::SslCredentials(
        {.pem_root_certs = crypto::CertificatePem(serving_.certificates.authority()),
         .pem_private_key = std::string(base::AsText(key.Pem().Expose())),
         .pem_cert_chain = crypto::CertificatePem(serving_.certificates.Client(key, name))});
    return ::grpc::CreateCustomChannel(serving_.Address(), credentials, arguments);
  }

  void ExpectServes() {
    for (uint64_t member = 0; member < 5; ++member) {
      const auto announced = MemberForTest(serving_, member).remote.Await({});
      EXPECT_TRUE(announced.ok()) << announced.status();
    }
  }

  ServingForTest serving_;
};

TEST_F(HostileTest, GarbageInsteadOfTlsOrHttpIsCutOff) {
  serving_.Begin();
  crypto::InsecureSeededEntropy entropy(1, "garbage");
  const crypto::TlsKey key = crypto::TlsKey::Generate();
  const base::Bytes certificate = serving_.certificates.Client(key, "site-1");
  for (int i = 0; i < 200; ++i) {
    const crypto::SecretBytes garbage = entropy.Draw(400);
    const std::string_view text = base::AsText(garbage.Expose());
    const Descriptor socket = ConnectTo(serving_.port);
    EXPECT_GT(send(socket.number(), text.data(), text.size(), MSG_NOSIGNAL), 0);
    TlsForTest tls(ConnectTo(serving_.port), {.key = &key, .certificate = certificate});
    ASSERT_TRUE(tls.Reads()) << tls.error();
    if (i % 2 == 0) tls.Write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    tls.Write(text);
  }
  ExpectServes();
}

TEST_F(HostileTest, CompressedMessagesAreNotInflated) {
  serving_.Begin();
  const auto stub = v1::Federation::NewStub(Channel("site-1"));
  v1::Message request, answer;
  request.set_content(std::string(protocol::kMaxRequestBytes * 100, 'a'));
  ::grpc::ClientContext context;
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  const ::grpc::Status status = stub->Call(&context, request, &answer);
  EXPECT_EQ(status.error_code(), ::grpc::StatusCode::UNIMPLEMENTED) << status.error_message();
  EXPECT_EQ(serving_.observer.refused, 0u);
  ExpectServes();
}

TEST_F(HostileTest, OtherMethodsDoNotExist) {
  serving_.Begin();
  ::grpc::GenericStub stub(Channel("site-1"));
  ::grpc::ClientContext context;
  const ::grpc::Slice empty(std::string(1, ' '));
  ::grpc::ByteBuffer request(&empty, 1), answer;
  std::promise<::grpc::Status> done;
  stub.UnaryCall(&context, "/tacet.v1.Federation/Other", {}, &request, &answer,
                 [&](const ::grpc::Status& status) { done.set_value(status); });
  EXPECT_EQ(done.get_future().get().error_code(), ::grpc::StatusCode::UNIMPLEMENTED);
}

// Calls that never send their request.
class SilentCalls {
 public:
  explicit SilentCalls(std::shared_ptr<::grpc::Channel> channel) : stub_(std::move(channel)) {}

  void Begin() {
    contexts_.push_back(std::make_unique<::grpc::ClientContext>());
    calls_.push_back(
        stub_.PrepareCall(contexts_.back().get(), "/tacet.v1.Federation/Call", &queue_));
    calls_.back()->StartCall(nullptr);
  }
  // How the one ends that ends first.
  ::grpc::Status FirstEnd() {
    std::vector<::grpc::Status> statuses(calls_.size());
    for (size_t i = 0; i < calls_.size(); ++i) calls_[i]->Finish(&statuses[i], &statuses[i]);
    void* tag = nullptr;
    bool ok = false;
    while (tag == nullptr) queue_.Next(&tag, &ok);  // the null ones began calls
    const ::grpc::Status first = *static_cast<::grpc::Status*>(tag);
    EndAll();
    return first;
  }

 private:
  void EndAll() {
    for (const auto& context : contexts_) context->TryCancel();
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
  }

  ::grpc::GenericStub stub_;
  ::grpc::CompletionQueue queue_;
  std::vector<std::unique_ptr<::grpc::ClientContext>> contexts_;
  std::vector<std::unique_ptr<::grpc::GenericClientAsyncReaderWriter>> calls_;
};

TEST_F(HostileTest, WhoSendsNothingLosesTheTurnToThoseWhoDo) {
  serving_.spec.calls = 2;
  serving_.spec.slowness = std::chrono::milliseconds(200);
  serving_.Begin();
  SilentCalls silent(Channel("site-1"));
  silent.Begin();
  silent.Begin();
  while (serving_.server->Load().working < 2) std::this_thread::yield();
  ExpectServes();
  EXPECT_EQ(silent.FirstEnd().error_code(), ::grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(HostileTest, ConnectionsBeyondTheLimitAreClosed) {
  serving_.spec.connections = 50;
  serving_.Begin();
  std::vector<Descriptor> idle;
  for (int i = 0; i < 200; ++i) idle.push_back(ConnectTo(serving_.port));
  // They are taken in order, so the last is beyond.
  char byte = 0;
  EXPECT_EQ(recv(idle.back().number(), &byte, 1, 0), 0);
  idle.clear();
  // The places of those that went are free again, once the server has noticed.
  const MemberForTest member(serving_, 1);
  absl::Status status = member.remote.Await({}).status();
  while (status.code() == absl::StatusCode::kUnavailable) status = member.remote.Await({}).status();
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(HostileTest, ThousandsWaitForNewsAtOnce) {
  constexpr size_t kWaiting = 2'000, kConnections = 4;
  serving_.spec.calls_of_client = kWaiting + 1;
  serving_.Begin();
  const Announcement known = ValueOf(MemberForTest(serving_, 1).remote.Await({}));
  const protocol::MemberRequest await{
      .member = 1, .time = Now(), .body = protocol::AwaitRequest{.known_revision = known.revision}};
  const base::Bytes request = protocol::WriteMemberRequest(await, serving_.members.manifest(),
                                                           serving_.members.site(1).signing);

  struct Call {
    ::grpc::ClientContext context;
    v1::Message request, answer;
  };
  std::vector<std::unique_ptr<v1::Federation::Stub>> stubs;
  for (size_t i = 0; i < kConnections; ++i) {
    stubs.push_back(v1::Federation::NewStub(Channel("site-1")));
  }
  std::vector<Call> calls(kWaiting);
  std::atomic<size_t> answered = 0, with_news = 0;
  std::promise<void> all;
  for (size_t i = 0; i < kWaiting; ++i) {
    Call& call = calls[i];
    call.request.set_content(request.data(), request.size());
    stubs[i % kConnections]->async()->Call(
        &call.context, &call.request, &call.answer, [&](const ::grpc::Status& status) {
          const auto news = protocol::ReadAnnouncement(base::AsBytes(call.answer.content()));
          with_news += status.ok() && news.ok() && news->revision != known.revision ? 1 : 0;
          if (++answered == kWaiting) all.set_value();
        });
  }
  while (serving_.server->Load().parked < kWaiting) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(answered, 0u);
  ExpectServes();  // nobody is kept from it
  ASSERT_TRUE(serving_.rounds->Tick().ok());
  all.get_future().wait();
  EXPECT_EQ(with_news, kWaiting);
  EXPECT_EQ(serving_.server->Load().parked, 0u);
}

}  // namespace
}  // namespace tacet::transport::grpc
