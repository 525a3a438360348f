// A world around one MemberMachine in which everything that may happen does, at random, and in
// which the invariants of docs/design/member.md are checked at each action.
#ifndef TACET_MEMBER_MACHINE_WORLD_FOR_TEST_H_
#define TACET_MEMBER_MACHINE_WORLD_FOR_TEST_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/member/member_machine.h"
#include "tacet/member/seat_anchor.h"
#include "tacet/protocol/abstention.h"
#include "tacet/protocol/attestation.h"
#include "tacet/protocol/epoch_opening.h"
#include "tacet/protocol/small_federation_for_test.h"

namespace tacet::member::testing {

// Federations of one sequence each: a training's first epoch and a later one; members with and
// without a seat; cohorts drawn by the server, by coins, and with uploads of everybody.
class MachineFederations {
 public:
  MachineFederations() {
    for (const uint32_t epoch : {0u, 1u}) {
      for (const int kind : {0, 1, 2, 3, 4}) {
        agreement::ManifestSpec spec = kind == 3 ? protocol::testing::AgreementWith(0, {4, 1, 2})
                                                 : protocol::testing::SmallAgreement();
        if (kind == 1) {
          spec.sampling.method = accounting::Sampling::kPoisson;
          spec.sampling.dummy_uploads = true;
          spec.sampling.max_participations = 2;
          spec.rounds = 4;
        }
        if (kind == 4) {
          spec.sampling.method = accounting::Sampling::kPoisson;
          spec.sampling.dummy_uploads = true;
        }
        if (kind == 2) spec.sampling.method = accounting::Sampling::kPoisson;
        all_.push_back(std::make_unique<protocol::testing::SmallFederation>(spec, 5, epoch));
      }
    }
  }
  const agreement::SignedManifest& manifest(uint64_t index) const {
    return all_[index % all_.size()]->manifest();
  }
  size_t size() const { return all_.size(); }

 private:
  std::vector<std::unique_ptr<protocol::testing::SmallFederation>> all_;
};

class MachineWorld {
 public:
  MachineWorld(const MachineFederations& federations, uint64_t seed)
      : seed_(seed),
        random_(seed),
        manifest_(federations.manifest(seed)),
        member_(Below(5)),
        holding_(HoldingOf(manifest_.begins_training() ? 0 : Below(3), 0)) {
    if (!manifest_.begins_training() && holding_.next_round > 0 && Chance(70)) {
      earlier_ = OpeningOf(holding_.next_round - 1, Chance(90) ? 0 : 1);
    }
    Restart();
  }

  // One sequence of about 12 steps.
  void Run() {
    for (int step = 0; step < 12 && failures_.empty(); ++step) {
      RunStep();
      if (Chance(8)) Restart();
    }
    for (const std::string& failure : failures_)
      ADD_FAILURE() << "seed " << seed_ << ": " << failure;
  }

  bool failed() const { return !failures_.empty(); }
  const std::set<size_t>& reached() const { return reached_; }  // indices of State

 private:
  using Kind = protocol::AttemptPhase;

  // Chance.

  uint32_t Below(uint32_t end) { return static_cast<uint32_t>(random_() % end); }
  bool Chance(uint32_t percent) { return Below(100) < percent; }

  // Values.

  static crypto::Digest DigestOf(uint32_t round, uint32_t fork, uint8_t kind) {
    return {static_cast<uint8_t>(round), static_cast<uint8_t>(fork), kind};
  }
  static Holding HoldingOf(uint32_t round, uint32_t fork) {
    return {.next_round = round,
            .digests = {.model = DigestOf(round, fork, 1), .state = DigestOf(round, fork, 2)}};
  }
  static protocol::OpeningState OpeningOf(uint32_t round, uint32_t fork) {
    return {.round = round,
            .model_digest = DigestOf(round, fork, 1),
            .state_digest = DigestOf(round, fork, 2)};
  }
  static protocol::OpeningState OpeningOf(const Holding& holding) {
    return protocol::OpeningStateOf(holding.next_round, holding.digests);
  }
  const agreement::ManifestSpec& spec() const { return manifest_.manifest().spec(); }
  size_t quorum() const { return protocol::OpeningQuorum(manifest_.manifest()); }

  void Expect(bool holds, std::string_view invariant, std::string_view what) {
    if (!holds) failures_.push_back(std::string(invariant) + ": " + std::string(what));
  }

