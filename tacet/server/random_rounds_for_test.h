// Random sequences of events for the rounds' protocol, with the invariants of
// docs/design/round-states.md checked after every step. The numbers I1, I2, ... are that page's.
#ifndef TACET_SERVER_RANDOM_ROUNDS_FOR_TEST_H_
#define TACET_SERVER_RANDOM_ROUNDS_FOR_TEST_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"

#include "tacet/base/status_for_test.h"
#include "tacet/protocol/encrypted_checkpoint.h"
#include "tacet/protocol/small_federation_for_test.h"
#include "tacet/secagg/check_row.h"
#include "tacet/secagg/closed_round.h"
#include "tacet/secagg/key_packet.h"
#include "tacet/secagg/unmask_share.h"
#include "tacet/secagg/upload.h"
#include "tacet/server/gathering.h"
#include "tacet/server/lost_objects.h"
#include "tacet/server/memory_server_store_for_test.h"
#include "tacet/server/round_answers.h"
#include "tacet/server/round_objects.h"
#include "tacet/server/round_protocol.h"
#include "tacet/server/round_store.h"
#include "tacet/server/server_store_rules.h"
#include "tacet/server/silent_seats.h"

namespace tacet::server::testing {

// A federation and its options. Statements have no signatures here: the protocol sees none.
struct RoundsShape {
  std::string name;
  std::unique_ptr<protocol::testing::SmallFederation> members;
  std::shared_ptr<const RoundRules> rules;
};

inline std::vector<RoundsShape> RoundsShapes() {
  using protocol::testing::AgreementWith;
  using protocol::testing::SmallAgreement;
  std::vector<RoundsShape> shapes;
  const auto add = [&shapes](std::string name, agreement::ManifestSpec spec, int members,
                             uint32_t epoch = 0) {
    RoundsShape shape{.name = std::move(name), .members = nullptr, .rules = nullptr};
    shape.members =
        std::make_unique<protocol::testing::SmallFederation>(std::move(spec), members, epoch);
    shape.rules = std::make_shared<const RoundRules>(shape.members->manifest(),
                                                     RoundServerOptions{.collecting_seconds = 100,
                                                                        .unmasking_seconds = 50,
                                                                        .abandon_seconds = 400,
                                                                        .kept_rounds = 2,
                                                                        .grace_seconds = 30,
                                                                        .retry_seconds = 40});
    shapes.push_back(std::move(shape));
  };
  add("fixed size", SmallAgreement(), 5);
  agreement::ManifestSpec tight = AgreementWith(1, {3, 6, 0, 2});
  tight.sampling.cohort = 4;
  tight.sampling.min_participants = 4;
  tight.spare_attempts = 8;
  add("cohorts of K_min, seven members", tight, 7);
  agreement::ManifestSpec coins = SmallAgreement();
  coins.sampling.method = accounting::Sampling::kPoisson;
  add("coins", coins, 5);
  agreement::ManifestSpec everybody = AgreementWith(2, {5, 3, 1, 0, 2, 4, 6});
  everybody.sampling.cohort = 7;
  everybody.sampling.min_participants = 5;
  everybody.spare_attempts = 2;
  add("everybody", everybody, 7);
  agreement::ManifestSpec short_one = SmallAgreement();
  short_one.rounds = 1;
  short_one.spare_attempts = 0;
  add("one attempt", short_one, 5);
  add("later epoch", SmallAgreement(), 5, 1);
  return shapes;
}

// One sequence. Deterministic in `seed`.
class RandomRounds {
 public:
  RandomRounds(const RoundsShape& shape, uint64_t seed)
      : rules_(*shape.rules),
        random_(seed),
        seed_(seed),
        name_(shape.name),
        attendance_(rules_.members(), now_),
        store_(rules_.manifest(), rules_.options().kept_rounds, memory_, blobs_),
        state_{.rules = shape.rules, .revision = 1000, .phase_revision = 1000} {
    if (rules_.manifest().epoch() > 0 && Chance(2)) StoreEarlierRound();
    Advance(ReadStore());
    Settle();
    if (crashed_) Reload();
    for (uint64_t member = 0; member < rules_.members() && !failed_; ++member) {
      if (!Chance(8)) Happen(PacketOf(member));
    }
  }

  // False once an invariant is broken.
  bool Run(int events) {
    for (int i = 0; i < events && !failed_; ++i) {
      log_.clear();
      Happen(RandomEvent());
    }
    return !failed_;
  }

  // The events of the sequence, so that a test sees that it covers the protocol.
  struct Coverage {
    uint64_t published = 0, failed = 0, wrong_shares = 0, opened = 0, stopped = 0, crashes = 0,
             disputed_shares = 0, late = 0, lost = 0, trials = 0, resumed = 0, objects_lost = 0,
             given_back = 0;
    std::set<std::string> failures;

    void Add(const Coverage& other) {
      published += other.published;
      failed += other.failed;
      wrong_shares += other.wrong_shares;
      opened += other.opened;
      stopped += other.stopped;
      crashes += other.crashes;
      disputed_shares += other.disputed_shares;
      late += other.late;
      lost += other.lost;
      trials += other.trials;
      resumed += other.resumed;
      objects_lost += other.objects_lost;
      given_back += other.given_back;
      failures.insert(other.failures.begin(), other.failures.end());
    }
  };
  const Coverage& coverage() const { return coverage_; }

 private:
  // The content of the open attempt's events, apart from the state.
  struct Seen {
    std::vector<uint64_t> drawn;
    std::set<uint64_t> uploaded;
    std::set<uint64_t> confirmed, refused, voted, unmasked;
    std::set<uint64_t> named, abstained;
  };

  uint64_t Below(uint64_t bound) { return random_() % bound; }
  bool Chance(uint64_t one_in) { return Below(one_in) == 0; }
  uint64_t AnyMember() { return Below(rules_.members()); }
  uint64_t AnySeat() { return rules_.committee()[Below(rules_.committee().size())].member; }
  Moment At() const { return {.now = now_, .attendance = attendance_}; }

