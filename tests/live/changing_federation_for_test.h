// A live federation in one process whose members change from epoch to epoch: the server and the
// sites keep their state, and take the manifest of the next epoch one after the other.
#ifndef TACET_TESTS_LIVE_CHANGING_FEDERATION_FOR_TEST_H_
#define TACET_TESTS_LIVE_CHANGING_FEDERATION_FOR_TEST_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tacet/agreement/epoch_chain.h"
#include "tacet/protocol/epoch_opening.h"
#include "tests/live/live_members_for_test.h"

namespace tacet::live::testing {

class ChangingFederation {
 public:
  // The addition of one epoch to the chain.
  struct Epoch {
    agreement::SignedManifest manifest;
    crypto::SecretBytes key;
    std::vector<int> sites;  // by member number
    std::map<int, agreement::ExchangeKeys> exchange_keys;

    uint64_t NumberOf(int site) const {
      return static_cast<uint64_t>(std::ranges::find(sites, site) - sites.begin());
    }
    const crypto::Digest& hash() const { return manifest.manifest().hash(); }
    const agreement::ManifestSpec& agreed() const { return manifest.manifest().spec(); }
  };

  struct Site {
    Site(int number, crypto::Entropy& keys_from)
        : id(number),
          keys(agreement::MemberKeys::Generate(keys_from)),
          updates(static_cast<uint64_t>(number)),
          entropy(1, fmt::format("site {}", number)) {}

    int id;
    agreement::MemberKeys keys;
    FailingMemberState state;
    member::testing::MemoryNodeLog log;
    FixedUpdates updates;
    ledger::testing::MemoryLedger memory_ledger = ledger::testing::NewMemoryLedger(Header());
    crypto::InsecureSeededEntropy entropy;
    const Epoch* epoch = nullptr;  // that it has joined
    std::unique_ptr<TestWire> wire;
    std::unique_ptr<member::RemoteServer> remote;
    std::unique_ptr<ledger::PrivacyLedger> ledger;
    std::unique_ptr<member::MemberSession> session;
    absl::Status last;  // of Step
    bool done = false;
    // The answer of a lying server in the place of an honest one; empty: nothing else.
    std::function<absl::StatusOr<base::Bytes>(const protocol::RequestBody&,
                                              absl::StatusOr<base::Bytes>)>
        lie;
    // Digests of what it sealed for each attempt.
    std::map<secagg::AttemptNumber, std::set<crypto::Digest>> sealed;
  };

  static ledger::LedgerHeader Header() {
    ledger::LedgerHeader header;
    header.population = "ward 3";
    header.spending.composition = accounting::Composition::kAnyEvents;
    return header;
  }

  explicit ChangingFederation(uint32_t rounds = 6) {
    agreed_ = ExactAgreement();
    agreed_.rounds = rounds;
    agreed_.spare_attempts = 20;
    agreed_.committee = {};
    agreed_.committee_members.clear();
    agreed_.federation = {7};
  }

  // Signs the epoch after `before`, or the first; nobody joins it.
  Epoch& Sign(const std::vector<int>& sites, const Epoch* before = nullptr,
              const std::function<void(agreement::SignedManifestSpec&)>& change = {}) {
    agreement::SignedManifestSpec spec;
    spec.federation = "hospitals";
    spec.epoch = before == nullptr ? 0 : before->manifest.epoch() + 1;
    if (before != nullptr) spec.predecessor = before->hash();
    spec.agreement = agreed_;
    spec.agreement.sampling.cohort = sites.size();
    spec.authority = authority_;
    std::map<int, agreement::ExchangeKeys> exchange_keys;
    for (const int id : sites) {
      agreement::ExchangeKeys exchange = agreement::ExchangeKeys::Generate(entropy_);
      const agreement::MemberKeys& keys = SiteOf(id).keys;
      spec.members.push_back(agreement::SignMember(fmt::format("site-{}", id), keys.signing,
                                                   keys.sealing.public_key(),
                                                   exchange.public_keys()));
      exchange_keys.emplace(id, std::move(exchange));
    }
    if (change) change(spec);
    epochs_.push_back(std::make_unique<Epoch>(
        Epoch{.manifest = protocol::testing::ValueOf(
                  agreement::SignedManifest::Sign(std::move(spec), coordinator_)),
              .key = entropy_.Draw(32),
              .sites = sites,
              .exchange_keys = std::move(exchange_keys)}));
    return *epochs_.back();
  }

