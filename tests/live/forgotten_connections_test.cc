// A federation over HTTPS whose seats' connections are forgotten by something on the way, each at
// the moment that a call of one kind is made.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/mutex.h"
#include "tacet/base/status.h"
#include "tacet/base/test_size_for_test.h"
#include "tacet/member/backoff.h"
#include "tacet/member/member_loop.h"
#include "tacet/protocol/whole_requests_for_test.h"
#include "tacet/transport/https/forgetful_relay_for_test.h"
#include "tacet/transport/https/serving_for_test.h"
#include "tests/live/live_members_for_test.h"

namespace tacet::live {
namespace {

using protocol::BulkKind;
using protocol::testing::ValueOf;
using std::chrono::steady_clock;
using transport::https::ForgetfulRelay;
using transport::https::HttpsWire;
using transport::https::ServingForTest;

enum class Moment : uint8_t { kWait, kUpload, kVote, kShare, kFetch, kVerdict };
constexpr Moment kMoments[] = {Moment::kWait,  Moment::kUpload, Moment::kVote,
                               Moment::kShare, Moment::kFetch,  Moment::kVerdict};
constexpr const char* kNames[] = {"wait", "upload", "vote", "share", "fetch", "verdict"};

std::optional<Moment> MomentOf(const protocol::RequestBody& body) {
  if (std::holds_alternative<protocol::AwaitRequest>(body)) return Moment::kWait;
  if (std::holds_alternative<protocol::PutVoteRequest>(body)) return Moment::kVote;
  if (std::holds_alternative<protocol::PutVerdictRequest>(body)) return Moment::kVerdict;
  if (const auto* put = std::get_if<protocol::PutPartRequest>(&body)) {
    if (put->name.kind == BulkKind::kUpload) return Moment::kUpload;
    if (put->name.kind == BulkKind::kUnmaskShare) return Moment::kShare;
  }
  if (const auto* fetch = std::get_if<protocol::FetchPartRequest>(&body)) {
    if (fetch->name.kind == BulkKind::kClosedRound) return Moment::kFetch;
  }
  return std::nullopt;
}

// Connections that are still to be forgotten.
class Plan {
 public:
  void Set(Moment moment, int seats) {
    const base::MutexLock lock(mutex_);
    moment_ = moment;
    left_ = seats;
    forgotten_.clear();
  }
  // Whether a call of this kind is to meet a forgotten connection, of each member once.
  bool Take(uint64_t member, std::optional<Moment> moment) {
    const base::MutexLock lock(mutex_);
    if (left_ == 0 || moment != moment_ || !forgotten_.insert(member).second) return false;
    if (forgotten_.size() == 1) first_ = steady_clock::now();
    --left_;
    return true;
  }
  int left() const {
    const base::MutexLock lock(mutex_);
    return left_;
  }
  // For the first that was forgotten.
  steady_clock::time_point first() const {
    const base::MutexLock lock(mutex_);
    return first_;
  }

 private:
  mutable base::Mutex mutex_;
  Moment moment_ ABSL_GUARDED_BY(mutex_) = Moment::kWait;
  int left_ ABSL_GUARDED_BY(mutex_) = 0;
  std::set<uint64_t> forgotten_ ABSL_GUARDED_BY(mutex_);
  steady_clock::time_point first_ ABSL_GUARDED_BY(mutex_);
};

// Forgets the connections of a member just before a call.
class PlannedWire final : public protocol::Wire {
 public:
  PlannedWire(const ServingForTest& serving, uint64_t member, std::chrono::milliseconds silence,
              Plan& plan)
      : manifest_(serving.members.manifest()), member_(member), plan_(plan), relay_(serving.port) {
    const crypto::TlsKey key = crypto::TlsKey::Generate();
    auto spec = serving.WireSpec(key, fmt::format("site-{}", member));
    spec.server = relay_.Address();
    spec.most_silence = silence;
    wire_ = ValueOf(HttpsWire::Create(spec, key));
  }

  absl::StatusOr<base::Bytes> Call(std::span<const uint8_t> request, uint32_t seconds) override {
    return CallWithContent(request, {}, seconds);
  }
  absl::StatusOr<base::Bytes> CallWithContent(std::span<const uint8_t> head,
                                              std::span<const uint8_t> content,
                                              uint32_t seconds) override {
    const auto read = protocol::ReadRequestHead(head, manifest_, base::SystemUnixSeconds());
    const bool is_connected = relay_.connections() > 0;
    if (is_connected && plan_.Take(member_, MomentOf(ValueOf(read).request.body))) {
      relay_.Forget();
      ++forgotten_;
    }
    return wire_->CallWithContent(head, content, seconds);
  }
  void Stop() override { wire_->Stop(); }

  int forgotten() const { return forgotten_; }
  int connections() const { return relay_.connections(); }