  // A new process: what is durable stays. Sometimes the state is put back from a copy of the
  // attempt, or the machine was started again, which takes the anchor.
  void Restart() {
    if (Chance(10)) {
      votes_.clear();
      shares_.clear();
    }
    if (Chance(10)) anchor_.reset();
    // Or this is an earlier machine of the seat, which has the later one's state.
    if (Chance(10) && older_anchor_.has_value() && memory_.has_value() &&
        older_anchor_->number < memory_->attempt.number) {
      anchor_ = older_anchor_;
    }
    const Past past = KeptPast();
    machine_.emplace(manifest_, member_, holding_, memory_, now_, past);
    process_ = {};
    process_.unanchored = past.unanchored;
    process_.silent_through = past.silent_through;
  }
  // As a driver finds it.
  Past KeptPast() const {
    Past past;
    if (!has_seat()) return past;
    const auto number = memory_.has_value() ? memory_->attempt.number : secagg::AttemptNumber{};
    const bool has_vote = memory_.has_value() && votes_.contains(number);
    if (!anchor_.has_value() ||
        (memory_.has_value() && (!anchor_->has_heard || anchor_->number < number))) {
      past.unanchored = true;
      past.has_vote = has_vote;
      return past;
    }
    if (!anchor_->has_heard) return past;
    const bool knows = memory_.has_value() && number == anchor_->number &&
                       anchor_->progress != SeatProgress::kSilent &&
                       (anchor_->progress == SeatProgress::kNothing || has_vote) &&
                       (anchor_->progress != SeatProgress::kUnmasked || shares_.contains(number));
    if (knows) return past;
    secagg::AttemptNumber through = anchor_->number;
    if (anchor_->progress == SeatProgress::kNothing && through.attempt-- == 0 &&
        through.round-- == 0 && through.epoch-- == 0) {
      return past;
    }
    past.silent_through = through;
    return past;
  }
  bool has_seat() const {
    return std::ranges::count(spec().committee_members, static_cast<uint64_t>(member_)) > 0;
  }

  void RunStep() {
    now_ += Below(12);
    step_ = {};
    Event event = event::Begin{};
    for (int count = 0; failures_.empty(); ++count) {
      if (count > 300) return Expect(false, "M16", "a step does not end");
      const size_t state = machine_->situation().state.index();
      reached_.insert(state);
      TellSomethingElse(event);
      MemberMachine copy = *machine_;
      const Reaction reaction = machine_->On(event, now_);
      Expect(copy.On(event, now_).action.index() == reaction.action.index() &&
                 copy.situation().state.index() == machine_->situation().state.index(),
             "M17", "a copy decides otherwise");
      for (const Reaction::Note& note : reaction.notes) {
        step_.is_silent |= note.event.what == "may-have-voted";
      }
      const auto* end = std::get_if<action::EndStep>(&reaction.action);
      if (end != nullptr) {
        Expect(end->result.status().code() != absl::StatusCode::kInternal, "M16",
               "an event was not awaited");
        return;
      }
      const bool crashes = Chance(1);
      event = std::visit([this](const auto& action) { return Answer(action); }, reaction.action);
      if (crashes) return Restart();
    }
  }

  // An event that the machine does not wait for changes nothing.
  void TellSomethingElse(const Event& event) {
    if (!Chance(3)) return;
    const Event other = std::holds_alternative<event::Sealed>(event) ? Event(event::Trained{})
                                                                     : Event(event::Sealed{});
    const size_t before = machine_->situation().state.index();
    if (std::holds_alternative<state::Sealing>(machine_->situation().state) ||
        std::holds_alternative<state::Training>(machine_->situation().state)) {
      return;
    }
    const Reaction reaction = machine_->On(other, now_);
    const auto* end = std::get_if<action::EndStep>(&reaction.action);
    Expect(end != nullptr && end->result.status().code() == absl::StatusCode::kInternal &&
               machine_->situation().state.index() == before,
           "M18", "an event that was not awaited was acted on");
  }

  static Event Failure() { return event::Failed{absl::UnavailableError("not now")}; }

  // Answers: groups of actions first.

  template <typename... Kinds>
  Event Answer(const std::variant<Kinds...>& action) {
    return std::visit([this](const auto& chosen) { return this->Answer(chosen); }, action);
  }
  Event Answer(const action::EndStep&) { return event::Done{}; }

  // The announcement: what an honest server may say next, often, and anything else.
  Event Answer(const action::AwaitAnnouncement& action) {
    if (Chance(3)) return Failure();
    if (Chance(2)) return event::NotAnnounced{.unreadable = Chance(50), .why = "no"};
    auto told = std::make_shared<protocol::Announcement>(last_);
    told->manifest_hash = manifest_.manifest().hash();
    told->epoch = manifest_.epoch();
    told->first_listed = action.listed_from;
    told->listed.clear();
    told->revision = Chance(10) ? last_.revision : last_.revision + 1;
    if (told->revision != last_.revision) Advance(*told);
    told->recalls = Chance(15);
    if (Chance(12)) Spoil(*told);
    last_ = *told;
    step_.told = *told;
    return event::Announced{told};
  }