  // Signs an epoch that begins a training of so many rounds, of another model.
  Epoch& SignTraining(const std::vector<int>& sites, const Epoch& before, uint32_t rounds,
                      uint64_t dimension = 7,
                      const std::function<void(agreement::SignedManifestSpec&)>& change = {}) {
    return Sign(sites, &before, [&](agreement::SignedManifestSpec& spec) {
      spec.agreement.training = spec.epoch;
      spec.agreement.model = "another";
      spec.agreement.dimension = dimension;
      spec.agreement.initial_model = protocol::testing::ZerosOf(dimension).Digest();
      spec.agreement.rounds = rounds;
      if (change) change(spec);
    });
  }

  // Key packets of an epoch in the server's store.
  size_t PacketsOf(uint32_t epoch) const {
    const auto items =
        store_->Items({.epoch = epoch, .round = server::kOpeningRound, .attempt = 0});
    return static_cast<size_t>(std::ranges::count(
        protocol::testing::ValueOf(items), server::ItemKind::kKeyPacket, &server::Item::kind));
  }

  absl::Status Serve(const Epoch& epoch) {
    handler_.reset();
    server.reset();
    serving_ = nullptr;
    TACET_ASSIGN_OR_RETURN(
        server, server::RoundServer::Create(
                    epoch.manifest, options, *store_, *blobs_, [this] { return now; }, cohorts_));
    limits_ = std::make_unique<server::RequestLimits>(
        server::RequestLimitsSpec{
            .requests_a_second = 1e9, .burst = 1e9, .bytes_a_second = 1e12, .burst_bytes = 1e12},
        epoch.sites.size(), [this] { return static_cast<double>(now); });
    handler_ = std::make_unique<server::RequestHandler>(epoch.manifest, *server, *limits_,
                                                        observer_, [this] { return now; });
    serving_ = &epoch;
    return absl::OkStatus();
  }

  // A new process at the site, under this epoch.
  absl::Status Join(int id, const Epoch& epoch) {
    return JoinAs(id, epoch, epoch.exchange_keys.at(id));
  }
  absl::Status JoinAs(int id, const Epoch& epoch, const agreement::ExchangeKeys& exchange_keys) {
    Site& site = SiteOf(id);
    const uint64_t number = epoch.NumberOf(id);
    site.session.reset();
    site.done = false;
    site.epoch = &epoch;
    site.wire = std::make_unique<TestWire>(
        epoch.manifest, [this] { return now; },
        [this](std::span<const uint8_t> request) { return Answer(request); });
    site.wire->watch = [&site](const protocol::RequestBody& body) {
      const auto* put = std::get_if<protocol::PutPartRequest>(&body);
      if (put == nullptr || put->name.kind != protocol::BulkKind::kUpload) return;
      site.sealed[put->name.attempt.number].insert(put->digest);
    };
    site.wire->lie = [&site](const protocol::RequestBody& body,
                             absl::StatusOr<base::Bytes> answer) {
      return site.lie ? site.lie(body, std::move(answer)) : std::move(answer);
    };
    site.remote = std::make_unique<member::RemoteServer>(epoch.manifest, number, site.keys.signing,
                                                         *site.wire, [this] { return now; });
    TACET_ASSIGN_OR_RETURN(auto opened, ledger::testing::OpenMemoryLedger(site.memory_ledger));
    TACET_ASSIGN_OR_RETURN(
        site.ledger, ledger::PrivacyLedger::Create(std::move(opened), [this] { return now; }));
    TACET_ASSIGN_OR_RETURN(policy::Permission permission,
                           policy::Permission::WithoutPolicy(std::nullopt, epoch.manifest));
    TACET_ASSIGN_OR_RETURN(site.session, member::MemberSession::Create(
                                             {.manifest = epoch.manifest,
                                              .member = number,
                                              .signing_key = site.keys.signing,
                                              .exchange_keys = exchange_keys,
                                              .epoch_key = epoch.key,
                                              .server = *site.remote,
                                              .state = site.state,
                                              .updates = site.updates,
                                              .log = site.log,
                                              .ledger = *site.ledger,
                                              .permission = std::move(permission),
                                              .entropy = site.entropy,
                                              .clock = [this] { return now; }},
                                             protocol::testing::ZerosOf(epoch.agreed().dimension)));
    return absl::OkStatus();
  }

