// A server that lies to unmodified programs, and members that seem to lie to it: a proxy changes
// the messages of both directions.
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "fmt/core.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/float_bytes.h"
#include "tacet/secagg/closed_round.h"
#include "tacet/secagg/whole_messages_for_test.h"
#include "tacet/storage/file/digest_key_file.h"
#include "tests/integration/haystack_for_test.h"
#include "tests/integration/live_federation_for_test.h"
#include "tests/integration/lying_proxy_for_test.h"
#include "tests/integration/recorded_rounds_for_test.h"

namespace tacet::app {
namespace {

using base::Bytes;
using protocol::Announcement;
using protocol::AttemptPhase;
using protocol::BulkKind;
using protocol::FetchPartRequest;
using protocol::PutPartRequest;
using ::testing::Ge;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class LyingProxyTest : public LiveFederationTest {
 protected:
  explicit LyingProxyTest(int rounds) : LiveFederationTest(rounds) {
    // The lies of the proxy make sums wrong, for which an honest site would be left out.
    server_flags_ = {"--behind-balancer",      "",  "--collecting-seconds",       "4",
                     "--unmasking-seconds",    "8", "--member-requests-a-second", "1000",
                     "--most-rounds-left-out", "1"};
  }

  void SetUp() override {
    SetUpFolders();
    BeginServer();
    auto hub = OpenSite(path_ / "hub", path_ / "hub.key");
    ASSERT_TRUE(hub.ok()) << hub.status();
    auto proxy = LyingProxy::Start(*std::move(hub), reached_at_);
    ASSERT_TRUE(proxy.ok()) << proxy.status();
    proxy_ = *std::move(proxy);
    reached_at_ = proxy_->Address();
    const auto& members = manifest().members();
    for (uint64_t number = 0; number < members.size(); ++number) {
      number_[members[number].name] = number;
    }
    PrepareLies();
    for (const std::string& site : sites_) StartSite(site);
  }
  void TearDown() override {
    LiveFederationTest::TearDown();
    proxy_.reset();  // it calls lies, which refer to this
  }
  virtual void PrepareLies() {}

  const agreement::SignedManifest& manifest() const { return proxy_->manifest(); }

  std::unique_ptr<LyingProxy> proxy_;
  std::map<std::string, uint64_t> number_;  // of sites, as members
};

// Subject of the lie in each round; every lie is about attempt 0, and about it alone.
enum Round : uint32_t {
  kAlteredSum = 1,
  kAnotherNumber,
  kFork,
  kOldAnnouncement,
  kDroppedUpload,
  kOneUploadAlone,
  kOneUploadForAll,
  kSecondClosedRound,
  kAnotherSumForEach,
  kAlteredShare,
  kOldShare,
  kAttacksOnServer,
  kRounds,
};

class EachLieTest : public LyingProxyTest {
 protected:
  EachLieTest() : LyingProxyTest(kRounds) { HoldBefore(kSecondClosedRound + 1); }

  void PrepareLies() override {
    proxy_->Watch([this](const auto& request, const auto& answer) { Watch(request, answer); });
    const auto& params = manifest().manifest().terms().aggregation();
    LieInClosedRounds(kAlteredSum, [sum = params.aggregated_ciphertext_bytes()](
                                       uint64_t, const auto&, Bytes& round) {
      round[round.size() - sum + 5] ^= 0x20;  // of the payload
    });
    LieInAnnouncements(kAnotherNumber, [](uint64_t, Announcement& told) {
      if (told.current->participants > 0) --told.current->participants;
    });
    LieInAnnouncements(kFork, [this](uint64_t member, Announcement& told) {
      if (member == number_.at("west")) told.current->attempt.model_digest[0] ^= 1;
    });
    proxy_->LieAbout(kOldAnnouncement, OldAnnouncementAndAlteredCheckpoint());
    proxy_->LieAbout(kDroppedUpload, DropUploadOf("west"));
    LieInClosedRounds(kOneUploadAlone, [this](uint64_t, const auto& attempt, Bytes& round) {
      round = SumOfOne(attempt);
    });
    LieInClosedRounds(kOneUploadForAll, [this](uint64_t, const auto& attempt, Bytes& round) {
      PassOffOne(attempt, round);
    });
    proxy_->LieAbout(kSecondClosedRound, CloseTwiceFor("north"));
    LieInClosedRounds(kAnotherSumForEach, [](uint64_t member, const auto&, Bytes& round) {
      round[round.size() - 1 - member] ^= 1;
    });
    LieInFirstShare(kAlteredShare, "south", [](Bytes& share) { share[share.size() / 2] ^= 1; });
    LieInFirstShare(kOldShare, "west", [this](Bytes& share) { share = rounds_seen_.FirstShare(); });
    proxy_->LieAbout(kAttacksOnServer, {.instead = [this](const Overheard& request) {
                       if (request.member == number_.at("west")) Attack(request);
                       return std::nullopt;
                     }});
  }