  void Advance(protocol::Announcement& told) {
    auto& current = told.current;
    const uint32_t coins = spec().sampling.method != accounting::Sampling::kFixedSize;
    const auto invite = [&] {
      return coins != 0 ? protocol::Invited::kOwnCoin
                        : (Chance(75) ? protocol::Invited::kYes : protocol::Invited::kNo);
    };
    const bool over = !current.has_value() || current->phase == Kind::kPublished ||
                      current->phase == Kind::kFailed;
    if (!current.has_value()) told.finished = Chance(85) ? holding_.next_round : Below(3);
    if (over && Chance(manifest_.begins_training() ? 90 : 50)) {
      if (told.finished >= spec().rounds) {
        told.stopped = true;
        return;
      }
      const bool again = current.has_value() && current->phase == Kind::kFailed;
      protocol::AnnouncedAttempt next;
      next.invited = invite();
      next.attempt = {.manifest_hash = told.manifest_hash,
                      .number = {.epoch = told.epoch,
                                 .round = told.finished,
                                 .attempt = again ? current->attempt.number.attempt + 1 : 0},
                      .model_digest = DigestOf(told.finished, Chance(93) ? 0 : 1, 1)};
      if (next.attempt.number.attempt > spec().spare_attempts) return;
      told.current = next;
      told.listed.push_back(next.attempt.number);
      return;
    }
    if (over) return;
    if (current->phase == Kind::kCollecting && Chance(60)) {
      current->phase = Chance(85) ? Kind::kUnmasking : Kind::kFailed;
      if (current->phase == Kind::kUnmasking) current->participants = 3;
    } else if (current->phase == Kind::kUnmasking && Chance(30)) {
      current->deadline += 10;
    } else if (current->phase == Kind::kUnmasking && Chance(30)) {
      current->phase = Chance(75) ? Kind::kPublished : Kind::kFailed;
      if (current->phase == Kind::kPublished) {
        ++told.finished;
        if (Chance(85)) told.kept.push_back(current->attempt);
        if (told.kept.size() > 2) told.kept.erase(told.kept.begin());
      }
    }
  }

  void Spoil(protocol::Announcement& told) {
    switch (Below(9)) {
      case 0:
        told.epoch += 1;
        break;
      case 1:
        told.finished = Below(5);
        break;
      case 2:
        told.kept.clear();
        break;
      case 3:
        told.current.reset();
        break;
      case 4:
        if (told.current.has_value()) told.current->attempt.model_digest[1] ^= 1;
        break;
      case 5:
        if (told.current.has_value()) told.current->phase = static_cast<Kind>(1 + Below(4));
        break;
      case 6:
        if (told.current.has_value()) told.current->attempt.number.attempt = Below(4);
        break;
      case 7:
        if (told.current.has_value()) told.current->attempt.number.round = Below(4);
        break;
      default:
        if (told.current.has_value()) told.current->participants = Below(6);
        if (!told.kept.empty()) told.kept.front().model_digest[1] ^= 1;
    }
  }

  // Memory.

  Event Answer(const action::SaveMemory& action) {
    const MemberMemory& next = action.memory;
    if (next.attempt.number.epoch == manifest_.epoch()) ExpectEntered("remembers an attempt");
    if (memory_.has_value()) {
      Expect(next.attempt.number >= memory_->attempt.number, "M7", "an earlier attempt again");
      const bool same = next.attempt == memory_->attempt;
      Expect(!same || memory_->participation == Participation::kUndecided ||
                 memory_->participation == next.participation,
             "M11", "decided twice");
      Expect(!same || !memory_->accepted || next.accepted, "M11", "forgets that it has uploaded");
      if (same) {
        for (const auto& number : memory_->distrusted) {
          Expect(std::ranges::find(next.distrusted, number) != next.distrusted.end(), "M8",
                 "trusts again");
        }
      }
    }
    Expect(action.anchored != process_.unanchored, "M23", "does not know its anchor");
    if (has_seat() && action.anchored && !Chance(3)) Hear(next.attempt.number);
    if (Chance(2)) {
      // That the server has taken an upload is not known: it is offered again.
      const bool taken = next.accepted && !(memory_.has_value() && memory_->accepted);
      if (taken) --process_.uploads[next.attempt.number];
      return Failure();
    }
    memory_ = next;
    return event::Done{};
  }
  Event Answer(const action::KeepOnly& action) {
    Expect(memory_.has_value() && memory_->attempt.number == action.number, "M3",
           "forgets before it remembers");
    if (Chance(2)) return Failure();
    std::erase_if(uploads_, [&](const auto& kept) { return kept.first != action.number; });
    std::erase_if(votes_, [&](const auto& kept) { return kept.first != action.number; });
    std::erase_if(shares_, [&](const auto& kept) { return kept != action.number; });
    return event::Done{};
  }
  Event Answer(const action::TossCoin&) {
    Expect(memory_->participation == Participation::kUndecided, "M11", "tosses again");
    return event::CoinTossed{Chance(60)};
  }

  // The opening.

  void ExpectEntered(std::string_view what) {
    if (manifest_.begins_training()) return;
    Expect(opened_, "M9", std::string(what) + " before a quorum voted");
  }

