// A live federation in one process: a real server, real members, and wires between them at which a
// test can cut or alter everything.
#ifndef TACET_TESTS_LIVE_LIVE_MEMBERS_FOR_TEST_H_
#define TACET_TESTS_LIVE_LIVE_MEMBERS_FOR_TEST_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/base/unix_clock.h"
#include "tacet/crypto/hash.h"
#include "tacet/ledger/memory_ledger_for_test.h"
#include "tacet/member/member_session.h"
#include "tacet/member/memory_member_state.h"
#include "tacet/member/memory_node_log_for_test.h"
#include "tacet/member/memory_seat_anchor_for_test.h"
#include "tacet/protocol/small_federation_for_test.h"
#include "tacet/protocol/whole_requests_for_test.h"
#include "tacet/server/memory_server_store_for_test.h"
#include "tacet/server/request_handler.h"
#include "tacet/server/round_server.h"
#include "tacet/server/whole_parts_for_test.h"
#include "tacet/transport/relay/bundle.h"
#include "tacet/transport/relay/relay_wire.h"

namespace tacet::live::testing {

// Without noise and with fine quantisation, so that an average can be told from the updates.
inline agreement::ManifestSpec ExactAgreement(
    agreement::ManifestSpec spec = protocol::testing::SmallAgreement()) {
  spec.mechanism.noise_stddev = 0;
  spec.mechanism.without_noise = true;
  spec.mechanism.scale = 1e-7;
  return spec;
}

// A committee of seven among nine members.
inline agreement::ManifestSpec SevenOfNine() {
  return ExactAgreement(protocol::testing::AgreementWith(2, {7, 0, 4, 2, 8, 1, 5}));
}

class TestObserver final : public server::RequestObserver {
 public:
  void OnRequest(std::string_view, const absl::Status& status, size_t, size_t) override {
    if (on_request) on_request(status);
  }

  std::function<void(const absl::Status&)> on_request;
};

// A disk that may be full, or that holds another upload than the one that was sealed.
class FailingMemberState final : public member::MemoryMemberState {
 public:
  absl::Status SaveCheckpoint(base::Bytes checkpoint) override {
    if (full) return base::Unavailable("the disk is full");
    return MemoryMemberState::SaveCheckpoint(std::move(checkpoint));
  }
  absl::Status SaveMemory(std::span<const uint8_t> memory) override {
    ++writes;
    if (full) return base::Unavailable("the disk is full");
    return MemoryMemberState::SaveMemory(memory);
  }
  absl::Status KeepOnly(const secagg::AttemptNumber& attempt) override {
    ++writes;
    return MemoryMemberState::KeepOnly(attempt);
  }
  // The upload that is sent is there when the session asks again.
  absl::Status SaveUpload(const secagg::Attempt& attempt,
                          std::span<const uint8_t> upload) override {
    ++writes;
    if (full) return base::Unavailable("the disk is full");
    if (on_upload) on_upload();
    sealed[attempt.number].insert(crypto::Sha256(upload));
    if (!spoil_upload) return MemoryMemberState::SaveUpload(attempt, upload);
    base::Bytes spoiled(upload.begin(), upload.end());
    spoil_upload(spoiled);
    TACET_RETURN_IF_ERROR(MemoryMemberState::SaveUpload(attempt, spoiled));
    return base::Unavailable("the disk is full");
  }
  absl::Status Record(const secagg::Attempt& attempt, secagg::JournalStep step,
                      std::span<const uint8_t> message) override {
    if (full || (fail_record && fail_record(step))) return base::Unavailable("the disk is full");
    return MemoryMemberState::Record(attempt, step, message);
  }

  int writes = 0;     // of memory, uploads, and of what is forgotten with an attempt
  bool full = false;  // it takes nothing
  std::map<secagg::AttemptNumber, std::set<crypto::Digest>> sealed;
  std::function<bool(secagg::JournalStep step)> fail_record;
  std::function<void(base::Bytes& upload)> spoil_upload;
  std::function<void()> on_upload;
};

// Whether members call the server in bundles, as inside another framework: every test of this
// folder holds there, too (CMakeLists.txt).
inline bool CallsAreRelayed() { return std::getenv("TACET_RELAYED_CALLS") != nullptr; }

// One member's way to the server. What it alters stands for a server, a proxy, or a framework, that
// lies.
class TestWire final : public protocol::Wire {
 public:
  using Handle = std::function<absl::StatusOr<base::Bytes>(std::span<const uint8_t>)>;
  TestWire(const agreement::SignedManifest& manifest, base::UnixClock clock, Handle handle)
      : manifest_(manifest), clock_(std::move(clock)), handle_(std::move(handle)) {}