  // The server, then its members.
  void Begin(const Epoch& epoch) {
    const absl::Status serves = Serve(epoch);
    ASSERT_TRUE(serves.ok()) << serves;
    for (const int id : epoch.sites) {
      const absl::Status joined = Join(id, epoch);
      ASSERT_TRUE(joined.ok()) << id << ": " << joined;
    }
  }

  // Signs an epoch, and begins it.
  const Epoch& BeginEpoch(const std::vector<int>& sites, const Epoch* before = nullptr,
                          const std::function<void(agreement::SignedManifestSpec&)>& change = {}) {
    const Epoch& epoch = Sign(sites, before, change);
    Begin(epoch);
    return epoch;
  }

  // Time for the server, then a step of each site that has joined its epoch.
  void Turn(uint64_t seconds = 5) {
    now += seconds;
    for (const auto& [id, site] : sites_) {
      if (site->session != nullptr && site->epoch == serving_) {
        server->NotePresence(serving_->NumberOf(id));
      }
    }
    if (server != nullptr) {
      const absl::Status ticked = server->Tick();
      EXPECT_TRUE(ticked.ok()) << ticked;
    }
    for (const auto& [id, site] : sites_) StepOf(*site);
  }
  void StepOf(Site& site) {
    if (site.session == nullptr) return;
    const auto progress = site.session->Step();
    site.last = progress.status();
    site.done = progress.ok() && *progress == member::MemberSession::Progress::kDone;
    if (!progress.ok()) (void)Join(site.id, *site.epoch);
  }
  void RunUntil(uint32_t rounds, int most = 150) {
    for (int turn = 0; turn < most && server->Status().finished < rounds; ++turn) Turn();
    for (int turn = 0; turn < most && !HaveAllApplied(); ++turn) Turn();
    EXPECT_GE(server->Status().finished, rounds);
    EXPECT_TRUE(HaveAllApplied());
  }
  // Until the server has published so many rounds, and only the sites in `appliers` have applied
  // the last of them: for the others the epoch ends before they heard of it.
  void PublishFor(uint32_t rounds, const std::set<int>& appliers) {
    RunUntil(rounds - 1);
    for (int turn = 0; turn < 50 && server->Status().finished < rounds; ++turn) {
      now += 5;
      for (const int id : serving_->sites) server->NotePresence(serving_->NumberOf(id));
      EXPECT_TRUE(server->Tick().ok());
      for (const int id : serving_->sites) {
        if (server->Status().finished < rounds) StepOf(SiteOf(id));
      }
    }
    ASSERT_EQ(server->Status().finished, rounds);
    for (const int id : serving_->sites) {
      ASSERT_EQ(SiteOf(id).session->next_round(), rounds - 1);
      if (appliers.contains(id)) StepOf(SiteOf(id));
      ASSERT_EQ(SiteOf(id).session->next_round(), appliers.contains(id) ? rounds : rounds - 1);
    }
  }
  // Whether every site has the model of the last round that is published.
  bool HaveAllApplied() {
    return std::ranges::all_of(serving_->sites, [this](int id) {
      return SiteOf(id).session->next_round() == server->Status().finished;
    });
  }
  // Until all sites of the epoch are done.
  void Finish(int most = 200) { FinishAt(serving_->sites, most); }
  // Until these are; the others may be absent.
  void FinishAt(const std::vector<int>& ids, int most = 320) {
    const auto rests = [this](int id) { return SiteOf(id).done; };
    for (int turn = 0; turn < most && !std::ranges::all_of(ids, rests); ++turn) Turn();
    for (const int id : ids) EXPECT_TRUE(rests(id)) << id << ": " << SiteOf(id).last;
  }