  std::vector<protocol::OpeningStatement> Statements() {
    std::vector<protocol::OpeningStatement> said;
    const uint32_t round = Chance(85) ? holding_.next_round : Below(3);
    const uint32_t liars = Chance(20) ? Below(3) : 0;
    for (const uint64_t seat : spec().committee_members) {
      if (seat == member_ && Chance(50)) continue;
      const bool lies = Below(5) < liars;
      const auto state = OpeningOf(lies ? Below(3) : round, lies ? Below(2) : 0);
      if (Chance(75)) {
        protocol::OpeningStatement has{
            .word = protocol::OpeningWord::kHas, .member = seat, .state = state};
        if (state.round > 0 && Chance(50)) has.earlier = OpeningOf(state.round - 1, 0);
        if (seat != member_) said.push_back(has);
      }
      if (Chance(kept_vote_.has_value() ? 85 : 45)) {
        if (seat != member_) {
          said.push_back({.word = protocol::OpeningWord::kVote, .member = seat, .state = state});
        } else if (kept_vote_.has_value()) {  // nobody else can sign it
          said.push_back(
              {.word = protocol::OpeningWord::kVote, .member = seat, .state = *kept_vote_});
        }
      }
    }
    return said;
  }
  // Independent of OpeningTally.
  std::map<protocol::OpeningState, std::set<uint64_t>> VotersIn(
      const std::vector<protocol::OpeningStatement>& said) const {
    std::map<protocol::OpeningState, std::set<uint64_t>> voters;
    std::set<uint64_t> counted;
    for (const auto& statement : said) {
      if (statement.word != protocol::OpeningWord::kVote) continue;
      if (counted.insert(statement.member).second) voters[statement.state].insert(statement.member);
    }
    return voters;
  }
  Event Answer(const action::FetchOpening& action) {
    if (Chance(3)) return Failure();
    event::OpeningHeard heard{.statements = Statements()};
    if (action.with_own_vote && !lost_vote_) heard.own_vote = kept_vote_;
    step_.heard = heard.statements;
    for (const auto& [state, voters] : VotersIn(heard.statements)) {
      if (voters.size() < quorum()) continue;
      opened_ = true;
      step_.named.push_back(state);
    }
    return heard;
  }
  Event Answer(const action::ReadEarlier&) {
    if (Chance(3)) return Failure();
    return event::EarlierRead{earlier_};
  }
  Event Answer(const action::KeepVote& action) {
    Expect(!kept_vote_.has_value() || *kept_vote_ == action.state, "M10", "a second vote");
    if (!kept_vote_.has_value()) {
      std::set<uint64_t> supporters;
      for (const auto& statement : step_.heard) {
        if (statement.state == action.state || statement.earlier == action.state) {
          supporters.insert(statement.member);
        }
      }
      if (OpeningOf(holding_) == action.state || earlier_ == action.state) {
        supporters.insert(member_);
      }
      Expect(supporters.size() >= protocol::StateQuorum(manifest_.manifest()), "M10",
             "a vote for a state that too few have");
      Expect(action.state.round >= holding_.next_round ||
                 (earlier_.has_value() && earlier_->round <= action.state.round),
             "M10", "a vote for a state that it cannot begin with");
    }
    if (Chance(3)) return Failure();
    kept_vote_ = action.state;
    lost_vote_ = false;
    return event::Done{};
  }
  Event Answer(const action::SendVote&) {
    Expect(kept_vote_.has_value(), "M3", "a vote is sent before it is kept");
    return Chance(3) ? Failure() : Event(event::Done{});
  }
  Event Answer(const action::SendReasons&) {
    Expect(kept_vote_.has_value(), "M3", "reasons of no vote");
    return Chance(3) ? Failure() : Event(event::Done{});
  }
  Event Answer(const action::SendStates& action) {
    Expect(action.statement.state == OpeningOf(holding_) &&
               (!action.statement.earlier.has_value() || action.statement.earlier == earlier_),
           "M10", "says that it has what it has not");
    return Chance(3) ? Failure() : Event(event::Done{});
  }

  // States.