  absl::StatusOr<base::Bytes> Call(std::span<const uint8_t> request, uint32_t seconds) override {
    return CallsAreRelayed() ? relay_.Call(request, seconds) : Answer(request);
  }
  std::vector<absl::StatusOr<base::Bytes>> CallTogether(std::span<const Request> requests,
                                                        uint32_t seconds) override {
    return CallsAreRelayed() ? relay_.CallTogether(requests, seconds)
                             : Wire::CallTogether(requests, seconds);
  }
  void Stop() override { cut = true; }

  bool cut = false;
  int calls = 0;
  int lose_request = -1;  // counted from 0
  int lose_answer = -1;
  std::function<void(const protocol::RequestBody&)> watch;
  // Requests that never reach the server; `lie` answers them.
  std::function<bool(const protocol::RequestBody&)> swallows;
  std::function<absl::StatusOr<base::Bytes>(const protocol::RequestBody&,
                                            absl::StatusOr<base::Bytes>)>
      lie;

 private:
  // One message of the framework, and the next one.
  void Carry() {
    const std::optional<base::Bytes> bundle = relay_.Take();
    const auto requests = transport::relay::ReadRequests(bundle.value());
    std::vector<transport::relay::RelayedAnswer> answers;
    for (const std::span<const uint8_t> request : requests.value()) {
      answers.push_back({crypto::Sha256(request), Answer(request)});
    }
    relay_.Deliver(transport::relay::WriteAnswers(answers));
  }

  absl::StatusOr<base::Bytes> Answer(std::span<const uint8_t> request) {
    const protocol::RequestBody body =
        protocol::testing::ValueOf(protocol::ReadMemberRequest(request, manifest_, clock_())).body;
    const int call = calls++;
    if (cut || call == lose_request) return base::Unavailable("the wire is cut");
    if (watch) watch(body);
    absl::StatusOr<base::Bytes> answer = base::Unavailable("nobody is asked");
    if (!swallows || !swallows(body)) answer = handle_(request);
    if (call == lose_answer) return base::Unavailable("the wire is cut");
    if (lie) answer = lie(body, std::move(answer));
    return answer;
  }

  const agreement::SignedManifest& manifest_;
  base::UnixClock clock_;
  Handle handle_;
  transport::relay::RelayWire relay_{[this] { Carry(); }};
};

// The same contribution whenever it is asked for.
class FixedUpdates final : public trainer::UpdateSource {
 public:
  explicit FixedUpdates(uint64_t member) : member_(member) {}

  static float Value(uint64_t member, uint32_t round, size_t i) {
    return 0.01F * static_cast<float>(member + 1) - 0.002F * static_cast<float>(round) +
           0.0005F * static_cast<float>(i % 3);
  }
  absl::Status Update(const trainer::AttemptContext& context, std::span<const float>,
                      std::span<float> update) override {
    ++asked;
    if (stopped) return absl::CancelledError("stopped");
    if (!fail.empty()) return base::Unavailable("{}", fail);
    for (size_t i = 0; i < update.size(); ++i) update[i] = Value(member_, context.round, i);
    if (not_finite) update[0] = NAN;
    if (on_update) on_update(update);
    return absl::OkStatus();
  }

  int asked = 0;
  bool stopped = false;
  std::string fail;
  bool not_finite = false;
  std::function<void(std::span<const float> update)> on_update;

 private:
  uint64_t member_;
};

class LiveFederation {
 public:
  // The parts of a member outside of its session.
  struct Site {
    Site(uint64_t member, LiveFederation& all, const ledger::LedgerHeader& header)
        : number(member),
          wire(
              all.members.manifest(), [this, &all] { return all.now + clock_ahead; },
              [&all, member](std::span<const uint8_t> request) {
                return all.carry ? all.carry(member, request) : all.Answer(request);
              }),
          remote(all.members.manifest(), member, all.members.site(member).signing, wire,
                 [this, &all] { return all.now + clock_ahead; }),
          updates(member),
          memory_ledger(ledger::testing::NewMemoryLedger(header)),
          entropy(1, fmt::format("site {}", member)) {}