  void Expect(bool holds, const char* invariant) {
    if (holds || failed_) return;
    failed_ = true;
    ADD_FAILURE() << invariant << " is broken: " << name_ << ", seed " << seed_ << ", event "
                  << events_ << " (" << log_ << ")";
  }

  // Statements as their bytes: what signatures say elsewhere is in them.
  static base::Bytes BytesOf(const protocol::Attestation& attestation) {
    return {static_cast<uint8_t>(attestation.member), static_cast<uint8_t>(attestation.round),
            attestation.model_digest[0]};
  }
  static base::Bytes BytesOf(const protocol::OpeningStatement& statement) {
    return {static_cast<uint8_t>(statement.word), static_cast<uint8_t>(statement.member),
            static_cast<uint8_t>(statement.state.round), statement.state.model_digest[0],
            static_cast<uint8_t>(statement.earlier.has_value() ? statement.earlier->round + 1 : 0)};
  }
  static SignedStatements Parse(std::span<const Item> items, const Submissions& votes) {
    SignedStatements read;
    for (const Item& item : items) {
      if (item.kind != ItemKind::kAttestation) continue;
      read.attestations.push_back({.member = item.bytes[0],
                                   .round = item.bytes[1],
                                   .model_digest = {item.bytes[2]},
                                   .state_digest = {}});
    }
    for (const Submission& vote : votes) {
      const base::Bytes& bytes = vote.bytes();
      read.votes.push_back({.word = protocol::OpeningWord::kVote,
                            .member = bytes[1],
                            .state = {.round = bytes[2], .model_digest = {bytes[3]}}});
    }
    return read;
  }

  // An epoch before this one published a round, or left an attempt open.
  void StoreEarlierRound() {
    AttemptRecord record;
    record.attempt = {.manifest_hash = rules_.manifest().predecessor(),
                      .number = {.epoch = 0, .round = 0, .attempt = 0}};
    EXPECT_TRUE(memory_.Begin(record, {}).ok());
    if (Chance(3)) return;
    record.phase = protocol::AttemptPhase::kPublished;
    EXPECT_TRUE(memory_.Finish(record, {}).ok());
  }

  StoreRead ReadStore() {
    const StoredRounds stored = base::ValueOf(store_.Read());
    return {.stored = stored, .signed_ones = Parse(stored.of_beginning, stored.opening_votes)};
  }

  // After a call that failed, or as a new process, which knows what is stored.
  void Reload() {
    do {
      crashed_ = false;
      sum_.clear();
      if (Chance(2)) {
        state_ = RoundState{.rules = state_.rules,
                            .revision = state_.revision + 1000,
                            .phase_revision = state_.revision + 1000};
      }
      state_.paused = paused_;  // as the host says before anything else
      Advance(ReadStore());
      Settle();
    } while (crashed_);
  }

  void Settle() {
    for (int steps = 0; !crashed_ && Advance(Continue()) && !failed_; ++steps) {
      Expect(steps < 8, "I9");
    }
    if (crashed_) return;
    const auto* const unmasking = StageOf<Unmasking>(state_);
    Expect(unmasking == nullptr || (unmasking->named.empty() &&
                                    unmasking->confirmations.size() < rules_.ConfirmationQuorum()),
           "I9");
    Expect(!state_.sweep_is_due || StageOf<Collecting>(state_) != nullptr, "I12");
  }

  void Happen(const Event& event) {
    ++events_;
    const bool drains = std::holds_alternative<DrainAsked>(event);
    const bool waits = std::holds_alternative<TimePassed>(event);
    const std::optional<AttemptRecord> open =
        OpenAttempt(state_) == nullptr ? std::nullopt : std::optional(*OpenAttempt(state_));
    const auto* const asked = StageOf<Unmasking>(state_);
    const bool answered = asked != nullptr && asked->answered;
    Advance(event);
    const bool accepted = accepted_;
    Settle();
    if (crashed_) {
      ++coverage_.crashes;
      Reload();
      return;
    }
    if (!accepted) return;
    if (waits) CheckTime(open, answered);
    if (!waits && !drains && Chance(4)) CheckRepetition(event);
    if (Chance(8)) CheckStore();
    if (Chance(4)) CheckFetched();
  }

  // Whether there were actions. accepted_ says whether the event was.
  bool Advance(const Event& first) {
    bool acted = false;
    accepted_ = false;
    for (std::optional<Event> event = first; event.has_value() && !failed_;) {
      const bool is_draw = std::holds_alternative<CohortDrawn>(*event) && acted;
      const bool is_read = std::holds_alternative<StoreRead>(*event);
      if (const auto* const arrived = std::get_if<ObjectArrived>(&*event)) giver_ = arrived->member;
      const auto* const checked = std::get_if<SharesChecked>(&*event);
      checks_lost_ = checked != nullptr && checked->objects_lost;
      absl::StatusOr<Step> step = Next(state_, At(), *event);
      if (!step.ok()) {
        Expect(!is_draw, "I4");  // a draw is never thrown away
        return acted;
      }
      event.reset();
      if (!Execute(*step, event)) return acted;
      accepted_ = true;
      acted = acted || !step->actions.empty();
      if (!is_read) CheckStep(*step);
      state_ = std::move(step->next);
    }
    return acted;
  }

  // False if an action failed: the step is not taken.
  bool Execute(const Step& step, std::optional<Event>& answer) {
    size_t changes = 0;
    for (const Action& action : step.actions) {
      const bool is_change = IsChange(action);
      changes += is_change ? 1 : 0;
      Expect(changes == 0 || is_change || std::holds_alternative<MakeSum>(action), "I1");
      Expect(changes <= 1, "I1");
      if (is_change && Chance(150)) {
        if (Chance(2)) Make(action);
        crashed_ = true;
        return false;
      }
      if (is_change) {
        Make(action);
        continue;
      }
      if (!Answer(action, answer)) return false;
    }
    return true;
  }

  static bool IsChange(const Action& action) {
    return std::holds_alternative<BeginAttempt>(action) ||
           std::holds_alternative<PutItem>(action) ||
           std::holds_alternative<UpdateAttempt>(action) ||
           std::holds_alternative<EndAttempt>(action);
  }