 private:
  const agreement::SignedManifest& manifest_;
  const uint64_t member_;
  Plan& plan_;
  ForgetfulRelay relay_;
  std::unique_ptr<HttpsWire> wire_;
  std::atomic<int> forgotten_ = 0;
};

ledger::LedgerHeader HeaderOfWard() {
  ledger::LedgerHeader header;
  header.population = "ward 3";
  return header;
}

// A member whose program runs until the federation is done.
class RunningMember {
 public:
  RunningMember(const ServingForTest& serving, uint64_t number, std::chrono::milliseconds silence,
                Plan& plan)
      : wire_(serving, number, silence, plan),
        remote_(serving.members.manifest(), number, serving.members.site(number).signing, wire_,
                base::SystemUnixSeconds, std::ref(retry_)),
        updates_(number),
        memory_ledger_(ledger::testing::NewMemoryLedger(HeaderOfWard())),
        permission_(
            ValueOf(policy::Permission::WithoutPolicy(std::nullopt, serving.members.manifest()))),
        ledger_(ValueOf(ledger::PrivacyLedger::Create(
            ValueOf(ledger::testing::OpenMemoryLedger(memory_ledger_)), base::SystemUnixSeconds,
            permission_.year()))),
        session_(ValueOf(member::MemberSession::Create(
            {.manifest = serving.members.manifest(),
             .member = number,
             .signing_key = serving.members.site(number).signing,
             .exchange_keys = serving.members.exchange_keys(number),
             .epoch_key = serving.members.epoch_key(),
             .server = remote_,
             .state = state_,
             .updates = updates_,
             .log = log_,
             .ledger = *ledger_,
             .permission = permission_,
             .entropy = entropy_},
            protocol::testing::ZerosOf(protocol::testing::kSmallDimension)))),
        thread_([this] { Run(); }) {}
  ~RunningMember() {
    ended_ = true;
    wire_.Stop();
    Join();
  }

  void Join() {
    if (thread_.joinable()) thread_.join();
  }
  const absl::Status& end() const { return end_; }
  const PlannedWire& wire() const { return wire_; }
  const member::MemberSession& session() const { return *session_; }

 private:
  bool Wait(double seconds) const {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    return !ended_;
  }
  void Run() {
    end_ = member::RunMember(*session_, {}, entropy_,
                             {.wait = [this](double seconds) { return Wait(seconds); },
                              .on_trouble = {},
                              .on_progress = {}});
  }

  PlannedWire wire_;
  crypto::SystemEntropy entropy_;
  member::RetryPolicy retry_{{}, entropy_, [this](double seconds) { return Wait(seconds); }, {}};
  member::RemoteServer remote_;
  member::MemoryMemberState state_;
  member::testing::MemoryNodeLog log_;
  testing::FixedUpdates updates_;
  ledger::testing::MemoryLedger memory_ledger_;
  policy::Permission permission_;
  std::unique_ptr<ledger::PrivacyLedger> ledger_;
  std::unique_ptr<member::MemberSession> session_;
  std::atomic<bool> ended_ = false;
  absl::Status end_;
  std::thread thread_;
};

agreement::ManifestSpec OneRoundAMoment() {
  agreement::ManifestSpec spec = testing::ExactAgreement();
  spec.rounds = std::size(kMoments);
  return spec;
}

// Four of five seats are a quorum: with two dead lines no round ends before one of them is noticed.
TEST(ForgottenConnectionsTest, TheNextPublicationComesAndNoAttemptIsLost) {
  constexpr int kUsualSilence = 400, kCommittee = 2;
  constexpr auto kMostAtDefaults = std::chrono::seconds(25);
  const std::chrono::milliseconds silence(base::TestSize("TACET_SILENCE_MS", kUsualSilence));
  const bool at_defaults = silence == transport::https::HttpsWireSpec().most_silence;

  ServingForTest serving(OneRoundAMoment());
  serving.with_sessions = true;
  serving.spec.limits.long_poll = silence * 3 / 4;
  serving.Begin();
  Plan plan;
  std::vector<std::unique_ptr<RunningMember>> members;
  for (uint64_t number = 0; number < serving.members.manifest().members().size(); ++number) {
    members.push_back(std::make_unique<RunningMember>(serving, number, silence, plan));
  }
  std::jthread ticks([&serving](const std::stop_token& token) {
    while (!token.stop_requested()) {
      EXPECT_TRUE(serving.rounds->Tick().ok());
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  });
  const auto published = [&serving] {
    return std::ranges::count(serving.rounds->Attempts(), protocol::AttemptPhase::kPublished,
                              &server::AttemptRecord::phase);
  };
  for (const Moment moment : kMoments) {
    SCOPED_TRACE(kNames[static_cast<size_t>(moment)]);
    const auto before = published();
    plan.Set(moment, kCommittee);
    transport::http::WaitUntil([&] { return published() > before; });
    EXPECT_EQ(plan.left(), 0);
    const auto took = steady_clock::now() - plan.first();
    RecordProperty(kNames[static_cast<size_t>(moment)],
                   static_cast<int>(std::chrono::duration<double, std::milli>(took).count()));
    EXPECT_TRUE(!at_defaults || took <= kMostAtDefaults);
    if (HasFatalFailure() || HasNonfatalFailure()) break;
  }
  for (const auto& member : members) {
    if (HasNonfatalFailure()) break;
    member->Join();
    EXPECT_TRUE(member->end().ok()) << member->end();
    EXPECT_THAT(member->session().violations(), ::testing::IsEmpty());
    EXPECT_EQ(member->session().model(), members[0]->session().model());
    EXPECT_GE(member->wire().connections(), 1 + member->wire().forgotten());
  }
  EXPECT_EQ(serving.rounds->Attempts().size(), std::size(kMoments));
}

}  // namespace
}  // namespace tacet::live