    uint64_t number;
    uint64_t clock_ahead = 0;  // of the server's; seconds behind wrap around
    TestWire wire;
    member::RemoteServer remote;
    FailingMemberState state;
    member::testing::MemorySeatAnchor anchor;
    member::testing::MemoryNodeLog log;
    FixedUpdates updates;
    ledger::testing::MemoryLedger memory_ledger;
    // For the site's data, when other federations spend them, too.
    ledger::testing::MemoryLedger* shared_ledger = nullptr;
    ledger::ChargingRule rule = ledger::ChargingRule::kAnnouncedAttempts;
    std::optional<policy::Permission> permission;  // of the site's policy; none: it has no policy
    std::unique_ptr<ledger::PrivacyLedger> ledger;
    crypto::InsecureSeededEntropy entropy;
    std::unique_ptr<member::MemberSession> session;
    absl::Status last;  // of Step
    bool away = false;
    bool done = false;
    // Everything of which a member may say one thing only, as it reached the server.
    std::map<std::string, std::set<crypto::Digest>> said;
  };

  explicit LiveFederation(agreement::ManifestSpec agreement = ExactAgreement(),
                          uint32_t kept_rounds = 3, int count = 5)
      : members(std::move(agreement), count) {
    options.kept_rounds = kept_rounds;
    RestartServer();
    ledger::LedgerHeader header;
    header.population = "ward 3";
    for (uint64_t number = 0; number < members.manifest().members().size(); ++number) {
      sites.push_back(std::make_unique<Site>(number, *this, header));
      Site& site = *sites.back();
      site.wire.watch = [this, &site](const protocol::RequestBody& body) { Watch(site, body); };
      Restart(site);
    }
  }

  void RestartServer() {
    handler.reset();
    server.reset();
    server = protocol::testing::ValueOf(server::RoundServer::Create(
        members.manifest(), options, *facts, *objects, [this] { return now; },
        draws != nullptr ? *draws : cohorts));
    handler = std::make_unique<server::RequestHandler>(members.manifest(), *server, limits,
                                                       observer, [this] { return now; });
  }

  // A new process at the same site, which has no session after a refusal.
  absl::Status TryToRestart(Site& site) {
    site.session.reset();
    ledger::testing::MemoryLedger& memory =
        site.shared_ledger != nullptr ? *site.shared_ledger : site.memory_ledger;
    const policy::Permission permission =
        site.permission.has_value() ? *site.permission
                                    : protocol::testing::ValueOf(policy::Permission::WithoutPolicy(
                                          std::nullopt, members.manifest()));
    site.ledger = protocol::testing::ValueOf(ledger::PrivacyLedger::Create(
        protocol::testing::ValueOf(ledger::testing::OpenMemoryLedger(memory)),
        [this] { return now; }, permission.year()));
    auto session = member::MemberSession::Create(
        {.manifest = members.manifest(),
         .member = site.number,
         .signing_key = members.site(site.number).signing,
         .exchange_keys = members.exchange_keys(site.number),
         .epoch_key = members.epoch_key(),
         .server = site.remote,
         .state = site.state,
         .updates = site.updates,
         .log = site.log,
         .ledger = *site.ledger,
         .permission = permission,
         .entropy = site.entropy,
         .rule = site.rule,
         .clock = [this, &site] { return now + site.clock_ahead; },
         .anchor = &site.anchor,
         .checkpoints = checkpoints},
        protocol::testing::ZerosOf(members.manifest().manifest().spec().dimension));
    if (!session.ok()) return session.status();
    site.session = *std::move(session);
    return absl::OkStatus();
  }
  void Restart(Site& site) {
    const absl::Status restarted = TryToRestart(site);
    ASSERT_TRUE(restarted.ok()) << restarted;
  }

  // Everybody who is there is connected, whatever its session does.
  void Tick(uint64_t seconds) {
    now += seconds;
    for (const auto& site : sites) {
      if (!site->away) server->NotePresence(site->number);
    }
    const absl::Status ticked = server->Tick();
    EXPECT_TRUE(ticked.ok()) << ticked;
  }
  // One step of everybody who is there; a site whose step fails is restarted, or continues.
  void Steps() {
    for (auto& site : sites) {
      if (site->away) continue;
      const auto progress = site->session->Step();
      site->last = progress.status();
      site->done = progress.ok() && *progress == member::MemberSession::Progress::kDone;
      if (!progress.ok() && restarts) Restart(*site);
    }
  }
  void Turn(uint64_t seconds = 1) {
    Tick(seconds);
    if (between) between();
    Steps();
  }