  Event Answer(const action::FetchSum& action) {
    if (Chance(3)) return Failure();
    step_.fetched = action.attempt;
    if (Chance(20)) return event::SumFetched{};
    return event::SumFetched{Chance(95) ? 3u : 4u};
  }
  Event Answer(const action::ApplySum&) {
    Expect(step_.fetched.has_value() && step_.fetched->number.round == holding_.next_round &&
               step_.fetched->model_digest == holding_.digests.model,
           "M6", "applies a sum of another model");
    ExpectTrusted(step_.fetched->number, "applies a sum of");
    ExpectEntered("applies a sum");
    if (Chance(3)) return Failure();
    Take(HoldingOf(holding_.next_round + 1, 0));
    return event::StateReached{holding_};
  }
  Event Answer(const action::FetchAttestations& action) {
    if (Chance(3)) return Failure();
    event::AttestationsHeard heard;
    for (uint64_t member = 0; member < 5; ++member) {
      if (!Chance(70)) continue;
      const Holding state = HoldingOf(action.round, Chance(90) ? 0 : 1);
      heard.attestations.push_back({.member = member,
                                    .round = Chance(95) ? action.round : action.round + 1,
                                    .model_digest = state.digests.model,
                                    .state_digest = state.digests.state});
    }
    std::map<protocol::OpeningState, std::set<uint64_t>> attesters;
    std::set<uint64_t> counted;
    for (const protocol::Attestation& said : heard.attestations) {
      const auto& seats = spec().committee_members;
      if (said.round != action.round || std::ranges::find(seats, said.member) == seats.end() ||
          !counted.insert(said.member).second) {
        continue;
      }
      attesters[{said.round, said.model_digest, said.state_digest}].insert(said.member);
    }
    for (const auto& [state, seats] : attesters) {
      if (seats.size() >= protocol::StateQuorum(manifest_.manifest())) {
        step_.named.push_back(state);
      }
    }
    return heard;
  }
  Event Answer(const action::FetchCheckpoint& action) {
    Expect(std::ranges::find(step_.named, action.state) != step_.named.end(), "M12",
           "looks for a state that too few seats named");
    if (Chance(3)) return Failure();
    step_.found = action.state;
    return event::CheckpointFetched{Chance(80)};
  }
  Event Answer(const action::InstallCheckpoint& action) {
    Expect(step_.found.has_value(), "M12", "installs what was not found");
    const bool back =
        step_.found->round < holding_.next_round ||
        (step_.found->round == holding_.next_round && *step_.found != OpeningOf(holding_));
    ExpectForward(back, action.first_undone);
    if (Chance(3)) return Failure();
    Take({.next_round = step_.found->round,
          .digests = {.model = step_.found->model_digest, .state = step_.found->state_digest}});
    return event::StateReached{holding_};
  }
  Event Answer(const action::StepBack& action) {
    Expect(earlier_.has_value() && std::ranges::find(step_.named, *earlier_) != step_.named.end(),
           "M12", "goes back to a state for which no quorum voted");
    ExpectForward(true, action.first_undone);
    if (Chance(3)) return Failure();
    holding_ = {.next_round = earlier_->round,
                .digests = {.model = earlier_->model_digest, .state = earlier_->state_digest}};
    earlier_.reset();
    return event::StateReached{holding_};
  }
  void ExpectForward(bool back, const std::optional<uint32_t>& first_undone) {
    const bool begun = manifest_.begins_training() ||
                       (memory_.has_value() && memory_->attempt.number.epoch == manifest_.epoch());
    Expect(!back || !begun, "M13", "goes back in an epoch that has begun");
    Expect(!back || (first_undone.has_value() && earlier_.has_value() &&
                     *first_undone == earlier_->round),
           "M13", "goes back without saying so, or behind a state for which it gave a share");
  }
  void Take(const Holding& next) {
    earlier_ = OpeningOf(holding_);
    holding_ = next;
  }

  Event Answer(const action::SendAttestation& action) {
    ExpectEntered("attests a state");
    if (Chance(3)) return Failure();
    return event::Attested{.with_checkpoint = action.with_checkpoint && Chance(50)};
  }
  Event Answer(const action::SendCheckpoint&) {
    ExpectEntered("gives a state");
    return Chance(3) ? Failure() : Event(event::Done{});
  }

  // Uploads.

  void ExpectTrusted(const secagg::AttemptNumber& number, std::string_view what) {
    Expect(!memory_.has_value() ||
               std::ranges::find(memory_->distrusted, number) == memory_->distrusted.end(),
           "M8", std::string(what) + " an attempt that it distrusts");
  }
  // That the attempt is the current one, which starts from this member's model.
  void ExpectOwn(const secagg::Attempt& attempt, std::string_view what) {
    Expect(memory_.has_value() && memory_->attempt == attempt, "M7",
           std::string(what) + " another attempt than the one that it remembers");
    Expect(attempt.number.round == holding_.next_round &&
               attempt.model_digest == holding_.digests.model,
           "M6", std::string(what) + " an attempt of another model");
    ExpectTrusted(attempt.number, what);
    ExpectEntered(what);
  }