  void LieInAnnouncements(Round round, std::function<void(uint64_t, Announcement&)> lie) {
    proxy_->LieAbout(round, {.announcement = std::move(lie)});
  }
  using LieInSum = std::function<void(uint64_t member, const secagg::Attempt&, Bytes&)>;
  static Lie InClosedRounds(LieInSum lie) {
    return {.object = [lie = std::move(lie)](uint64_t member, const auto& fetch, Bytes& object) {
      if (fetch.name.kind == BulkKind::kClosedRound) lie(member, fetch.name.attempt, object);
    }};
  }
  void LieInClosedRounds(Round round, LieInSum lie) {
    proxy_->LieAbout(round, InClosedRounds(std::move(lie)));
  }
  void LieInFirstShare(Round round, const std::string& site, std::function<void(Bytes&)> lie) {
    proxy_->LieAbout(round, {.object = [this, lie = std::move(lie), victim = number_.at(site)](
                                           uint64_t member, const auto& fetch, Bytes& object) {
                       if (fetch.name.kind != BulkKind::kUnmaskShare) return;
                       if (member != victim) return;
                       const size_t share_bytes = rounds_seen_.FirstShare().size();
                       Bytes first(object.begin(), object.begin() + share_bytes);
                       lie(first);
                       std::ranges::copy(first, object.begin());
                     }});
  }
  Lie OldAnnouncementAndAlteredCheckpoint() {
    return {.announcement =
                [this](uint64_t member, Announcement& told) {
                  const bool closed = told.current->phase != AttemptPhase::kCollecting;
                  if (member != number_.at("south") || !closed) return;
                  if (old_announcement_.has_value()) {
                    told = *std::exchange(old_announcement_, std::nullopt);
                  }
                },
            // A member that did not apply the forked round's sum needs the state that came of it.
            .object =
                [this](uint64_t member, const auto& fetch, Bytes& object) {
                  const bool first = fetch.name.kind == BulkKind::kCheckpoint && fetch.index == 0;
                  if (first && member == number_.at("west")) object[object.size() / 2] ^= 1;
                }};
  }

  // Told that it was accepted. The others' votes are shown once it has looked for it.
  Lie DropUploadOf(const std::string& site) {
    const uint64_t victim = number_.at(site);
    const auto refused = std::make_shared<bool>(false);
    return {.instead = [victim, refused](const Overheard& request) -> std::optional<Answered> {
              if (request.member != victim) return std::nullopt;
              if (IsRefusal(request)) *refused = true;
              const auto* put = std::get_if<PutPartRequest>(&request.body);
              if (put == nullptr || put->name.kind != BulkKind::kUpload) return std::nullopt;
              return protocol::WriteArrived(put->total);
            },
            .held = HoldingVotesUntil(refused)};
  }
  // It votes, is killed and started again, and is then offered another sum. Until it has refused
  // that, nobody is shown a vote.
  Lie CloseTwiceFor(const std::string& site) {
    const uint64_t victim = number_.at(site);
    const auto fetched = std::make_shared<int>(0);
    const auto refused = std::make_shared<bool>(false);
    Lie lie = InClosedRounds([victim, fetched](uint64_t member, const auto&, Bytes& round) {
      if (member == victim && (*fetched)++ > 0) round.back() ^= 1;
    });
    lie.instead = [this, victim, refused](const Overheard& request) -> std::optional<Answered> {
      if (request.member != victim) return std::nullopt;
      if (IsA<protocol::FetchVotesRequest>(request)) has_voted_ = true;
      if (IsRefusal(request)) *refused = true;
      return std::nullopt;
    };
    lie.held = HoldingVotesUntil(refused);
    return lie;
  }
  static std::function<bool(const Overheard&)> HoldingVotesUntil(std::shared_ptr<bool> refused) {
    return [refused = std::move(refused)](const Overheard& request) {
      return IsA<protocol::FetchVotesRequest>(request) && !*refused;
    };
  }
  template <typename Body>
  static bool IsA(const Overheard& request) {
    return std::holds_alternative<Body>(request.body);
  }
  static bool IsRefusal(const Overheard& request) {
    const auto* verdict = std::get_if<protocol::PutVerdictRequest>(&request.body);
    return verdict != nullptr && !verdict->confirmed;
  }