  void Make(const Action& action) {
    absl::Status made;
    if (const auto* const begin = std::get_if<BeginAttempt>(&action)) {
      CheckBegin(*begin);
      made = store_.Make(*begin);
    } else if (const auto* const put = std::get_if<PutItem>(&action)) {
      CheckPut(*put);
      made = store_.Make(*put);
    } else if (const auto* const update = std::get_if<UpdateAttempt>(&action)) {
      CheckUpdate(*update);
      made = store_.Make(*update);
    } else if (const auto* const end = std::get_if<EndAttempt>(&action)) {
      CheckEnd(*end);
      made = store_.Make(*end);
    }
    Expect(made.ok(), "I1");
  }

  bool Answer(const Action& action, std::optional<Event>& answer) {
    if (const auto* const draw = std::get_if<DrawCohort>(&action)) {
      std::vector<uint64_t> all(rules_.members());
      for (uint64_t member = 0; member < all.size(); ++member) all[member] = member;
      std::ranges::shuffle(all, random_);
      all.resize(draw->size);
      std::ranges::sort(all);
      seen_.drawn = all;
      answer = CohortDrawn{.attempt = draw->attempt, .cohort = std::move(all)};
    } else if (const auto* const make = std::get_if<MakeSum>(&action)) {
      sum_.clear();
      std::vector<uint64_t> lost;
      for (const Submission& accepted : make->accepted) {
        (Chance(10) ? lost : sum_).push_back(accepted.member);
      }
      coverage_.lost += lost.size();
      if (!lost.empty()) answer = UploadsLost{.members = std::move(lost)};
    } else if (const auto* const add = std::get_if<AddUpload>(&action)) {
      if (Chance(40)) return false;  // a damaged one: its sender is told
      sum_.push_back(add->member);
    } else if (std::holds_alternative<CloseSum>(action)) {
      answer = SumClosed{.participants = static_cast<uint32_t>(sum_.size()),
                         .closed_round = {1},
                         .roster = {2},
                         .shares = Chance(5) ? std::nullopt : std::optional(crypto::Digest{3})};
    } else if (std::holds_alternative<CheckShares>(action)) {
      SharesChecked checked;
      for (uint64_t member = 0; member < rules_.members(); ++member) {
        if (Chance(6)) checked.accused.push_back(member);
      }
      checked.disputed = Chance(2);
      if (Chance(4)) checked = SharesChecked{.accused = {}, .objects_lost = true};
      answer = std::move(checked);
    } else if (const auto* const check = std::get_if<CheckObjects>(&action)) {
      ObjectsChecked checked;
      for (const StoredObject& object : check->objects) {
        if (FindLost(state_, object.key) != nullptr ? !Chance(4) : Chance(60)) {
          checked.lost.push_back(object);
        }
      }
      coverage_.objects_lost += checked.lost.size();
      answer = std::move(checked);
    } else if (const auto* const restore = std::get_if<RestoreObject>(&action)) {
      Expect(IsServersOwn(restore->name.kind) && rules_.HasSeat(giver_) &&
                 FindLost(state_, BlobKeyOf(restore->name, 0)) != nullptr,
             "I19");
      ++coverage_.given_back;
    } else if (const auto* const read = std::get_if<ReadBeginning>(&action)) {
      const std::vector<Item> items = base::ValueOf(store_.ReadBeginning(read->at));
      answer =
          BeginningRead{.round = read->at.round, .items = items, .signed_ones = Parse(items, {})};
    } else if (const auto* const sweep = std::get_if<Sweep>(&action)) {
      EXPECT_TRUE(store_.Clean(*sweep, {}).ok());
      Expect(StageOf<Collecting>(state_) == nullptr, "I12");
    }
    return true;
  }

  // Invariants of one step, from state_ to step.next.
  void CheckStep(const Step& step) {
    const RoundState& next = step.next;
    CheckRecords(next);
    CheckRevisions(next);
    const bool was_open = Opened(state_) != nullptr;
    if (!was_open && Opened(next) != nullptr) CheckOpened(next);
    const bool published = next.attempts->size() == state_.attempts->size() &&
                           OpenAttempt(state_) != nullptr && OpenAttempt(next) == nullptr &&
                           next.attempts->back().phase == protocol::AttemptPhase::kPublished;
    if (was_open && Opened(next) != nullptr) {
      Expect(FinishedRounds(next) == FinishedRounds(state_) + (published ? 1 : 0), "I11");
      for (const Submission& one : SubmissionsOf(state_, ItemKind::kLeftOut)) {
        const bool stays = !published && !FollowsFromRefusedSums(one.bytes());
        Expect(!stays || IsLeftOut(next, one.member), "I5");
      }
      CheckOnTrial(next);
      Expect(MayUpload(next) >= rules_.min_participants(), "I5");
    }
    if (StageOf<Stopped>(next) != nullptr && StageOf<Stopped>(state_) == nullptr) {
      ++coverage_.stopped;
    }
  }

  static bool FollowsFromRefusedSums(const base::Bytes& left_out) {
    return IsOnTrial(left_out) || left_out == base::Bytes{kLastSuspect};
  }
  // Somebody is on trial after a refused sum of the epoch only, and where every member uploads.
  void CheckOnTrial(const RoundState& next) {
    bool refused = false;
    for (const AttemptRecord& record : *next.attempts) {
      refused = refused || (record.attempt.number.epoch == rules_.manifest().epoch() &&
                            record.failure == kRefusedFailure);
    }
    for (const Submission& one : SubmissionsOf(next, ItemKind::kLeftOut)) {
      const bool on_trial = FollowsFromRefusedSums(one.bytes());
      Expect(!on_trial || (refused && rules_.EveryMemberUploads()), "I5");
      coverage_.trials += on_trial ? 1 : 0;
    }
  }