  Event Answer(const action::Charge& action) {
    if (Chance(3)) return Failure();
    for (const auto& number : action.announced) charged_.insert(number);
    return event::Done{};
  }
  Event Answer(const action::FindUpload& action) {
    if (Chance(3)) return Failure();
    const bool found = uploads_.contains(action.attempt.number);
    const protocol::AnnouncedAttempt& current = *step_.told.current;
    if (current.phase != protocol::AttemptPhase::kCollecting) {
      auto& first =
          process_.deadlines.try_emplace(action.attempt.number, current.deadline).first->second;
      first = std::min(first, current.deadline);
    }
    step_.upload = found;
    return event::UploadFound{found};
  }
  Event Answer(const action::AskForUpload&) {
    if (Chance(3)) return Failure();
    return event::UploadKept{Chance(30)};
  }
  Event Answer(const action::ChargeForSealing& action) {
    Expect(!uploads_.contains(action.number), "M1", "charges an upload again");
    if (Chance(3)) return Failure();
    for (const auto& number : action.announced) {
      if (number != action.number) charged_.insert(number);
    }
    if (charged_.contains(action.number) && !charged_for_sealing_.contains(action.number)) {
      step_.charge = 2;
      return event::SealingCharged{.refused = "it was caught up with", .was_sealed = Chance(30)};
    }
    if (Chance(10) && !charged_for_sealing_.contains(action.number)) {
      step_.charge = 2;
      step_.abstains = protocol::MembersAbstain(spec()) && Chance(80);
      return event::SealingCharged{
          .refused = "the budget", .was_sealed = Chance(30), .abstains = step_.abstains};
    }
    charged_.insert(action.number);
    charged_for_sealing_.insert(action.number);
    step_.charge = 1;
    return event::SealingCharged{};
  }
  Event Answer(const action::SendAbstention& action) {
    ExpectOwn(action.attempt, "abstains from");
    Expect(step_.abstains && protocol::MembersAbstain(spec()), "M19",
           "abstains without a refusal that may be said");
    Expect(!uploads_.contains(action.attempt.number), "M19", "abstains after it has sealed");
    if (Chance(3)) return Failure();
    step_.abstained = true;
    return event::Done{};
  }
  // Its answer follows from what was announced, or withheld, in this step.
  Event Answer(const action::SendObjection& action) {
    const protocol::Objection& said = action.objection;
    Expect(said.revision == step_.told.revision && !step_.objected, "M20",
           "objects to something else, or twice");
    Expect(said.member == member_ && said.attempt.epoch == manifest_.epoch(), "M20",
           "objects in another name");
    if (said.reason == protocol::ObjectionReason::kNoClosedRound) {
      Expect(step_.no_closed_round, "M20", "objects to what it was given");
    }
    if (said.reason == protocol::ObjectionReason::kMayHaveVoted) {
      Expect(has_seat() && said.attempt <= process_.silent_through, "M23",
             "is silent where it knows what it said");
    } else {
      Expect(!step_.is_silent, "M20", "does not say that its seat is silent");
    }
    if (said.reason == protocol::ObjectionReason::kFork) {
      Expect(!step_.uploaded, "M20", "uploads to what it objects to");
    }
    if (Chance(3)) return Failure();
    step_.objected = true;
    return event::Done{};
  }
  Event Answer(const action::Train& action) {
    ExpectOwn(action.attempt, "trains for");
    const bool refused = step_.charge == 2;
    Expect(charged_.contains(action.attempt.number) || refused, "M2", "trains before the charge");
    if (Chance(3)) return Failure();
    step_.trained = true;
    step_.training_failed = Chance(10);
    if (step_.training_failed) return event::Trained{"it failed"};
    return event::Trained{};
  }
  Event Answer(const action::Seal& action) {
    ExpectOwn(action.attempt, "seals");
    Expect(!step_.abstains || (step_.abstained && action.zeros), "M19",
           "seals data, or before it abstains");
    Expect(!uploads_.contains(action.attempt.number), "M1", "seals again");
    Expect(step_.trained, "M15", "seals without training");
    const Participation decided = memory_->participation;
    Expect(action.zeros || (charged_for_sealing_.contains(action.attempt.number) &&
                            step_.charge == 1 && decided == Participation::kYes),
           "M2", "seals data that were not charged for that");
    Expect(action.zeros || !step_.training_failed, "M2", "seals what was not trained");
    Expect(decided == Participation::kYes || decided == Participation::kSpent ||
               spec().sampling.dummy_uploads,
           "M11", "uploads uninvited");
    if (Chance(3)) return Failure();
    step_.sealed = true;
    return event::Sealed{Chance(95)};
  }
  Event Answer(const action::SaveUpload& action) {
    Expect(step_.sealed && !uploads_.contains(action.attempt.number), "M1", "a second upload");
    if (Chance(3)) return Failure();
    uploads_[action.attempt.number] = action.attempt;
    return event::Done{};
  }
  Event Answer(const action::SendUpload& action) {
    using Reply = event::UploadSent::Answer;
    ExpectOwn(action.attempt, "uploads to");
    Expect(uploads_.contains(action.attempt.number), "M3", "an upload is sent before it is kept");
    step_.uploaded = true;
    int& sent = process_.uploads[action.attempt.number];
    Expect(++sent <= 1 + MemberMachine::kMaxRefusals, "M14", "sends an upload again and again");
    if (Chance(3)) {
      --sent;
      return Failure();
    }
    const uint32_t reply = Below(10);
    return event::UploadSent{.answer = reply < 7    ? Reply::kTaken
                                       : reply == 7 ? Reply::kHasAnother
                                       : reply == 8 ? Reply::kHasAnotherPacket
                                                    : Reply::kNotTaken,
                             .why = "no",
                             .bytes = 10};
  }

  // A seat.

