// Floods and slow requests by strangers, removed members and malicious members. While each
// continues, an honest member is answered, and memory stays bounded.
#include <cstdio>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tacet/base/status.h"
#include "tacet/crypto/random.h"
#include "tacet/protocol/encrypted_checkpoint.h"
#include "tacet/transport/https/attacks_for_test.h"

namespace tacet::transport::https {
namespace {

using http::RawClient;
using http::WaitUntil;
using protocol::BulkKind;
using protocol::testing::ValueOf;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Sanitized programs keep memory that was freed.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kSanitized = false;
#endif

constexpr int kSlow = 200;                        // readers, writers
constexpr size_t kSlowMemory = size_t{80} << 20;  // far less than a part for each of them
// More than a connection gets rid of before it is refused: what fits into the system's buffers.
constexpr size_t kMaxUnread = size_t{16} << 20;

const size_t kCores = std::max(2U, std::thread::hardware_concurrency());

// Bytes of this process in memory. Those of the server are among them.
size_t Resident() {
  std::FILE* const file = std::fopen("/proc/self/statm", "re");
  unsigned long pages = 0, resident = 0;
  EXPECT_EQ(std::fscanf(file, "%lu %lu", &pages, &resident), 2);
  std::fclose(file);
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

void ExpectLittleMemorySince(size_t before, size_t most) {
  if (kSanitized) return;
  const size_t after = Resident(), more = after - std::min(before, after);
  testing::Test::RecordProperty("more_memory_bytes", std::to_string(more));
  EXPECT_LT(more, most);
}

// A model whose parts are as long as parts may be.
agreement::ManifestSpec LargeAgreement() {
  agreement::ManifestSpec large = protocol::testing::SmallAgreement();
  large.dimension = 400'000;
  large.initial_model = protocol::testing::ZerosOf(large.dimension).Digest();
  return large;
}

// Connections that send a head, and then `piece` until the server has enough.
class EndlessTest : public AttacksTest {
 protected:
  void Flood(const std::string& head, const std::string& piece) {
    serving_.Begin();
    std::atomic<size_t> most = 0, connections = 0;
    const Attackers attackers(kCores, [&](size_t i, const std::atomic<bool>& ended) {
      const auto flood = Connect(MemberName(1 + i));
      flood->Write(head);
      size_t sent = 0;
      while (!ended && flood->Write(piece)) sent += piece.size();
      ++connections;
      size_t before = most;
      while (sent > before && !most.compare_exchange_weak(before, sent)) {
      }
    });
    ExpectHonestMemberIsAnswered();
    WaitUntil([&] { return connections >= kCores; });
    EXPECT_LT(most, kMaxUnread);
  }
};

TEST_F(EndlessTest, Headers) {
  Flood("GET / HTTP/1.1\r\nHost: a\r\n", "X: " + std::string(4000, 'x') + "\r\n");
}
TEST_F(EndlessTest, OneHeader) {
  Flood("GET / HTTP/1.1\r\nHost: a\r\nX: ", std::string(4000, 'x'));
}
TEST_F(EndlessTest, RequestLine) { Flood("GET /", std::string(4000, 'x')); }
TEST_F(EndlessTest, Body) {
  Flood("POST /tacet/1 HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551615\r\n\r\n",
        std::string(16'000, 'x'));
}
TEST_F(EndlessTest, Chunks) {
  Flood("POST /tacet/1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
        "3e80\r\n" + std::string(16'000, 'x') + "\r\n");
}

// As many connections as threads, each with more requests than the server can answer: all take
// turns.
TEST_F(AttacksTest, RequestsWithoutEnd) {
  serving_.spec.threads = kCores;
  serving_.Begin();
  std::string requests;
  while (requests.size() < size_t{4} << 20) requests += "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  std::atomic<size_t> prepared = 0;
  const Attackers attackers(kCores, [&](size_t i, const std::atomic<bool>&) {
    const auto flood = Connect(MemberName(1 + i));
    const std::string encrypted = flood->Encrypted(requests);
    ++prepared;
    std::thread reader([&] { flood->DiscardRaw(); });
    flood->SendRaw(encrypted);
    flood->CloseRaw();
    reader.join();
  });
  WaitUntil([&] { return prepared >= kCores; });
  ExpectHonestMemberIsAnswered();
}

// Nothing of what they send reaches the server's HTTP.
class RefusedFloodTest : public AttacksTest {
 protected:
  void Flood(const base::Bytes& certificate, const std::string& alert) {
    serving_.Begin();
    const std::string piece(1 << 20, 'x');
    const Attackers attackers(kCores, [&](size_t, const std::atomic<bool>&) {
      const auto refused = ConnectWith(certificate);
      EXPECT_FALSE(refused->Reads());
      EXPECT_THAT(refused->error(), HasSubstr(alert));
      const auto flood = ConnectWith(certificate);
      if (flood->Write("POST /tacet/1 HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n")) {
        flood->Write(piece);
      }
      EXPECT_EQ(flood->ReadUntil("HTTP"), "");
    });
    ExpectHonestMemberIsAnswered();
    EXPECT_GT(serving_.server->Load().failed_handshakes, 0u);
    EXPECT_EQ(serving_.observer.refused, 0u);
  }
};

TEST_F(RefusedFloodTest, OfARemovedMember) {
  Flood(serving_.certificates.Client(key_, "site-99"), "certificate revoked");
}
TEST_F(RefusedFloodTest, OfAnotherAuthority) {
  Flood(CertificatesForTest("hospitals").Client(key_, "site-1"), "alert");
}
TEST_F(RefusedFloodTest, OfAMemberWhoseCertificateHasExpired) {
  Flood(serving_.certificates.Client(key_, "site-1", Now() - 60), "certificate expired");
}
TEST_F(RefusedFloodTest, OfAnotherRole) { Flood(serving_.certificates.Server(key_), "alert"); }

// Connections from many addresses, and four times as many as there are places.
TEST_F(AttacksTest, IdleConnections) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  // Both ends are in this process; below 6,000 descriptors there are fewer of them.
  const size_t idle = std::min<size_t>(2'500, (limit.rlim_cur - 1'000) / 2);
  serving_.spec.places.all = idle / 4;
  serving_.Begin();
  const MemberForTest connected(serving_, kHonest);
  ExpectAnswered(connected);
  std::vector<RawClient> strangers;
  for (size_t i = 0; i < idle; ++i) {
    strangers.emplace_back(serving_.port, fmt::format("127.0.1.{}", 1 + i % 250));
    ASSERT_TRUE(strangers.back().connected()) << i;
  }
  ExpectAnswered(connected);
  ExpectHonestMemberIsAnswered();
  EXPECT_LE(serving_.server->Load().connections, idle / 4);
}

// And as many as one address may have.
TEST_F(AttacksTest, IdleConnectionsOfOneAddress) {
  serving_.spec.places = {.all = 100, .of_address = 50};
  serving_.Begin();
  std::vector<RawClient> strangers;
  for (int i = 0; i < 300; ++i) strangers.emplace_back(serving_.port, kElsewhere);
  EXPECT_TRUE(strangers.front().Closes(seconds(60)));
  WaitUntil([&] { return serving_.server->Load().strangers == 50; });
  ExpectHonestMemberIsAnswered();
}

TEST_F(AttacksTest, SilentHandshakesHaveAnEnd) {
  serving_.spec.limits.hello = milliseconds(200);
  serving_.Begin();
  std::vector<RawClient> strangers;
  for (int i = 0; i < 100; ++i) strangers.emplace_back(serving_.port, kElsewhere);
  strangers.front().Send("\x16\x03\x01");  // begins to speak
  for (const RawClient& stranger : strangers) EXPECT_TRUE(stranger.Closes(seconds(60)));
  ExpectHonestMemberIsAnswered();
}

// OpenSSL takes memory for what they announce.
TEST_F(AttacksTest, LargeHellosThatNeverCome) {
  constexpr int kStrangers = 800;
  // A record with the beginning of a ClientHello of 128 KiB.
  const std::string hello("\x16\x03\x01\x00\x06\x01\x02\x00\x00\x03\x03", 11);
  serving_.Begin();
  const MemberForTest connected(serving_, kHonest);
  ExpectAnswered(connected);
  const size_t before = Resident();
  std::vector<RawClient> strangers;
  for (int i = 0; i < kStrangers; ++i) {
    strangers.emplace_back(serving_.port, kElsewhere);
    strangers.back().Send(hello);
  }
  WaitUntil([&] { return serving_.server->Load().failed_handshakes == kStrangers; });
  ExpectLittleMemorySince(before, size_t{40} << 20);
  ExpectHonestMemberIsAnswered();
}

class SlowAttacksTest : public AttacksTest {
 protected:
  // Deadlines have tests of their own (http_server_test): here nobody is cut.
  SlowAttacksTest() : AttacksTest(LargeAgreement()) {
    serving_.spec.limits.stall = serving_.spec.limits.transfer = std::chrono::hours(1);
  }

  // One of the attackers' connections.
  static uint64_t MemberOf(int number) {
    return 1 + static_cast<uint64_t>(number) % (kMembers - 1);
  }
};

// Each announces a megabyte and sends a byte now and then.
TEST_F(SlowAttacksTest, SlowWriters) {
  serving_.Begin();
  ASSERT_TRUE(serving_.rounds->Tick().ok());
  const size_t before = Resident();
  std::vector<std::unique_ptr<TlsForTest>> writers;
  for (int i = 0; i < kSlow; ++i) {
    protocol::PutPartRequest checkpoint{
        .name = {BulkKind::kCheckpoint,
                 {.manifest_hash = serving_.members.manifest().manifest().hash(), .number = {}}},
        .total = protocol::EncryptedCheckpointBytes(LargeAgreement()),
        .part = base::Bytes(size_t{1} << 20)};
    checkpoint.digest[0] = static_cast<uint8_t>(i);
    writers.push_back(Connect(MemberName(MemberOf(i))));
    writers.back()->Write(Call(MemberOf(i), checkpoint).substr(0, 20'000));
  }
  // For one member one part is taken at a time.
  WaitUntil([&] { return serving_.server->Load().working >= kMembers - 1; });
  const Attackers attackers(1, [&](size_t, const std::atomic<bool>&) {
    for (const auto& writer : writers) writer->Write("x");
    std::this_thread::sleep_for(milliseconds(100));
  });
  ExpectHonestMemberIsAnswered();
  ExpectLittleMemorySince(before, kSlowMemory);
}

// Each asks for a megabyte and takes nothing of it.
TEST_F(SlowAttacksTest, SlowReaders) {
  serving_.Begin();
  ASSERT_TRUE(serving_.rounds->Tick().ok());
  const secagg::Attempt attempt =
      ValueOf(serving_.rounds->AnnouncementFor(0, 0, false)).current->attempt;
  for (uint64_t i = 0; i < kMembers; ++i) {
    const MemberForTest member(serving_, i);
    if (ValueOf(member.remote.Await({})).current->invited != protocol::Invited::kYes) continue;
    const base::Bytes upload = serving_.members.Upload(i, attempt);
    ASSERT_TRUE(member.remote.Put({.kind = BulkKind::kUpload, .attempt = attempt}, upload).ok());
  }
  ASSERT_TRUE(serving_.rounds->Tick().ok());
  const size_t before = Resident();
  std::vector<std::unique_ptr<TlsForTest>> readers;
  for (int i = 0; i < kSlow; ++i) {
    readers.push_back(Connect(MemberName(MemberOf(i))));
    const std::string fetch =
        Call(MemberOf(i), protocol::FetchPartRequest{.name = {BulkKind::kClosedRound, attempt}});
    std::string often;
    for (int j = 0; j < 8; ++j) often += fetch;
    readers.back()->Write(often);
  }
  WaitUntil([&] { return serving_.server->Load().working == kSlow; });
  ExpectHonestMemberIsAnswered();
  ExpectLittleMemorySince(before, kSlowMemory);
}

// More than a megabyte: to strangers' ports, inside of TLS, inside of calls.
TEST_F(AttacksTest, MalformedFrames) {
  serving_.Begin();
  const base::Bytes genuine = Signed(1, protocol::AwaitRequest{});
  std::atomic<uint64_t> bytes = 0, connections = 0;
  const Attackers attackers(3, [&](size_t kind, const std::atomic<bool>& ended) {
    crypto::InsecureSeededEntropy entropy(++connections, "malformed");
    crypto::Random random = crypto::Random::FromEntropy(entropy);
    std::string garbage(30'000, ' ');
    for (char& c : garbage) c = static_cast<char>(random.Below(256));
    if (kind == 0) {
      bytes += RawClient(serving_.port, kElsewhere).Send(garbage) ? garbage.size() : 0;
      return;
    }
    const auto tls = Connect("site-1");
    if (kind == 1) {
      bytes += tls->Write(garbage) ? garbage.size() : 0;
      return;
    }
    for (int i = 0; i < 100 && !ended; ++i) {
      base::Bytes altered = genuine;
      altered[random.Below(altered.size())] ^= static_cast<uint8_t>(1 << random.Below(8));
      const std::string call = Post(altered);
      if (!tls->Write(call)) return;
      bytes += call.size();
      EXPECT_THAT(tls->ReadResponse(), StartsWith("HTTP/1.1 4"));
    }
  });
  ExpectHonestMemberIsAnswered();
  WaitUntil([&] { return bytes > 1'000'000 && serving_.observer.refused > 0; });
}

// The server has one thread, and must not stay with one connection.
class OneThreadTest : public AttacksTest {
 protected:
  OneThreadTest() : AttacksTest(LargeAgreement()) { serving_.spec.threads = 1; }

  // The number of an honest member's answered calls while the server takes these raw bytes.
  int AnsweredWhileSending(const TlsForTest& flood, const std::string& raw) {
    const MemberForTest honest(serving_, kHonest);
    ExpectAnswered(honest);
    std::atomic<bool> sent = false;
    std::thread sender([&] {
      flood.SendRaw(raw);
      sent = true;
    });
    int answered = 0;
    for (; !sent; ++answered) ExpectAnswered(honest);
    sender.join();
    return answered;
  }
};

// Each makes the server derive keys: 27 bytes that cost as much as 30 KB of data.
TEST_F(OneThreadTest, KeyUpdatesWithoutEnd) {
  serving_.Begin();
  const auto few = Connect("site-1");
  ASSERT_TRUE(few->SendRaw(few->KeyUpdates(1'000)));
  ASSERT_TRUE(few->Write(Call(1, protocol::AwaitRequest{})));
  EXPECT_THAT(few->ReadResponse(), StartsWith("HTTP/1.1 200"));

  const auto flood = Connect("site-1");
  flood->SendRaw(flood->KeyUpdates(1 << 20));
  ExpectHonestMemberIsAnswered();
  flood->Write(Call(1, protocol::AwaitRequest{}));
  EXPECT_EQ(flood->ReadResponse(), "");
  WaitUntil([&] { return serving_.server->Load().connections == 1; });
}

// A content in TLS records of one byte: all connections take turns after a few of them.
TEST_F(OneThreadTest, TinyRecords) {
  serving_.Begin();
  ASSERT_TRUE(serving_.rounds->Tick().ok());
  const std::string call = Call(
      1,
      protocol::PutPartRequest{
          .name = {BulkKind::kCheckpoint,
                   {.manifest_hash = serving_.members.manifest().manifest().hash(), .number = {}}},
          .total = protocol::EncryptedCheckpointBytes(LargeAgreement()),
          .part = base::Bytes(400'000)});
  const auto flood = Connect("site-1");
  const std::string records = flood->Encrypted(call, 1);
  const int answered = AnsweredWhileSending(*flood, records);
  RecordProperty("answered", answered);
  EXPECT_GT(answered, 50);
}

TEST_F(AttacksTest, AThousandCallsWaitForNews) {
  constexpr size_t kWaiting = 1'000;
  serving_.spec.limits.long_poll = std::chrono::hours(1);
  serving_.spec.places.of_certificate = kWaiting + 1;
  serving_.Begin();
  const auto known = ValueOf(MemberForTest(serving_, 1).remote.Await({}));
  const std::string await = Call(1, protocol::AwaitRequest{.known_revision = known.revision});
  std::vector<std::unique_ptr<TlsForTest>> waiting;
  for (size_t i = 0; i < kWaiting; ++i) {
    waiting.push_back(Connect("site-1"));
    ASSERT_TRUE(waiting.back()->Write(await)) << i;
  }
  WaitUntil([&] { return serving_.server->Load().parked == kWaiting; });
  ExpectHonestMemberIsAnswered();
  ASSERT_TRUE(serving_.rounds->Tick().ok());
  for (const auto& connection : waiting) {
    EXPECT_THAT(connection->ReadResponse(), StartsWith("HTTP/1.1 200"));
  }
  EXPECT_EQ(serving_.server->Load().parked, 0u);
}

}  // namespace
}  // namespace tacet::transport::https