  Bytes SumOfOne(const secagg::Attempt& attempt) const {
    return RecordedRounds::CloseWith(manifest().manifest(), attempt,
                                     {rounds_seen_.AnUpload(attempt)});
  }
  // One upload's sum under the nonces of all.
  void PassOffOne(const secagg::Attempt& attempt, Bytes& round) const {
    const auto& params = manifest().manifest().terms().aggregation();
    auto all = *secagg::ReadClosedRound(round, attempt, params, 1);
    auto one = *secagg::ReadClosedRound(SumOfOne(attempt), attempt, params, 1);
    one.nonces = std::move(all.nonces);
    one.roster_digest = all.roster_digest;
    round = secagg::WriteClosedRound(one);
  }

  // Sends the server what the member did not mean to say, before what it does say, and that twice.
  void Attack(const Overheard& request) {
    const auto* put = std::get_if<PutPartRequest>(&request.body);
    const bool upload = put != nullptr && put->name.kind == BulkKind::kUpload;
    if (!upload || put->part.empty() || attack_.has_value()) return;
    attack_.emplace();
    constexpr size_t kMemberAt = 6 + 1 + 32 + 4, kSignature = 64;
    Bytes altered = request.bytes, posing = request.bytes, cut = request.bytes;
    altered[altered.size() - put->part.size() - kSignature - 1] ^= 1;
    posing[kMemberAt] = static_cast<uint8_t>(number_.at("north"));
    cut.pop_back();
    for (const Bytes* forged : {&altered, &posing}) {
      attack_->forged.push_back(proxy_->Send(*forged).status());
    }
    attack_->cut = proxy_->Send(cut).status();
    Bytes exchanged = request.bytes;
    exchanged.back() ^= 1;
    attack_->exchanged = proxy_->Send(exchanged).status();
    for (const Bytes& old : of_last_round_) {
      attack_->replayed.push_back(proxy_->Send(old).status());
    }
    attack_->twice = proxy_->Send(request.bytes).status();
  }

  // The true course of events.
  void Watch(const Overheard& request, const Answered& answer) {
    if (!answer.ok()) return;
    if (IsA<protocol::AwaitRequest>(request)) {
      const auto told = protocol::ReadAnnouncement(*answer);
      if (request.member == number_.at("south") && told->current.has_value() &&
          told->current->attempt.number.round == kAlteredSum && !old_announcement_.has_value()) {
        old_announcement_ = *told;
      }
    } else if (const auto attempt = AttemptNamedBy(request.body); attempt.has_value()) {
      rounds_seen_.Keep(request, answer);
      KeepForReplay(*attempt, request);
    }
  }
  // Requests of the round before the attack on the server that put something.
  void KeepForReplay(const secagg::Attempt& attempt, const Overheard& request) {
    if (attempt.number.round + 1 != kAttacksOnServer) return;
    const auto* part = std::get_if<PutPartRequest>(&request.body);
    const BulkKind kind = part != nullptr ? part->name.kind : BulkKind{};
    if (IsA<protocol::PutVoteRequest>(request) || IsA<protocol::PutVerdictRequest>(request) ||
        kind == BulkKind::kUpload || kind == BulkKind::kUnmaskShare) {
      of_last_round_.push_back(request.bytes);
      put_in_last_round_.emplace(request.body.index(), kind);
    }
  }

  // The model of somebody who was never lied to.
  std::string HonestModel() {
    const auto site = OpenSite(path_ / "north", path_ / "north.key");
    return rounds_seen_.Model(*site, path_ / "north", kRounds);
  }