  Site& SiteOf(int id) {
    auto& site = sites_[id];
    if (site == nullptr) site = std::make_unique<Site>(id, entropy_);
    return *site;
  }
  // The state that a site keeps, and its digests as the members of an epoch compute them.
  protocol::Checkpoint CheckpointOf(int id) {
    const agreement::Manifest& manifest = SiteOf(id).epoch->manifest.manifest();
    return protocol::testing::ValueOf(protocol::ReadCheckpoint(
        protocol::testing::ValueOf(SiteOf(id).state.LoadCheckpoint()), manifest.federation(),
        manifest.spec().training, protocol::StateSizeOf(manifest.spec())));
  }
  static protocol::OpeningState StateUnder(const Epoch& epoch, const protocol::Checkpoint& state) {
    const auto key = secagg::DigestKey::OfEpoch(epoch.key, epoch.agreed().scheme, epoch.hash(),
                                                epoch.manifest.epoch());
    return protocol::OpeningStateOf(state.next_round, protocol::DigestsOf(state, key));
  }
  const Epoch& EpochOf(uint32_t number) const {
    const auto found = std::ranges::find_if(
        epochs_, [number](const auto& epoch) { return epoch->manifest.epoch() == number; });
    return **found;
  }

  // The model of the training that is served when every round averages the updates of those who
  // sealed for the attempt that was published last.
  std::vector<double> Expected() const {
    std::vector<double> model(serving_->agreed().dimension);
    std::map<uint32_t, server::AttemptRecord> rounds;
    std::vector<server::AttemptRecord> all = lost_;
    for (const server::AttemptRecord& record : server->Attempts()) all.push_back(record);
    for (const server::AttemptRecord& record : all) {
      if (record.phase == protocol::AttemptPhase::kPublished &&
          record.attempt.number.epoch >= serving_->manifest.training()) {
        rounds[record.attempt.number.round] = record;
      }
    }
    for (const auto& [round, record] : rounds) {
      std::vector<int> sites = EpochOf(record.attempt.number.epoch).sites;
      std::erase_if(sites, [this, number = record.attempt.number](int id) {
        return !sites_.contains(id) || !sites_.at(id)->sealed.contains(number);
      });
      EXPECT_EQ(sites.size(), record.participants) << "round " << round;
      for (size_t i = 0; i < model.size(); ++i) {
        double sum = 0;
        for (const int id : sites) {
          sum += FixedUpdates::Value(static_cast<uint64_t>(id), record.attempt.number.round, i);
        }
        model[i] += sum / static_cast<double>(sites.size());
      }
    }
    return model;
  }
  // All sites of the epoch have one model, that of the plain averages.
  void ExpectModels() {
    const std::vector<double> expected = Expected();
    for (const int id : serving_->sites) {
      const member::MemberSession& session = *SiteOf(id).session;
      EXPECT_EQ(session.next_round(), serving_->agreed().rounds) << id;
      EXPECT_EQ(session.model(), SiteOf(serving_->sites.front()).session->model()) << id;
      for (size_t i = 0; i < expected.size(); ++i) {
        ASSERT_NEAR(session.model()[i], expected[i], 6e-3) << id << ", " << i;
      }
    }
  }
  // Nobody sealed twice for an attempt, and everything that was sealed was charged, in one ledger
  // under one federation.
  void ExpectCharges() {
    for (const auto& [id, site] : sites_) {
      auto reopened = protocol::testing::ValueOf(ledger::PrivacyLedger::Create(
          protocol::testing::ValueOf(ledger::testing::OpenMemoryLedger(site->memory_ledger))));
      for (const auto& [number, digests] : site->sealed) {
        EXPECT_EQ(digests.size(), 1u) << id;
        EXPECT_TRUE(
            reopened->Holds({.manifest_hash = EpochOf(number.epoch).hash(), .number = number}))
            << "site " << id << " epoch " << number.epoch << " round " << number.round;
      }
      EXPECT_EQ(reopened->ChargesOf(agreed_.federation), reopened->entries().size()) << id;
      EXPECT_GE(reopened->entries().size(), site->sealed.size()) << id;
    }
  }
  void ExpectNoViolations() {
    for (const auto& [id, site] : sites_) {
      for (const member::NodeEvent& event : site->log.events()) {
        EXPECT_NE(event.kind, member::NodeEventKind::kViolation)
            << id << ": " << event.what << ": " << event.text;
      }
    }
  }