  // After each of many turns every member is a new process.
  void RunInNewProcesses() {
    for (int turn = 0; turn < 60; ++turn) {
      Turn(5);
      for (auto& site : sites) Restart(*site);
    }
  }

  // Until everybody who is there is done, after at most `most` turns.
  void Run(int most = 200) {
    const auto rests = [](const auto& site) { return site->away || site->done; };
    int turn = 0;
    do {
      Turn(5);
    } while (!std::ranges::all_of(sites, rests) && ++turn < most);
    for (const auto& site : sites) {
      EXPECT_TRUE(rests(site)) << site->number << ": " << site->last;
    }
  }
  // Until `condition`, which must come true, after the server's or the members' part of a turn.
  void RunUntil(const std::function<bool()>& condition, uint64_t seconds = 5) {
    for (int turn = 0; turn < 200; ++turn) {
      Tick(seconds);
      if (condition()) return;
      Steps();
      if (condition()) return;
    }
    ADD_FAILURE() << "it never came true";
  }

  Site& site(uint64_t number) { return *sites[number]; }
  uint64_t MemberOn(uint32_t seat) const { return members.committee()[seat].member; }
  // An object of the attempt that is unmasking, as a member on the committee is given it.
  base::Bytes Fetch(protocol::BulkKind kind, uint32_t index = 0) const {
    return protocol::testing::ValueOf(server::testing::PartOf(
        *server, MemberOn(0), {.name = {.kind = kind, .attempt = Current()}, .index = index}));
  }
  // The last attempt begun.
  secagg::Attempt Current() const { return server->Status().last->attempt; }
  bool IsAt(protocol::AttemptPhase phase) const {
    return server->Status().last.has_value() && server->Status().last->phase == phase;
  }
  bool IsInvited(uint64_t number) const {
    return protocol::testing::ValueOf(server->AnnouncementFor(number, 0, false)).current->invited ==
           protocol::Invited::kYes;
  }

  // The federation's model if the uploads that the server took are its sums, with the data
  // of those who gave them.
  std::vector<double> Expected(uint32_t rounds) {
    std::vector<double> model(protocol::testing::kSmallDimension);
    for (uint32_t round = 0; round < rounds; ++round) {
      auto divisor = static_cast<double>(published.at(round).size());
      const agreement::ManifestSpec& spec = members.manifest().manifest().spec();
      if (spec.sampling.dummy_uploads)
        divisor *=
            static_cast<double>(spec.sampling.cohort) / static_cast<double>(spec.sampling.clients);
      for (size_t i = 0; i < model.size(); ++i) {
        double sum = 0;
        for (const uint64_t member : given[round]) sum += FixedUpdates::Value(member, round, i);
        model[i] += sum / divisor;
      }
    }
    return model;
  }

  // All of `numbers` have the model of the plain averages; 3e-3 is beyond six standard deviations
  // of what quantisation adds in three rounds, and a cohort of others is off by more.
  void ExpectModels(uint32_t rounds, const std::vector<uint64_t>& numbers) {
    const std::vector<double> expected = Expected(rounds);
    for (const uint64_t number : numbers) {
      const member::MemberSession& session = *site(number).session;
      EXPECT_EQ(session.next_round(), rounds) << number;
      EXPECT_EQ(session.model(), site(numbers.front()).session->model()) << number;
      for (size_t i = 0; i < expected.size(); ++i) {
        ASSERT_NEAR(session.model()[i], expected[i], 3e-3) << number << ", " << i;
      }
    }
  }
  void ExpectNobodySpokeTwice() {
    for (const auto& site : sites) {
      for (const auto& [what, digests] : site->said) {
        EXPECT_EQ(digests.size(), 1u) << "member " << site->number << ": " << what;
      }
    }
  }
  void ExpectNobodySealedTwice() {
    for (const auto& site : sites) {
      for (const auto& [number, digests] : site->state.sealed) {
        EXPECT_EQ(digests.size(), 1u) << "member " << site->number
                                      << " sealed twice: " << number.round << "/" << number.attempt;
      }
    }
  }
  void ExpectNoViolations() {
    for (const auto& site : sites) {
      for (const member::NodeEvent& event : site->log.events()) {
        EXPECT_NE(event.kind, member::NodeEventKind::kViolation)
            << site->number << ": " << event.what << ": " << event.text;
      }
    }
  }

