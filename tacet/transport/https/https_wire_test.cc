#include "tacet/transport/https/https_wire.h"

#include <cstdlib>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/status.h"
#include "tacet/transport/https/proxy_for_test.h"
#include "tacet/transport/https/serving_for_test.h"

namespace tacet::transport::https {
namespace {

using protocol::Announcement;
using protocol::BulkKind;
using protocol::Invited;
using protocol::testing::ValueOf;
using ::testing::AllOf;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;
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

std::unique_ptr<HttpsWire> WireThrough(const ServingForTest& serving, const std::string& proxy,
                                       const std::string& name) {
  const crypto::TlsKey key = crypto::TlsKey::Generate();
  HttpsWireSpec spec = serving.WireSpec(key, name);
  spec.proxy = proxy;
  return ValueOf(HttpsWire::Create(spec, key));
}

TEST(HttpsWireTest, AProxyThatIsNamedIsUsedWhateverTheEnvironmentSays) {
  ServingForTest serving;
  serving.Begin();
  ProxyForTest proxy;
  const Variable another("https_proxy", "http://127.0.0.1:1");
  const Variable none("no_proxy", "127.0.0.1,localhost");
  // A proxy that does not ask for the account is not told it.
  const MemberForTest member(
      serving, 1, WireThrough(serving, "http://user:secret@" + proxy.Address(), "site-1"));
  const auto announced = member.remote.Await({});
  EXPECT_TRUE(announced.ok()) << announced.status();
  ASSERT_THAT(proxy.requests(), SizeIs(1));
  EXPECT_THAT(proxy.requests()[0], StartsWith("CONNECT " + serving.Address() + " HTTP/1."));
  EXPECT_THAT(proxy.requests()[0], Not(HasSubstr("Authorization")));
}

TEST(HttpsWireTest, AProxyIsToldTheAccountThatItAsksFor) {
  ServingForTest serving;
  serving.Begin();
  ProxyForTest proxy("Basic dXNlcjpzZUBjOnJldA==");  // user:se@c:ret
  const auto await = [&](const std::string& account) {
    return MemberForTest(serving, 1, WireThrough(serving, account + proxy.Address(), "site-1"))
        .remote.Await({})
        .status();
  };
  EXPECT_TRUE(await("user:se%40c:ret@").ok());
  EXPECT_THAT(proxy.requests(), SizeIs(2));
  for (const std::string& account : {std::string(), std::string("user:other@")}) {
    const absl::Status refused = await(account);
    EXPECT_TRUE(protocol::IsPermanent(refused)) << refused;
    EXPECT_THAT(base::Message(refused), HasSubstr("asks for a user and a password"));
    EXPECT_THAT(base::Message(refused), Not(HasSubstr("other@")));
  }
}

TEST(HttpsWireTest, WithoutOneTheEnvironmentSaysWhichIsUsed) {
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

TEST(HttpsWireTest, AProxyThatCannotConnectIsAnErrorToBeTriedAgain) {
  ServingForTest serving;
  serving.Begin();
  serving.End();
  ProxyForTest proxy;
  const MemberForTest member(serving, 1, WireThrough(serving, proxy.Address(), "site-1"));
  const absl::Status refused = member.remote.Await({}).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(base::Message(refused), HasSubstr("cannot connect to " + serving.Address()));
}

TEST(HttpsWireTest, AProxyThatRefusesIsAskedNoMore) {
  ServingForTest serving;
  serving.Begin();
  ProxyForTest proxy("", "403 Forbidden");
  const MemberForTest member(serving, 1, WireThrough(serving, proxy.Address(), "site-1"));
  const absl::Status refused = member.remote.Await({}).status();
  EXPECT_TRUE(protocol::IsPermanent(refused)) << refused;
  EXPECT_THAT(base::Message(refused),
              HasSubstr("refuses to connect to " + serving.Address() + " (HTTP 403)"));
}

TEST(HttpsWireTest, AnUploadThatWasCutGoesOnWhereItStopped) {
  agreement::ManifestSpec large = protocol::testing::SmallAgreement();
  large.dimension = 8'000'000;
  large.initial_model = protocol::testing::ZerosOf(large.dimension).Digest();
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

  // Twice in the middle of a part, each time libcurl or the caller sends it once more.
  const uint64_t before = proxy.sent();
  proxy.CutAfter(2 * protocol::kMaxPartBytes + protocol::kMaxPartBytes / 2);
  const protocol::BulkName name{.kind = BulkKind::kUpload, .attempt = attempt};
  absl::Status put;
  std::thread cuts_again([&] {
    http::WaitUntil([&] { return proxy.requests().size() == 2; });
    proxy.CutAfter(protocol::kMaxPartBytes + protocol::kMaxPartBytes / 2);
  });
  // A part that comes before the server gave up the one that was cut is refused for the moment.
  size_t too_early = 0;
  http::WaitUntil([&] {
    put = member.remote.Put(name, upload);
    const bool is_early = put.code() == absl::StatusCode::kResourceExhausted;
    too_early += is_early ? 1 : 0;
    return !is_early && put.code() != absl::StatusCode::kUnavailable;
  });
  cuts_again.join();
  EXPECT_TRUE(put.ok()) << put;
  EXPECT_EQ(serving.rounds->Status().accepted, 1u);
  EXPECT_THAT(proxy.requests(), SizeIs(AllOf(Ge(3), Le(3 + too_early))));
  // Each cut and each part that came too early costs that part, and little else.
  EXPECT_LT(proxy.sent() - before, upload.size() + (3 + too_early) * protocol::kMaxPartBytes);
}

}  // namespace
}  // namespace tacet::transport::https