  void Hear(const secagg::AttemptNumber& number) {
    if (anchor_->has_heard && number <= anchor_->number) return;
    older_anchor_ = anchor_;
    anchor_ = {.number = number, .has_heard = true};
  }
  Event Answer(const action::MakeAnchor& action) {
    Expect(process_.unanchored, "M23", "makes an anchor again, or without a seat");
    const auto& current = step_.told.current;
    std::optional<secagg::Attempt> open;
    if (current.has_value()) {
      open = current->attempt;
    } else if (memory_.has_value()) {
      open = memory_->attempt;
    }
    Expect(action.open == open, "M23", "makes the anchor of another attempt");
    if (Chance(5)) return Failure();
    if (open.has_value() && action.silent) {
      process_.silent_through = std::max(process_.silent_through, std::optional(open->number));
    }
    if (Chance(10)) return event::AnchorMade{"its disk is full"};
    process_.unanchored = false;
    anchor_ = Anchor{};
    if (!open.has_value()) return event::AnchorMade{};
    const secagg::AttemptNumber number = open->number;
    Expect(action.silent || votes_.contains(number), "M23", "speaks where it may have spoken");
    anchor_ = {.number = number,
               .progress = action.silent              ? SeatProgress::kSilent
                           : shares_.contains(number) ? SeatProgress::kUnmasked
                                                      : SeatProgress::kVoted,
               .has_heard = true};
    return event::AnchorMade{};
  }
  Event Answer(const action::GiveBack& action) {
    Expect(step_.told.recalls && has_seat(), "M21", "gives back what nobody asks for");
    Expect(action.attempt.number > process_.silent_through, "M21",
           "gives back what it cannot know");
    Expect(memory_.has_value() && memory_->attempt == action.attempt, "M7",
           "gives back another attempt than the one that it remembers");
    if (Chance(3)) return Failure();
    Expect(++process_.given_back[action.attempt.number] <= MemberMachine::kMostGivenBack, "M21",
           "gives back again and again");
    return event::Done{};
  }
  Event Answer(const action::FetchClosedRound& action) {
    using Found = event::ClosedRoundFetched::Kind;
    ExpectOwn(action.attempt, "looks at");
    step_.attempt = action.attempt;
    if (Chance(3)) return Failure();
    if (Chance(4)) {
      step_.no_closed_round = true;
      return event::ClosedRoundFetched{.kind = Found::kNotThere, .why = "gone"};
    }
    if (Chance(4)) return event::ClosedRoundFetched{.kind = Found::kUnreadable, .why = "torn"};
    const uint32_t announced = step_.told.current->participants;
    step_.closed = {.kind = Found::kRead,
                    .why = {},
                    .participants = Chance(95) ? announced : announced + 1,
                    .has_own = action.has_upload && Chance(90)};
    step_.is_closed = true;
    step_.sum = Chance(90) ? 0 : 1;
    return step_.closed;
  }
  Event Answer(const action::RecordVote& action) {
    const secagg::AttemptNumber number = memory_->attempt.number;
    ExpectOwn(memory_->attempt, "votes in");
    Expect(step_.is_closed && step_.closed.participants == step_.told.current->participants, "M5",
           "votes for a round of other participants");
    Expect(!process_.votes.contains(number), "M4", "votes twice");
    Expect(!process_.silent.contains(number), "M4", "votes after its verdict");
    const bool acknowledged = uploads_.contains(number) && memory_->accepted;
    Expect(action.acknowledged == acknowledged, "M5", "does not know what it uploaded");
    Expect(!acknowledged || step_.closed.has_own, "M5", "votes for a round without its upload");
    if (Chance(3)) return Failure();
    const auto vote = votes_.find(number);
    if (Chance(5) || (vote != votes_.end() && vote->second != step_.sum)) {
      return event::VoteRecorded{"another round was voted for"};
    }
    votes_.emplace(number, step_.sum);
    if (Chance(3)) return Failure();  // of the anchor
    if (anchor_->number != number || anchor_->progress < SeatProgress::kVoted) {
      anchor_ = {.number = number, .progress = SeatProgress::kVoted, .has_heard = true};
    }
    return event::VoteRecorded{};
  }
  Event Answer(const action::SendRoundVote&) {
    Expect(votes_.contains(memory_->attempt.number), "M3", "a vote is sent before it is kept");
    const uint32_t sum = votes_.at(memory_->attempt.number);
    Expect(voted_for_.emplace(memory_->attempt.number, sum).first->second == sum, "M23",
           "votes for two sums in one attempt");
    if (Chance(3)) return Failure();
    process_.votes.insert(memory_->attempt.number);
    return event::Done{};
  }
  Event Answer(const action::FetchVotes&) {
    Expect(process_.votes.contains(memory_->attempt.number), "M4",
           "asks for votes without its own");
    if (Chance(3)) return Failure();
    if (Chance(4)) return event::VotesFetched{.over = true};
    event::VotesFetched fetched;
    fetched.all_voted = Chance(30);
    const auto seats = static_cast<uint32_t>(manifest_.manifest().committee().size());
    for (uint32_t seat = 0; seat < seats; ++seat) {
      if (Chance(80)) fetched.seats.insert(seat);
    }
    step_.voters = fetched.seats.size();
    return fetched;
  }
  Event Answer(const action::ForgetEarlier&) {
    if (Chance(3)) return Failure();
    earlier_.reset();
    return event::Done{};
  }
  Event Answer(const action::RecordShare&) {
    const secagg::AttemptNumber number = memory_->attempt.number;
    ExpectOwn(memory_->attempt, "gives its share in");
    Expect(step_.voters >= quorum(), "M5", "a share without a quorum of votes");
    Expect(process_.votes.contains(number), "M4", "a share without a vote");
    Expect(!process_.silent.contains(number), "M4", "a share after its verdict");
    Expect(!earlier_.has_value(), "M13", "a share while an earlier state is kept");
    if (Chance(3)) return Failure();
    shares_.insert(number);
    if (Chance(3)) return Failure();  // of the anchor
    Expect(anchor_->number == number, "M23", "a share without an anchored vote");
    anchor_->progress = SeatProgress::kUnmasked;
    return event::Done{};
  }
  Event Answer(const action::SendShare&) {
    Expect(shares_.contains(memory_->attempt.number), "M3", "a share is sent before it is kept");
    return Chance(3) ? Failure() : Event(event::Done{});
  }
  Event Answer(const action::DecryptSum&) {
    using Judged = event::SumJudged::Kind;
    if (Chance(3)) return Failure();
    step_.judged = {.kind = Chance(60)   ? Judged::kSound
                            : Chance(50) ? Judged::kTooFewShares
                            : Chance(50) ? Judged::kDoubtful
                                         : Judged::kUnsound,
                    .why = "why",
                    .shows_wrong_shares = Chance(40)};
    step_.is_judged = true;
    return step_.judged;
  }
  Event Answer(const action::SendCheckRow&) {
    const secagg::AttemptNumber number = memory_->attempt.number;
    Expect(shares_.contains(number), "M5", "a check row before its share");
    Expect(step_.is_judged && step_.judged.shows_wrong_shares &&
               step_.judged.kind != event::SumJudged::Kind::kSound,
           "M5", "a check row of a sound sum");
    Expect(!process_.rows.contains(number), "M4", "two check rows");
    if (Chance(3)) return Failure();
    process_.rows.insert(number);
    return event::Done{};
  }
  Event Answer(const action::SendVerdict& action) {
    const secagg::AttemptNumber number = memory_->attempt.number;
    Expect(!process_.silent.contains(number), "M4", "two verdicts");
    using Judged = event::SumJudged::Kind;
    Expect(!action.confirmed || (step_.is_judged && step_.judged.kind == Judged::kSound), "M5",
           "confirms a sum that is not sound");
    Expect(!step_.is_judged || step_.judged.kind != Judged::kTooFewShares, "M5",
           "a verdict before v shares");
    if (step_.is_judged && step_.judged.kind == Judged::kDoubtful) {
      const auto first = process_.deadlines.find(number);
      Expect(first != process_.deadlines.end() && step_.told.current->deadline > first->second,
             "M5", "refuses what more shares may decrypt, before the first deadline");
    }
    if (Chance(3)) return Failure();
    process_.silent.insert(number);
    return event::Done{};
  }

