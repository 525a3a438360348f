// Malicious clients of a served federation and an honest member next to them, for tests.
#ifndef TACET_TRANSPORT_HTTPS_ATTACKS_FOR_TEST_H_
#define TACET_TRANSPORT_HTTPS_ATTACKS_FOR_TEST_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tacet/protocol/whole_requests_for_test.h"
#include "tacet/transport/http/raw_client_for_test.h"
#include "tacet/transport/https/call_format.h"
#include "tacet/transport/https/serving_for_test.h"
#include "tacet/transport/https/tls_for_test.h"

namespace tacet::transport::https {

// Threads that attack again and again as long as this exists: declared after everything that they
// use.
class Attackers {
 public:
  // Called with the number of the thread.
  using Attack = std::function<void(size_t number, const std::atomic<bool>& ended)>;

  Attackers(size_t count, const Attack& attack) {
    for (size_t i = 0; i < count; ++i) {
      threads_.emplace_back([this, attack, i] {
        while (!ended_) attack(i, ended_);
      });
    }
  }
  ~Attackers() {
    ended_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  Attackers(const Attackers&) = delete;
  Attackers& operator=(const Attackers&) = delete;

 private:
  std::atomic<bool> ended_ = false;
  std::vector<std::thread> threads_;
};

class AttacksTest : public ::testing::Test {
 protected:
  static constexpr int kMembers = 25;
  static constexpr uint64_t kHonest = 0;
  static constexpr char kElsewhere[] = "127.0.0.2";

  explicit AttacksTest(agreement::ManifestSpec agreement = protocol::testing::SmallAgreement())
      : serving_(std::move(agreement), kMembers) {}
  ~AttacksTest() override {
    RecordProperty("longest_answer_ms", static_cast<int>(longest_.count()));
  }

  // Over a connection that it has, and over new ones.
  void ExpectHonestMemberIsAnswered() {
    const MemberForTest connected(serving_, kHonest);
    for (int i = 0; i < 8; ++i) {
      const MemberForTest again(serving_, kHonest);
      ExpectAnswered(connected);
      ExpectAnswered(again);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
  // Within the time that a member gives a call. The time it took is a property of the test, not an
  // assertion: the machine may be busy.
  void ExpectAnswered(const MemberForTest& member) {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    const auto announced = member.remote.Await({});
    EXPECT_TRUE(announced.ok()) << announced.status();
    longest_ = std::max(
        longest_, std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start));
  }

  // A connection with this certificate for key_.
  std::unique_ptr<TlsForTest> ConnectWith(const base::Bytes& certificate) const {
    return std::make_unique<TlsForTest>(http::ConnectTo(serving_.port, kElsewhere),
                                        TlsSettings{.key = &key_, .certificate = certificate});
  }
  // A connection in the name of a member, or of somebody who was one.
  std::unique_ptr<TlsForTest> Connect(const std::string& name) const {
    return ConnectWith(serving_.certificates.Client(key_, name));
  }
  static std::string MemberName(size_t number) { return fmt::format("site-{}", number); }

  base::Bytes Signed(uint64_t member, protocol::RequestBody body) const {
    return protocol::WriteMemberRequest({.member = member, .time = Now(), .body = std::move(body)},
                                        serving_.members.manifest(),
                                        serving_.members.site(member).signing);
  }
  static std::string Post(std::span<const uint8_t> request) {
    return fmt::format("POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{}",
                       CallPath(), request.size(), base::AsText(request));
  }
  std::string Call(uint64_t member, protocol::RequestBody body) const {
    return Post(Signed(member, std::move(body)));
  }

  ServingForTest serving_;
  const crypto::TlsKey key_ = crypto::TlsKey::Generate();

 private:
  std::chrono::milliseconds longest_{0};
};

}  // namespace tacet::transport::https

#endif  // TACET_TRANSPORT_HTTPS_ATTACKS_FOR_TEST_H_