  void CheckRecords(const RoundState& next) {
    const AttemptRecords& before = *state_.attempts;
    const AttemptRecords& after = *next.attempts;
    if (state_.attempts == next.attempts) return;
    Expect(after.size() >= before.size() && after.size() <= before.size() + 1, "I2");
    if (failed_) return;
    for (size_t i = 0; i < after.size(); ++i) {
      const bool is_last = i + 1 == after.size();
      Expect(is_last || HasEnded(after[i].phase), "I2");
      if (i < before.size() && HasEnded(before[i].phase)) Expect(after[i] == before[i], "I2");
      if (i < before.size()) Expect(after[i].attempt == before[i].attempt, "I2");
      if (i > 0) Expect(after[i - 1].attempt.number < after[i].attempt.number, "I2");
      Expect(after[i].attempt.number.attempt <= rules_.spec().spare_attempts, "I2");
    }
    Expect(after.size() <= rules_.manifest().manifest().attempt_budget(), "I2");
  }

  // The view of members and seats; I13 says that a revision changes with it.
  void CheckRevisions(const RoundState& next) {
    Expect(next.revision >= state_.revision && next.phase_revision >= state_.phase_revision &&
               next.phase_revision <= next.revision,
           "I13");
    std::set<uint64_t> objecting;
    for (const protocol::Objection& one : next.objections) {
      Expect(objecting.insert(one.member).second && one.revision >= next.phase_revision &&
                 one.revision <= next.revision,
             "I18");
    }
    const uint64_t member = events_ % rules_.members();
    protocol::Announcement before = AnnouncementOf(state_, member, 0, false);
    const protocol::Announcement after = AnnouncementOf(next, member, 0, false);
    if (before.revision == after.revision) {
      // In an opening, which seats alone follow, the candidate counts for them.
      if (Opened(next) == nullptr) before.finished = after.finished;
      Expect(before == after, "I13");
    }
    if (state_.revision != next.revision) return;
    Expect(SubmissionsOf(state_, ItemKind::kVote) == SubmissionsOf(next, ItemKind::kVote) &&
               SubmissionsOf(state_, ItemKind::kUnmaskShare) ==
                   SubmissionsOf(next, ItemKind::kUnmaskShare) &&
               state_.kept == next.kept && state_.opening_votes == next.opening_votes &&
               Said(state_) == Said(next) && SeatsAttest(state_) == SeatsAttest(next),
           "I13");
  }

  static std::vector<base::Bytes> SeatsAttest(const RoundState& state) {
    return List(state, protocol::FetchAttestationsRequest{.round = FinishedRounds(state)})
        .value_or(std::vector<base::Bytes>());
  }
  static std::vector<base::Bytes> Said(const RoundState& state) {
    return *List(state, protocol::FetchOpeningRequest());
  }

  void CheckBegin(const BeginAttempt& begin) {
    Expect(!without_givers_, "I17");
    const Gathering gathering = CountGathering(state_, At());
    Expect(gathering.enough() && gathering.needed >= rules_.min_participants() &&
               gathering.seats_needed == rules_.VoteQuorum(),
           "I3");
    uint64_t here = 0;
    for (uint64_t member = 0; member < rules_.members(); ++member) {
      here += attendance_.IsHere(member, now_) && !IsLeftOut(state_, member) ? 1 : 0;
    }
    Expect(here >= rules_.min_participants(), "I3");
    Expect(Opened(state_) != nullptr && !state_.draining && !paused_ &&
               StageOf<Stopped>(state_) == nullptr && OpenAttempt(state_) == nullptr,
           "I3");
    // The model that a quorum attested.
    const auto& number = begin.record.attempt.number;
    size_t support = 0;
    for (const auto& [at, model] : attested_) {
      const bool counts = number.round > 0 || rules_.HasSeat(at.second);
      if (at.first == number.round && model == begin.record.attempt.model_digest && counts) {
        ++support;
      }
    }
    Expect(support >= (number.round == 0 ? rules_.VoteQuorum() : rules_.FinalQuorum()), "I3");
    // As drawn, without those that are left out: nothing else decides who is in it.
    std::vector<uint64_t> cohort = seen_.drawn;
    std::erase_if(cohort, [this](uint64_t member) { return IsLeftOut(state_, member); });
    Expect(begin.cohort == (rules_.DrawsCohorts() ? cohort : std::vector<uint64_t>()), "I4");
    Expect(!rules_.DrawsCohorts() || cohort.size() >= rules_.min_participants(), "I4");
    std::vector<uint64_t> drawn = std::move(seen_.drawn);
    seen_ = Seen();
    seen_.drawn = std::move(drawn);
  }

  void CheckPut(const PutItem& put) {
    const uint64_t member = put.item.member;
    const bool is_seat = rules_.HasSeat(member);
    const bool unmasking = StageOf<Unmasking>(state_) != nullptr;
    const bool late = OpenAttempt(state_) == nullptr && !state_.kept.empty() &&
                      put.at == state_.kept.back().attempt.number;
    switch (put.item.kind) {
      case ItemKind::kAccepted:
        Expect(IsInvited(state_, member) && !IsLeftOut(state_, member) &&
                   StageOf<Collecting>(state_) != nullptr,
               "I6");
        Expect(state_.key_packets.Find(member) != nullptr, "I6");
        Expect(seen_.uploaded.insert(member).second ||
                   StageOf<Collecting>(state_)->lost.Find(member) != nullptr,
               "I6");
        break;
      case ItemKind::kVote:
        Expect(is_seat && (unmasking || late), "I8");
        Expect(seen_.voted.insert(member).second, "I8");
        coverage_.late += late ? 1 : 0;
        break;
      case ItemKind::kUnmaskShare:
        Expect(is_seat && (unmasking || late), "I8");
        Expect(seen_.unmasked.insert(member).second, "I8");
        break;
      case ItemKind::kConfirmation:
        Expect(is_seat && unmasking, "I8");
        Expect(seen_.confirmed.insert(member).second, "I8");
        break;
      case ItemKind::kRefusal:
        Expect(is_seat && unmasking, "I8");
        Expect(seen_.refused.insert(member).second, "I8");
        break;
      case ItemKind::kCheckRow:
        Expect(is_seat && unmasking, "I8");
        break;
      case ItemKind::kAttestation:
        Expect(
            attested_.try_emplace({put.at.round, member}, crypto::Digest{put.item.bytes[2]}).second,
            "I3");
        break;
      case ItemKind::kOpeningVote:
        Expect(is_seat && voted_.try_emplace(member, put.item.bytes).second, "I11");
        break;
      case ItemKind::kKeyPacket:
        Expect(packets_.try_emplace(member, put.item.bytes).second, "I20");
        break;
      case ItemKind::kCheckpoint:
        break;
      case ItemKind::kAbstention:
        Expect(StageOf<Collecting>(state_) != nullptr && seen_.abstained.insert(member).second,
               "I17");
        break;
      case ItemKind::kAbstained:
      case ItemKind::kClosedRound:
      case ItemKind::kRoster:
      case ItemKind::kShares:
      case ItemKind::kLeftOut:
      case ItemKind::kOperator:
        Expect(false, "I8");  // never a member's
        break;
    }
  }