  // By round and name, the sites that noted it.
  using Violations = std::map<std::pair<uint32_t, std::string>, std::set<std::string>>;
  Violations ViolationsOfAll() const {
    Violations violations;
    for (const std::string& site : sites_) {
      for (const base::JsonValue& event : NodeLog(site)) {
        if (*event.Find("event")->AsString() != "violation") continue;
        EXPECT_EQ(Number(event, "attempt"), 0) << event.Dump();
        const auto round = static_cast<uint32_t>(Number(event, "round"));
        violations[{round, *event.Find("what")->AsString()}].insert(site);
      }
    }
    return violations;
  }

  void ExpectServerRefusedAttacks() {
    ASSERT_TRUE(attack_.has_value());
    for (const absl::Status& forged : attack_->forged) {
      EXPECT_EQ(forged.code(), absl::StatusCode::kPermissionDenied) << forged;
      EXPECT_THAT(base::Message(forged), HasSubstr("did not sign it"));
    }
    EXPECT_EQ(attack_->cut.code(), absl::StatusCode::kDataLoss) << attack_->cut;
    EXPECT_EQ(attack_->exchanged.code(), absl::StatusCode::kDataLoss) << attack_->exchanged;
    EXPECT_THAT(base::Message(attack_->exchanged), HasSubstr("digest that its sender signed"));
    EXPECT_TRUE(attack_->twice.ok()) << attack_->twice;
    // Parts of uploads and of shares, votes and verdicts; of how many sites is a matter of chance.
    EXPECT_THAT(put_in_last_round_, SizeIs(4));
    EXPECT_THAT(attack_->replayed, SizeIs(Ge(4u)));
    for (const absl::Status& replayed : attack_->replayed) {
      EXPECT_EQ(replayed.code(), absl::StatusCode::kFailedPrecondition) << replayed;
    }
    const std::string metrics = HttpGet(admin_port_, "/metrics");
    for (const std::string counted : {"kind=\"unreadable\",status=\"permission_denied\"} 2\n",
                                      "kind=\"unreadable\",status=\"data_loss\"} 1\n",
                                      "kind=\"put-part\",status=\"failed_precondition\"} ",
                                      "kind=\"put-vote\",status=\"failed_precondition\"} "}) {
      EXPECT_THAT(metrics, HasSubstr("tacet_requests_total{" + counted));
    }
    EXPECT_THAT(Read("server.log"), HasSubstr("did not sign it"));
  }

  struct ServerAttack {
    std::vector<absl::Status> forged, replayed;
    absl::Status cut, exchanged, twice;
  };