  // Until everybody is done. Checks what holds where nobody lies.
  void RunWithoutFault(uint32_t rounds, const std::vector<uint64_t>& numbers) {
    Run();
    ExpectModels(rounds, numbers);
    ExpectNoViolations();
    ExpectNobodySpokeTwice();
  }

  absl::StatusOr<base::Bytes> Answer(std::span<const uint8_t> request) {
    if (hear) hear(request);
    TACET_ASSIGN_OR_RETURN(server::HandledRequest handled, handler->Handle(request, std::nullopt));
    const auto* waiting = std::get_if<server::Waiting>(&handled.next);
    absl::StatusOr<base::Bytes> answer = waiting != nullptr
                                             ? handler->Answer(*waiting)
                                             : std::get<base::Bytes>(std::move(handled.next));
    if (hear && answer.ok()) hear(*answer);
    return answer;
  }

  // Notes a request of `site`, and who is in which round: the last part makes an upload taken.
  void Watch(Site& site, const protocol::RequestBody& body) {
    const auto note = [&](std::string_view what, const secagg::Attempt& attempt,
                          const crypto::Digest& digest) {
      site.said[fmt::format("{} {}/{}", what, attempt.number.round, attempt.number.attempt)].insert(
          digest);
    };
    if (const auto* put = std::get_if<protocol::PutPartRequest>(&body)) {
      // Sealed again by every process.
      if (put->name.kind == protocol::BulkKind::kCheckpoint && restarts) return;
      note(protocol::BulkKindName(put->name.kind), put->name.attempt, put->digest);
      if (put->name.kind == protocol::BulkKind::kUpload) {
        published[put->name.attempt.number.round].insert(site.number);
        const member::MemberMemory memory = protocol::testing::ValueOf(
            member::ReadMemberMemory(protocol::testing::ValueOf(site.state.LoadMemory())));
        if (memory.participation == member::Participation::kYes) {
          given[put->name.attempt.number.round].insert(site.number);
        }
      }
    } else if (const auto* vote = std::get_if<protocol::PutVoteRequest>(&body)) {
      note("vote", vote->attempt, crypto::Sha256(vote->vote));
    }
  }

  bool restarts = true;
  // Where calls reach the server over a network.
  std::function<absl::StatusOr<base::Bytes>(uint64_t member, std::span<const uint8_t>)> carry;
  std::function<void(std::span<const uint8_t>)> hear;  // every request and every answer
  std::function<void()> between;                     // the server's part of a turn and the members'
  member::SharedCheckpoints* checkpoints = nullptr;  // of the sessions started from now on
  uint64_t now = 1'755'000'000;
  protocol::testing::SmallFederation members;
  server::RoundServerOptions options{.collecting_seconds = 100,
                                     .unmasking_seconds = 50,
                                     .abandon_seconds = 1000,
                                     .kept_rounds = 3,
                                     .grace_seconds = 0,
                                     .retry_seconds = 0};
  server::MemoryServerStore store;
  server::MemoryBlobStore blobs;
  // The stores of the next server: these two, or stores of the test's.
  server::ServerStore* facts = &store;
  server::BlobStore* objects = &blobs;
  crypto::InsecureSeededEntropy cohorts{3, "cohorts"};
  crypto::Entropy* draws = nullptr;  // of a server that is not honest, from its next start on
  TestObserver observer;
  server::RequestLimits limits{
      {.requests_a_second = 1e9, .burst = 1e9, .bytes_a_second = 1e12, .burst_bytes = 1e12},
      members.manifest().members().size(),
      [this] { return static_cast<double>(now); }};
  std::unique_ptr<server::RoundServer> server;
  std::unique_ptr<server::RequestHandler> handler;
  std::vector<std::unique_ptr<Site>> sites;
  // The members that uploaded, by round: the cohort as long as every round needs one attempt.
  std::map<uint32_t, std::set<uint64_t>> published;
  std::map<uint32_t, std::set<uint64_t>> given;  // of them, whose data are in their uploads
};

}  // namespace tacet::live::testing

#endif  // TACET_TESTS_LIVE_LIVE_MEMBERS_FOR_TEST_H_