  // A deadline is moved after a start, where no further attempt would have other members, and
  // where a wrong clock had set it.
  void CheckDeadline(const AttemptRecord& open, const AttemptRecord& next) {
    Expect(next.noted == now_ || next.noted == open.noted, "I15");
    if (next.deadline <= open.deadline) return;
    const bool young = now_ - std::min(now_, open.begun) < rules_.options().abandon_seconds;
    const uint64_t left = next.deadline - std::min(next.deadline, state_.read_at.value_or(now_));
    const uint64_t had_left = open.deadline - std::min(open.deadline, open.noted);
    const bool resumed =
        state_.read_at.has_value() && young &&
        left <= std::min(rules_.options().collecting_seconds, std::max<uint64_t>(had_left, 60));
    Expect(resumed || (rules_.EveryMemberUploads() && now_ >= open.deadline), "I15");
    coverage_.resumed += resumed ? 1 : 0;
  }

  void CheckUpdate(const UpdateAttempt& update) {
    const AttemptRecord& open = *OpenAttempt(state_);
    if (open.phase == protocol::AttemptPhase::kCollecting && update.record.phase == open.phase) {
      CheckDeadline(open, update.record);
    }
    if (update.record.phase != open.phase) {
      const auto& collecting = *StageOf<Collecting>(state_);
      Expect(collecting.accepted.size() >= rules_.min_participants() &&
                 update.record.participants == sum_.size() &&
                 collecting.accepted.size() == sum_.size(),
             "I7");
      std::set<uint64_t> abstained;
      for (const Item& item : update.items) {
        if (item.kind == ItemKind::kAbstained) abstained.insert(item.member);
      }
      size_t giving = 0;
      for (const Submission& accepted : collecting.accepted) {
        const bool gives = !seen_.abstained.contains(accepted.member);
        giving += gives ? 1 : 0;
        Expect(gives != abstained.contains(accepted.member), "I17");
      }
      Expect(giving + abstained.size() == collecting.accepted.size(), "I17");
      Expect(!protocol::MembersAbstain(rules_.spec()) || giving >= rules_.MinGivers(), "I17");
      for (const Submission& accepted : collecting.accepted) {
        Expect(seen_.uploaded.contains(accepted.member) && !IsLeftOut(state_, accepted.member) &&
                   std::ranges::count(sum_, accepted.member) == 1,
               "I7");
      }
    }
    for (const Item& item : update.items) {
      if (item.kind != ItemKind::kLeftOut) continue;
      Expect(seen_.uploaded.contains(item.member), "I5");
      seen_.named.insert(item.member);
    }
  }

  void CheckEnd(const EndAttempt& end) {
    const std::string& failure = end.record.failure;
    const size_t f = rules_.spec().committee.corrupt;
    if (end.record.phase == protocol::AttemptPhase::kPublished) {
      Expect(seen_.confirmed.size() >= f + 1 && StageOf<Unmasking>(state_) != nullptr, "I9");
      ++coverage_.published;
      return;
    }
    ++coverage_.failed;
    coverage_.failures.insert(failure);
    size_t unvoted = 0;
    for (const uint64_t seat : seen_.refused) unvoted += seen_.voted.contains(seat) ? 0 : 1;
    const bool refused =
        seen_.refused.size() > f || rules_.committee().size() - unvoted < rules_.VoteQuorum();
    if (failure == kRefusedFailure) {
      Expect(refused, "I10");
      Expect(!checks_lost_, "I19");
    } else if (failure == kWrongShares || failure == kDisputedShares) {
      Expect(!seen_.named.empty(), "I10");
      ++(failure == kWrongShares ? coverage_.wrong_shares : coverage_.disputed_shares);
    } else if (failure == kTooFewUploads) {
      const auto* const collecting = StageOf<Collecting>(state_);
      const bool too_few = collecting != nullptr && !rules_.EveryMemberUploads() &&
                           collecting->accepted.size() < rules_.min_participants();
      Expect(too_few || (collecting != nullptr && MayGive(state_) < rules_.MinGivers() &&
                         MayGiveButForTrial() >= rules_.MinGivers()),
             "I10");
    } else if (failure == kTooFewGivers) {
      Expect(StageOf<Collecting>(state_) != nullptr && MayGiveButForTrial() < rules_.MinGivers(),
             "I17");
      without_givers_ = true;
    } else if (failure == kObjectLost) {
      Expect(StageOf<Unmasking>(state_) != nullptr && (HasLost(state_) || checks_lost_), "I19");
    } else {
      const bool at_deadline = !HasLost(state_) && StageOf<Unmasking>(state_) != nullptr &&
                               now_ >= OpenAttempt(state_)->deadline;
      const bool without_votes = rules_.committee().size() - Silenced() < rules_.VoteQuorum();
      Expect(failure == kNotDecrypted && (at_deadline || without_votes), "I10");
    }
  }

  void CheckOpened(const RoundState& next) {
    ++coverage_.opened;
    size_t votes = 0;
    std::map<uint8_t, size_t> support;  // by model
    for (const auto& [member, bytes] : voted_) {
      if (bytes[2] == FinishedRounds(next)) votes = std::max(votes, ++support[bytes[3]]);
    }
    Expect(votes >= rules_.VoteQuorum(), "I11");
  }