  std::atomic<bool> has_voted_ = false;  // in kSecondClosedRound
  // The rest changes while something passes.
  std::optional<Announcement> old_announcement_;
  RecordedRounds rounds_seen_;
  std::vector<Bytes> of_last_round_;                         // requests that put something
  std::set<std::pair<size_t, BulkKind>> put_in_last_round_;  // their types, and kinds of objects
  std::optional<ServerAttack> attack_;
};

TEST_F(EachLieTest, IsNamedAndNothingOfItIsApplied) {
  Await([this] { return has_voted_.load(); });
  KillSite("north");
  StartSite("north");
  LetGo();
  AwaitAllDone();
  ASSERT_FALSE(HasFailure());
  proxy_->Watch(nullptr);
  ExpectOneModelAndNothingSaidTwice();
  EXPECT_EQ(Read("west/run/model.f32"), HonestModel());

  const Violations violations = ViolationsOfAll();
  const std::set<std::string> somebody;  // suffices, since one refusal of three ends the attempt
  const std::map<Violations::key_type, std::set<std::string>> expected = {
      {{kAlteredSum, "unsound-sum"}, somebody},
      {{kAnotherNumber, "participants"}, somebody},
      {{kFork, "fork"}, {"west"}},
      {{kOldAnnouncement, "rollback"}, {"south"}},
      {{kOldAnnouncement, "bad-checkpoint"}, {"west"}},
      {{kDroppedUpload, "dropped-upload"}, {"west"}},
      {{kOneUploadAlone, "closed-round"}, somebody},
      {{kOneUploadForAll, "unsound-sum"}, somebody},
      {{kSecondClosedRound, "closed-round"}, {"north"}},
      {{kAnotherSumForEach, "votes-disagree"}, {"north", "south", "west"}},
      {{kAlteredShare, "bad-share"}, {"south"}},
      {{kOldShare, "bad-share"}, {"west"}},
  };
  for (const auto& [violation, sites] : violations) {
    EXPECT_TRUE(expected.contains(violation)) << violation.first << ": " << violation.second;
  }
  for (const auto& [violation, sites] : expected) {
    SCOPED_TRACE(fmt::format("{}: {}", violation.first, violation.second));
    ASSERT_TRUE(violations.contains(violation)) << "nobody noticed";
    if (sites != somebody) {
      EXPECT_EQ(violations.at(violation), sites);
    }
  }
  for (const std::string name : {"fork", "dropped-upload", "bad-share"}) {
    EXPECT_THAT(told_.at("west").Find("violations")->Dump(), HasSubstr(name));
    EXPECT_THAT(Read("west-stderr"), HasSubstr("PROTOCOL VIOLATION " + name));
  }
  EXPECT_THAT(told_.at("south").Find("violations")->Dump(), HasSubstr("rollback"));
  EXPECT_FALSE(Sent("west", "upload").contains(fmt::format("0/{}/0", +kFork)));
  EXPECT_THAT(Read("north/node-log.jsonl"), HasSubstr("a second, different sum"));
  ExpectServerRefusedAttacks();
}

// Observer that reads all traffic, TLS or not, and is given no key.
class TrafficTest : public LyingProxyTest {
 protected:
  TrafficTest() : LyingProxyTest(3) {
    for (const std::string& site : sites_) {
      std::filesystem::create_directory(path_ / ("trained-by-" + site));
      site_flags_[site] = {"--train-with", TACET_TRAIN_FOR_TEST, "--train-argument",
                           "trained-by-" + site};
    }
  }
};

TEST_F(TrafficTest, HoldsNoModelNoUpdateAndNoKey) {
  AwaitAllDone();
  ASSERT_FALSE(HasFailure());
  ExpectNoViolations();
  ExpectOneModelAndNothingSaidTwice();
  std::vector<std::string> planted, keys;
  Haystack trained;
  for (const std::string& site : sites_) {
    trained.AddFolder(path_ / ("trained-by-" + site));
    for (int round = 0; round < rounds_; ++round) {
      for (const std::string kind : {"model", "update"}) {
        for (std::string& piece :
             PiecesOf(Read(fmt::format("trained-by-{}/{}-{}", site, kind, round)))) {
          planted.push_back(std::move(piece));
        }
      }
    }
    const auto opened = OpenSite(path_ / site, path_ / (site + ".key"));
    ASSERT_TRUE(opened.ok()) << opened.status();
    for (std::string& key : KeysOf(*opened)) keys.push_back(std::move(key));
  }
  ASSERT_THAT(planted, SizeIs(Gt(800u)));
  Haystack traffic, server;
  traffic.Add(proxy_->Traffic());
  server.AddFolder(path_ / "hub");
  const bool has_memory = server.AddMemory(server_);
  for (const Haystack* outside : {&traffic, &server}) {
    EXPECT_THAT(outside->Find(planted), IsEmpty()) << "pieces of models and updates";
    EXPECT_THAT(outside->Find(keys), IsEmpty());
  }
  // This search finds what is there.
  EXPECT_THAT(trained.Find(planted), SizeIs(planted.size()));
  EXPECT_TRUE(traffic.Holds(base::AsText(manifest().manifest().hash())));
  // The digest of the last model under the epoch's key is there, and its hash without a key is not.
  const std::string last_model = Read("north/run/model.f32");
  const auto key = storage::file::ReadDigestKey(path_ / "north/run/digest-0.key");
  ASSERT_TRUE(key.ok()) << key.status();
  const crypto::Digest digest = key->OfModel(base::FloatsOf(base::AsBytes(last_model)));
  const crypto::Digest unkeyed = crypto::Sha256(base::AsBytes(last_model));
  EXPECT_TRUE(traffic.Holds(base::AsText(digest)));
  EXPECT_TRUE(server.Holds(base::AsText(digest)));
  EXPECT_FALSE(traffic.Holds(base::AsText(unkeyed)));
  EXPECT_FALSE(server.Holds(base::AsText(unkeyed)));
  if (!has_memory) GTEST_SKIP() << "the server's memory is for an administrator to read";
}

}  // namespace
}  // namespace tacet::app