  // Until all sites of the epoch are done. Checks what holds where nobody lies.
  void FinishWithoutFault() {
    Finish();
    ExpectModels();
    ExpectCharges();
    ExpectNoViolations();
  }

  std::vector<std::string> ViolationsOf(int id) {
    std::vector<std::string> names;
    for (const member::NodeEvent& event : SiteOf(id).log.events()) {
      if (event.kind == member::NodeEventKind::kViolation) names.push_back(event.what);
    }
    return names;
  }

  absl::StatusOr<base::Bytes> Answer(std::span<const uint8_t> request) {
    if (handler_ == nullptr) return base::Unavailable("the server is away");
    if (on_request) on_request(request);
    TACET_ASSIGN_OR_RETURN(server::HandledRequest handled, handler_->Handle(request, std::nullopt));
    if (const auto* waiting = std::get_if<server::Waiting>(&handled.next)) {
      return handler_->Answer(*waiting);
    }
    return std::get<base::Bytes>(std::move(handled.next));
  }
  void StopServer() {
    handler_.reset();
    server.reset();
    serving_ = nullptr;
  }
  void LoseServerFolder() {
    if (server != nullptr) {
      for (const server::AttemptRecord& record : server->Attempts()) lost_.push_back(record);
    }
    StopServer();
    store_ = std::make_unique<server::MemoryServerStore>();
    blobs_ = std::make_unique<server::MemoryBlobStore>();
  }

  std::function<void(std::span<const uint8_t> request)> on_request;  // every request of a member
  uint64_t now = 1'755'000'000;
  server::RoundServerOptions options{.collecting_seconds = 100,
                                     .unmasking_seconds = 50,
                                     .abandon_seconds = 1000,
                                     .kept_rounds = 3,
                                     .grace_seconds = 0,
                                     .retry_seconds = 0};
  std::unique_ptr<server::RoundServer> server;

 private:
  crypto::InsecureSeededEntropy entropy_{1, "changing federation"}, cohorts_{3, "cohorts"};
  crypto::SigningKey coordinator_ = crypto::SigningKey::Generate(entropy_);
  crypto::TlsKey authority_key_ = crypto::TlsKey::Generate();
  base::Bytes authority_ = protocol::testing::ValueOf(
      crypto::IssueAuthority({.common_name = "hospitals",
                              .role = crypto::CertificateRole::kAuthority,
                              .public_key = authority_key_.public_key(),
                              .hosts = {},
                              .not_before = 1'750'000'000,
                              .not_after = 1'760'000'000},
                             authority_key_));
  agreement::ManifestSpec agreed_;
  std::map<int, std::unique_ptr<Site>> sites_;
  std::vector<std::unique_ptr<Epoch>> epochs_;
  const Epoch* serving_ = nullptr;
  std::vector<server::AttemptRecord> lost_;  // with the server's folder
  std::unique_ptr<server::MemoryServerStore> store_ = std::make_unique<server::MemoryServerStore>();
  std::unique_ptr<server::MemoryBlobStore> blobs_ = std::make_unique<server::MemoryBlobStore>();
  TestObserver observer_;
  std::unique_ptr<server::RequestLimits> limits_;
  std::unique_ptr<server::RequestHandler> handler_;
};

}  // namespace tacet::live::testing

#endif  // TACET_TESTS_LIVE_CHANGING_FEDERATION_FOR_TEST_H_