  // `answered`: by a quorum at the deadline before.
  void CheckTime(const std::optional<AttemptRecord>& before, bool answered) {
    const AttemptRecord* const open = OpenAttempt(state_);
    if (open == nullptr) return;
    Expect(open->deadline <= now_ + rules_.SecondsOf(open->phase), "I15");
    // Lost objects are waited for, but not for long.
    Expect(!HasLostForLong(state_, now_), "I19");
    const bool overdue = before.has_value() && before->attempt == open->attempt &&
                         before->phase == protocol::AttemptPhase::kUnmasking &&
                         now_ >= before->deadline &&
                         now_ >= before->begun + rules_.options().abandon_seconds;
    Expect(!overdue, "I15");
    const auto* const unmasking = StageOf<Unmasking>(state_);
    if (unmasking == nullptr || !before.has_value() || now_ < before->deadline) return;
    const bool answers = Answering() >= rules_.VoteQuorum();
    Expect(unmasking->answered || !answers, "I15");  // a later deadline clears objections
    Expect(
        now_ < unmasking->since + 2 * rules_.options().unmasking_seconds || !(answers && answered),
        "I15");
  }

  // Members that could give data to the attempt that collects if nobody were on trial.
  uint64_t MayGiveButForTrial() const {
    uint64_t may_give = 0;
    for (uint64_t member = 0; member < rules_.members(); ++member) {
      const Submission* const left_out = SubmissionsOf(state_, ItemKind::kLeftOut).Find(member);
      const bool named = left_out != nullptr && !IsOnTrial(left_out->bytes());
      may_give += named || seen_.abstained.contains(member) ? 0 : 1;
    }
    return may_give;
  }

  // Seats that have not voted, and say that they may have.
  size_t Silenced() const {
    size_t silenced = 0;
    for (const protocol::Objection& one : state_.objections) {
      const bool says = one.reason == protocol::ObjectionReason::kMayHaveVoted &&
                        one.attempt == OpenAttempt(state_)->attempt.number;
      const bool has_seat = rules_.CheckSeat(one.member).ok();
      silenced += says && has_seat && !seen_.voted.contains(one.member) ? 1 : 0;
    }
    return silenced;
  }

  // Seats that are here and have said what they can say.
  size_t Answering() const {
    size_t answering = 0;
    for (const secagg::CommitteeSeat& seat : rules_.committee()) {
      if (!attendance_.IsHere(seat.member, now_)) continue;
      const bool quorum = seen_.voted.size() >= rules_.VoteQuorum();
      const bool has_answered =
          seen_.refused.contains(seat.member) || IsSilenced(state_, seat.member) ||
          (seen_.voted.contains(seat.member) && (!quorum || seen_.unmasked.contains(seat.member)));
      answering += has_answered ? 1 : 0;
    }
    return answering;
  }

  // The same again, at once: accepted, and nothing changes.
  void CheckRepetition(const Event& event) {
    const bool answers =
        std::holds_alternative<CohortDrawn>(event) || std::holds_alternative<SumClosed>(event) ||
        std::holds_alternative<SharesChecked>(event) ||
        std::holds_alternative<ObjectsChecked>(event) ||
        std::holds_alternative<BeginningRead>(event) || std::holds_alternative<UploadsLost>(event);
    if (answers) return;
    const absl::StatusOr<Step> again = Next(state_, At(), event);
    // It may have ended what it was about.
    if (!again.ok()) {
      Expect(again.status().code() == absl::StatusCode::kFailedPrecondition, "I14");
      return;
    }
    Expect(again->actions.empty() && again->next.revision == state_.revision, "I14");
  }

  // Those of an epoch's opening are read in this order, whenever they came.
  static std::map<uint64_t, base::Bytes> ByMember(const Submissions& submissions) {
    std::map<uint64_t, base::Bytes> all;
    for (const Submission& one : submissions) all[one.member] = one.bytes();
    return all;
  }

  // A new process that reads the store has the same state.
  void CheckStore() {
    RoundState read{.rules = state_.rules};
    const StoreRead stored = ReadStore();
    Replace(read, stored.stored, stored.signed_ones);
    Expect(*read.attempts == *state_.attempts && read.kept == state_.kept &&
               ByMember(read.opening_votes) == ByMember(state_.opening_votes) &&
               ByMember(read.key_packets) == ByMember(state_.key_packets),
           "I1");
    const OpenedEpoch* const mine = Opened(state_);
    const OpenedEpoch* const other = Opened(read);
    if (mine == nullptr || other == nullptr) {
      // Without an attempt of it, an epoch that was opened opens once more.
      Expect(other == nullptr, "I1");
      return;
    }
    Expect(mine->round == other->round && mine->attested == other->attested, "I1");
    for (int number = 1; number <= 12; ++number) {
      const auto kind = static_cast<ItemKind>(number);
      const auto copy = [](const Submissions& all) {
        return std::vector<Submission>(all.begin(), all.end());
      };
      std::vector<Submission> ours = copy(SubmissionsOf(state_, kind));
      std::vector<Submission> theirs = copy(SubmissionsOf(read, kind));
      if (kind == ItemKind::kAccepted) {
        const auto* const collecting = StageOf<Collecting>(state_);
        if (collecting != nullptr) {
          ours.insert(ours.end(), collecting->lost.begin(), collecting->lost.end());
        } else if (ours.size() < theirs.size()) {
          continue;  // uploads that were lost are in no sum, but in the store
        }
      }
      std::ranges::sort(ours, {}, &Submission::member);
      std::ranges::sort(theirs, {}, &Submission::member);
      Expect(ours == theirs, "I1");
    }
    Expect(CohortOf(state_) == CohortOf(read), "I1");
  }