  const uint64_t seed_;
  std::mt19937_64 random_;
  const agreement::SignedManifest& manifest_;
  const uint64_t member_;
  uint64_t now_ = 1000;
  std::optional<MemberMachine> machine_;
  protocol::Announcement last_;
  std::vector<std::string> failures_;
  std::set<size_t> reached_;

  // Durable.
  Holding holding_;
  std::optional<protocol::OpeningState> earlier_;
  std::optional<MemberMemory> memory_;
  std::optional<protocol::OpeningState> kept_vote_;
  bool lost_vote_ = false;
  std::map<secagg::AttemptNumber, secagg::Attempt> uploads_;
  std::map<secagg::AttemptNumber, uint32_t> votes_;  // for which of several sums
  std::set<secagg::AttemptNumber> shares_, charged_, charged_for_sealing_;
  struct Anchor {
    secagg::AttemptNumber number;
    SeatProgress progress = SeatProgress::kNothing;
    bool has_heard = false;  // of an attempt
  };
  std::optional<Anchor> anchor_, older_anchor_;
  bool opened_ = false;  // a quorum of votes was heard in this epoch
  std::map<secagg::AttemptNumber, uint32_t> voted_for_;  // as the server heard it

  struct Process {
    bool unanchored = false;
    std::optional<secagg::AttemptNumber> silent_through;
    std::map<secagg::AttemptNumber, int> uploads;
    std::set<secagg::AttemptNumber> votes, silent, rows;
    std::map<secagg::AttemptNumber, int> given_back;
    std::map<secagg::AttemptNumber, uint64_t> deadlines;  // the earliest while unmasking
  };
  Process process_;

  struct InStep {
    protocol::Announcement told;
    std::vector<protocol::OpeningStatement> heard;
    std::vector<protocol::OpeningState> named;  // by enough seats
    std::optional<secagg::Attempt> fetched, attempt;
    std::optional<protocol::OpeningState> found;
    bool upload = false, trained = false, training_failed = false, sealed = false;
    bool abstains = false, abstained = false;
    uint32_t sum = 0;  // of the closed round that was fetched
    bool no_closed_round = false, uploaded = false, objected = false;
    bool is_silent = false;  // the seat, and its operator reads so
    int charge = 0;          // for sealing: 1 charged, 2 refused
    bool is_closed = false, is_judged = false;
    event::ClosedRoundFetched closed;
    size_t voters = 0;
    event::SumJudged judged;
  };
  InStep step_;
};

// Runs `count` sequences from `first` on; all states must be reached.
inline void RunSequences(uint64_t first, uint64_t count) {
  const MachineFederations federations;
  std::set<size_t> reached;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    MachineWorld world(federations, seed);
    world.Run();
    reached.insert(world.reached().begin(), world.reached().end());
    if (world.failed()) return;
  }
  for (size_t state = 0; state < std::variant_size_v<State>; ++state) {
    EXPECT_TRUE(reached.contains(state)) << "state " << state << " is never reached";
  }
}

}  // namespace tacet::member::testing

#endif  // TACET_MEMBER_MACHINE_WORLD_FOR_TEST_H_
