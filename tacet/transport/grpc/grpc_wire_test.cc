#include "tacet/transport/grpc/grpc_wire.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/status.h"
#include "tacet/transport/grpc/proxy_for_test.h"
#include "tacet/transport/grpc/serving_for_test.h"

namespace tacet::transport::grpc {
namespace {

using protocol::Announcement;
using protocol::BulkKind;
using protocol::Invited;
using protocol::testing::ValueOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

// Sets a variable of the environment as long as it lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { unsetenv(name_); }

 private:
  const char* name_;
};

std::unique_ptr<GrpcWire> WireThrough(const ServingForTest& serving, const std::string& proxy,
                                      const std::string& name) {
  const crypto::TlsKey key = crypto::TlsKey::Generate();
  GrpcWireSpec spec = serving.WireSpec(key, name);
  spec.proxy = proxy;
  return ValueOf(GrpcWire::Create(spec, key));
}

TEST(GrpcWireTest, AProxyThatIsNamedIsUsedWhateverTheEnvironmentSays) {
  ServingForTest serving;
  serving.Begin();
  ProxyForTest proxy;
  const Variable another("https_proxy", "http://127.0.0.1:1");
  const Variable none("no_proxy", "127.0.0.1,localhost");
  for (const std::string& account : {std::string(), std::string("user:secret@")}) {
    const MemberForTest member(
        serving, 1, WireThrough(serving, "http://" + account + proxy.Address(), "site-1"));
    const auto announced = member.remote.Await({});
    EXPECT_TRUE(announced.ok()) << announced.status();
  }
  ASSERT_THAT(proxy.requests(), SizeIs(2));
  EXPECT_THAT(proxy.requests()[0], StartsWith("CONNECT " + serving.Address() + " HTTP/1."));
  EXPECT_THAT(proxy.requests()[0], Not(HasSubstr("Authorization")));
  EXPECT_THAT(proxy.requests()[1], HasSubstr("Proxy-Authorization: Basic dXNlcjpzZWNyZXQ="));
}

TEST(GrpcWireTest, WithoutOneTheEnvironmentSaysWhichIsUsed) {
  ServingForTest serving;
  serving.Begin();
  ProxyForTest proxy;
  const Variable from_environment("https_proxy", "http://" + proxy.Address());
  EXPECT_TRUE(MemberForTest(serving, 1).remote.Await({}).ok());
  EXPECT_THAT(proxy.requests(), SizeIs(1));
  const Variable none("no_proxy", "127.0.0.1");
  EXPECT_TRUE(MemberForTest(serving, 2).remote.Await({}).ok());
  EXPECT_THAT(proxy.requests(), SizeIs(1));
}

TEST(GrpcWireTest, AProxyThatCannotConnectIsAnErrorToBeTriedAgain) {
  ServingForTest serving;
  serving.Begin();
  serving.End();
  ProxyForTest proxy;
  const MemberForTest member(serving, 1, WireThrough(serving, proxy.Address(), "site-1"));
  const absl::Status refused = member.remote.Await({}).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(base::Message(refused), HasSubstr("no answer from the server at"));
}

TEST(GrpcWireTest, AnUploadThatWasCutGoesOnWhereItStopped) {
  agreement::ManifestSpec large = protocol::testing::SmallAgreement();
  large.dimension = 4'000'000;
  large.initial_model = protocol::ModelDigest(std::vector<float>(large.dimension));
  ServingForTest serving(large);
  serving.Begin();
  ASSERT_TRUE(serving.rounds->Tick().ok());
  ProxyForTest proxy;
  uint64_t invited = 0;
  while (ValueOf(serving.rounds->AnnouncementFor(invited, 0, false)).current->invited !=
         Invited::kYes) {
    ++invited;
  }
  const MemberForTest member(
      serving, invited, WireThrough(serving, proxy.Address(), fmt::format("site-{}", invited)));
  const secagg::Attempt attempt = ValueOf(member.remote.Await({})).current->attempt;
  const base::Bytes upload = serving.members.Upload(invited, attempt);
  ASSERT_GT(upload.size(), 4 * protocol::kMaxPartBytes);

  const uint64_t before = proxy.sent();
  proxy.CutAfter(2 * protocol::kMaxPartBytes + protocol::kMaxPartBytes / 2);
  const protocol::BulkName name{.kind = BulkKind::kUpload, .attempt = attempt};
  absl::Status put = member.remote.Put(name, upload);
  EXPECT_EQ(put.code(), absl::StatusCode::kUnavailable) << put;
  proxy.CutAfter(protocol::kMaxPartBytes + protocol::kMaxPartBytes / 2);
  // Reconnecting takes a moment in which calls fail at once.
  while (put.code() == absl::StatusCode::kUnavailable) put = member.remote.Put(name, upload);
  EXPECT_TRUE(put.ok()) << put;
  EXPECT_EQ(serving.rounds->Status().accepted, 1u);
  EXPECT_THAT(proxy.requests(), SizeIs(3));
  // Each cut costs the part that was under way, and little else.
  EXPECT_LT(proxy.sent() - before, upload.size() + 3 * protocol::kMaxPartBytes);
}

}  // namespace
}  // namespace tacet::transport::grpc