  void CheckFetched() {
    const secagg::Attempt attempt = AnyAttempt();
    const uint64_t member = AnyMember();
    using protocol::BulkKind;
    for (const BulkKind kind :
         {BulkKind::kUpload, BulkKind::kShares, BulkKind::kCheckRow, BulkKind::kKeyPacket}) {
      Expect(!FindObject(state_, member, {.name = {kind, attempt}}).ok(), "I12");
    }
    const auto roster = FindObject(state_, member, {.name = {BulkKind::kRoster, attempt}});
    Expect(!roster.ok() || rules_.HasSeat(member), "I12");
    const auto shares = FindObject(state_, member, {.name = {BulkKind::kUnmaskShare, attempt}});
    if (shares.ok() && OpenAttempt(state_) != nullptr && OpenAttempt(state_)->attempt == attempt) {
      Expect(seen_.unmasked.contains(member), "I12");
    }
    if (StageOf<Collecting>(state_) != nullptr) return;
    // An object that can be fetched outlives a sweep.
    const absl::StatusOr<Step> swept = [&] {
      RoundState due = state_;
      due.sweep_is_due = true;
      due.unchecked = false;
      due.next_check = now_ + 1;
      return Next(due, At(), Continue());
    }();
    if (!swept.ok() || swept->actions.size() != 1) return;
    const auto* const sweep = std::get_if<Sweep>(&swept->actions.front());
    if (sweep == nullptr) return;
    for (const BulkKind kind : {BulkKind::kClosedRound, BulkKind::kRoster, BulkKind::kUnmaskShare,
                                BulkKind::kCheckpoint}) {
      const auto found = FindObject(state_, member, {.name = {kind, attempt}});
      if (!found.ok()) continue;
      for (const BlobKey& key : *found) {
        Expect(std::ranges::count(sweep->kept, key) > 0, "I12");
      }
    }
  }

  // Events.

  secagg::Attempt AnyAttempt() {
    const AttemptRecords& attempts = *state_.attempts;
    if (!attempts.empty() && !Chance(6)) {
      if (!Chance(4)) return attempts.back().attempt;
      return attempts[Below(attempts.size())].attempt;
    }
    secagg::Attempt attempt{.manifest_hash = rules_.hash(), .number = Beginning(state_)};
    if (Chance(3)) attempt.number.attempt += static_cast<uint32_t>(Below(3));
    if (Chance(3)) attempt.number.round += static_cast<uint32_t>(Below(2));
    if (Chance(3)) attempt.model_digest = {static_cast<uint8_t>(Below(3))};
    return attempt;
  }

  ObjectArrived Object(protocol::BulkKind kind, uint64_t member, const secagg::Attempt& attempt) {
    uint64_t total = 0;
    switch (kind) {
      case protocol::BulkKind::kUpload:
        total = secagg::UploadBytes(rules_.aggregation());
        break;
      case protocol::BulkKind::kUnmaskShare:
        total = secagg::UnmaskShareBytes(rules_.aggregation().sharing());
        break;
      case protocol::BulkKind::kCheckRow:
        total = secagg::CheckRowBytes(
            OpenAttempt(state_) == nullptr ? 1 : OpenAttempt(state_)->participants);
        break;
      case protocol::BulkKind::kCheckpoint:
        total = protocol::EncryptedCheckpointBytes(rules_.spec());
        break;
      case protocol::BulkKind::kClosedRound:
      case protocol::BulkKind::kRoster: {
        const auto participants =
            state_.attempts->empty() ? 1 : state_.attempts->back().participants;
        const bool closed = kind == protocol::BulkKind::kClosedRound;
        total = closed ? secagg::ClosedRoundBytes(rules_.aggregation(), participants)
                       : secagg::RosterBytes(participants);
        return {.member = member,
                .name = {kind, attempt},
                .total = total,
                .digest = {static_cast<uint8_t>(Chance(9) ? 9
                                                : closed  ? 1
                                                          : 2)}};
      }
      case protocol::BulkKind::kShares:
        total = 1;
        break;
      case protocol::BulkKind::kKeyPacket:
        return Packet(member, attempt);
    }
    if (Chance(30)) ++total;
    // Now and then another object of the same member.
    const auto variant = static_cast<uint8_t>(Chance(12) ? 1 : 0);
    return {.member = member,
            .name = {kind, attempt},
            .total = total,
            .digest = {static_cast<uint8_t>(member), variant}};
  }

  // Its bytes stand for those that a member signed.
  ObjectArrived Packet(uint64_t member, const secagg::Attempt& attempt) {
    const size_t seats = rules_.committee().size();
    const size_t length = secagg::KeyPacketBytes(seats, seats);
    thread_local std::map<std::pair<size_t, uint8_t>, std::pair<base::Bytes, crypto::Digest>> made;
    const auto variant = static_cast<uint8_t>(2 * member + (Chance(12) ? 1 : 0));
    auto& [whole, digest] = made[{length, variant}];
    if (whole.empty()) {
      whole = base::Bytes(length, variant);
      digest = crypto::Sha256(whole);
    }
    return {.member = member,
            .name = {protocol::BulkKind::kKeyPacket, attempt},
            .total = length + (Chance(30) ? 1 : 0),
            .digest = digest,
            .whole = whole};
  }

  ObjectArrived PacketOf(uint64_t member) {
    return Packet(member, protocol::PacketAttempt(rules_.hash(), rules_.manifest().epoch()));
  }

  Event Attest(uint64_t member, uint32_t round) {
    const protocol::Attestation attestation{
        .member = member,
        .round = round,
        .model_digest = {static_cast<uint8_t>(Chance(12) ? 9 : 7)},
        .state_digest = {}};
    return AttestationGiven{.attestation = attestation, .bytes = BytesOf(attestation)};
  }

  Event Abstain(const secagg::Attempt& attempt) {
    const uint64_t member = AnyMember();
    return AbstentionGiven{
        .abstention = {.member = member, .attempt = attempt},
        .bytes = {static_cast<uint8_t>(member), static_cast<uint8_t>(Chance(9))}};
  }

  Event Complain() {
    return ObjectionGiven{{.member = AnyMember(),
                           .revision = state_.revision - Below(4),
                           .attempt = AnyAttempt().number,
                           .reason = Chance(2) ? protocol::ObjectionReason::kMayHaveVoted
                                               : protocol::ObjectionReason::kFork}};
  }

  Event Say() {
    protocol::OpeningStatement statement{
        .word = Chance(2) ? protocol::OpeningWord::kVote : protocol::OpeningWord::kHas,
        .member = AnySeat(),
        .state = {.round = static_cast<uint32_t>(Chance(6) ? Below(5) : 1),
                  .model_digest = {static_cast<uint8_t>(Chance(12) ? 9 : 7)}}};
    if (statement.word == protocol::OpeningWord::kHas && Chance(3)) {
      statement.earlier = protocol::OpeningState{.round = 0, .model_digest = {7}};
    }
    return OpeningStatementGiven{.statement = statement, .bytes = BytesOf(statement)};
  }

  Event PassTime() {
    now_ += Chance(4) ? 20 + Below(100) : Below(10);
    if (Chance(60)) now_ -= Below(300);  // a clock that is set
    for (uint64_t member = 0; member < rules_.members(); ++member) {
      if (!Chance(5)) attendance_.Note(member, now_);
    }
    return TimePassed();
  }

  // A member that has a lost object gives it again.
  Event GiveBack() {
    const BlobKey& key = state_.lost[Below(state_.lost.size())].object.key;
    const uint64_t giver = IsServersOwn(key.name.kind) ? AnySeat() : key.member;
    return Object(key.name.kind, giver, key.name.attempt);
  }

  Event UnmaskingEvent() {
    const secagg::Attempt attempt = OpenAttempt(state_)->attempt;
    const uint64_t seat = AnySeat();
    switch (Below(6)) {
      case 0:
        return VoteGiven{
            .member = seat, .attempt = attempt, .vote = {static_cast<uint8_t>(Chance(12))}};
      case 1:
        return Object(protocol::BulkKind::kUnmaskShare, seat, attempt);
      case 2:
        return Object(protocol::BulkKind::kCheckRow, seat, attempt);
      default:
        return VerdictGiven{.member = seat, .attempt = attempt, .confirmed = !Chance(3)};
    }
  }

  Event UsefulEvent() {
    if (Opened(state_) == nullptr) return Say();
    if (!state_.lost.empty() && Chance(2)) return GiveBack();
    if (OpenAttempt(state_) == nullptr) return Attest(AnyMember(), FinishedRounds(state_));
    if (const auto* const collecting = StageOf<Collecting>(state_)) {
      if (Chance(20)) return Abstain(OpenAttempt(state_)->attempt);
      const std::vector<uint64_t>& cohort = collecting->cohort;
      const uint64_t member = cohort.empty() ? AnyMember() : cohort[Below(cohort.size())];
      if (state_.key_packets.Find(member) == nullptr && !Chance(4)) {
        return PacketOf(member);
      }
      return Object(protocol::BulkKind::kUpload, member, OpenAttempt(state_)->attempt);
    }
    return UnmaskingEvent();
  }

  Event AnyEvent() {
    switch (Below(12)) {
      case 9:
        return Complain();
      case 8:
        return Abstain(AnyAttempt());
      case 10:
        return ObjectsChecked{.lost = {{.key = {.name = {protocol::BulkKind::kRoster, AnyAttempt()},
                                                .member = AnyMember()}}}};
      case 0:
        return VoteGiven{.member = AnyMember(), .attempt = AnyAttempt(), .vote = {0}};
      case 1:
        return VerdictGiven{.member = AnyMember(), .attempt = AnyAttempt(), .confirmed = Chance(2)};
      case 2:
        return Attest(AnyMember(), static_cast<uint32_t>(Below(4)));
      case 3:
        return rules_.manifest().begins_training() ? PassTime() : Say();
      case 4:
        return CohortDrawnUnasked();
      case 5:
        return SumClosed{.participants = static_cast<uint32_t>(Below(6)),
                         .closed_round = {},
                         .roster = {},
                         .shares = std::nullopt};
      case 6:
        return SharesChecked{.accused = {AnyMember()}, .disputed = Chance(2)};
      case 7:
        return BeginningRead{
            .round = static_cast<uint32_t>(Below(3)), .items = {}, .signed_ones = {}};
      default:
        return Object(static_cast<protocol::BulkKind>(1 + Below(8)), AnyMember(), AnyAttempt());
    }
  }

  // For a size that is never asked for.
  Event CohortDrawnUnasked() { return CohortDrawn{.attempt = AnyAttempt(), .cohort = {}}; }

  Event RandomEvent() {
    if (Chance(400)) {
      log_ = "drain";
      return DrainAsked();
    }
    if (Chance(120)) crashed_ = true;
    if (Chance(paused_ ? 20 : 300)) {
      log_ = "pause";
      paused_ = !paused_;
      return PauseAsked{.paused = paused_};
    }
    const uint64_t choice = Below(10);
    if (choice < 3) {
      log_ = "time";
      return PassTime();
    }
    log_ = choice < 8 ? "useful" : "any";
    return choice < 8 ? UsefulEvent() : AnyEvent();
  }

  const RoundRules& rules_;
  std::mt19937_64 random_;
  uint64_t seed_;
  std::string name_;
  uint64_t now_ = 1'000'000;
  Attendance attendance_;
  MemoryServerStore memory_;
  MemoryBlobStore blobs_;
  RoundStore store_;
  RoundState state_;
  std::vector<uint64_t> sum_;                                         // members
  std::map<std::pair<uint32_t, uint64_t>, crypto::Digest> attested_;  // by round and member
  std::map<uint64_t, base::Bytes> voted_;                             // in the opening
  std::map<uint64_t, base::Bytes> packets_;                           // by member
  Seen seen_;
  std::string log_;
  uint64_t events_ = 0;
  uint64_t giver_ = 0;  // of the last object
  bool accepted_ = false, crashed_ = false, failed_ = false, paused_ = false;
  bool checks_lost_ = false;     // the event is a check of shares for which objects were missing
  bool without_givers_ = false;  // an attempt failed with kTooFewGivers
  Coverage coverage_;
};

}  // namespace tacet::server::testing

#endif  // TACET_SERVER_RANDOM_ROUNDS_FOR_TEST_H_
