// Model of an epoch's opening: honest seats that decide by the product's own functions, corrupt
// seats that say anything, and a server that returns to each seat any part of what was said.
// Explore visits every state that they can reach.
#ifndef TACET_MEMBER_OPENING_MODEL_FOR_TEST_H_
#define TACET_MEMBER_OPENING_MODEL_FOR_TEST_H_

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "fmt/core.h"

#include "tacet/member/epoch_entry.h"
#include "tacet/protocol/epoch_opening.h"

namespace tacet::member::testing {

// States of the federation: S0 to S2, each followed by the next, and one that corrupt seats invent.
inline constexpr uint8_t kStates = 4;
inline constexpr uint8_t kInvented = 3;
inline constexpr uint8_t kNone = 7;

struct OpeningSetting {
  protocol::OpeningRules rules;
  uint32_t honest = 0;     // seats that follow the protocol; the others of rules.seats are corrupt
  uint32_t tolerated = 0;  // f, with which rounds ran before the epoch
  uint32_t invented_round = 1;
};

// An honest seat. What it had when the epoch began, it has stated; a server may repeat it for ever.
struct ModelSeat {
  uint8_t first = 0, first_earlier = kNone;
  uint8_t own = 0, earlier = kNone;
  uint8_t vote = kNone;

  friend auto operator<=>(const ModelSeat&, const ModelSeat&) = default;
};
using ModelSeats = std::vector<ModelSeat>;  // in order: seats with one state are alike

class OpeningModel {
 public:
  explicit OpeningModel(const OpeningSetting& setting) : setting_(setting) {}

  // A run that breaks an invariant of docs/design/opening.md, step by step; nothing when none does.
  std::optional<std::string> Explore() {
    for (ModelSeats& start : Starts()) {
      std::ranges::sort(start);
      if (!seen_.contains(start)) Visit(start, std::nullopt, "");
    }
    while (!queue_.empty() && !broken_.has_value()) {
      const ModelSeats now = queue_.front();
      queue_.pop_front();
      Check(now);
      if (!broken_.has_value()) Advance(now);
    }
    return broken_;
  }

  // The same with an honest server, all of whose seats are here: the epoch begins.
  std::optional<std::string> ExploreHonest() {
    for (const ModelSeats& start : Starts()) {
      if (!Opens(start)) return "O7: the epoch does not begin" + Text(start);
    }
    return std::nullopt;
  }

  size_t visited() const { return seen_.size(); }

 private:
  const protocol::OpeningRules& rules() const { return setting_.rules; }
  uint32_t corrupt() const { return static_cast<uint32_t>(setting_.rules.seats) - setting_.honest; }
  uint32_t RoundOf(uint8_t state) const {
    return state == kInvented ? setting_.invented_round : state;
  }
  protocol::OpeningState StateOf(uint8_t state) const {
    protocol::OpeningState made{.round = RoundOf(state)};
    made.model_digest.fill(static_cast<uint8_t>(state + 1));
    return made;
  }
  uint8_t IndexOf(const protocol::OpeningState& state) const {
    return static_cast<uint8_t>(state.model_digest[0] - 1);
  }
  OwnStates StatesOf(uint8_t own, uint8_t earlier) const {
    return {.last = StateOf(own),
            .earlier = earlier == kNone ? std::nullopt : std::optional(StateOf(earlier))};
  }

  // The states of a seat when an epoch begins: one, and an earlier one unless it gave an unmask
  // share for a sum that starts from its state. A checkpoint can skip a round.
  static constexpr std::array<std::pair<uint8_t, uint8_t>, 6> kKinds = {
      {{0, kNone}, {1, 0}, {1, kNone}, {2, 1}, {2, kNone}, {2, 0}}};

  // Honest seats that can have given a share for the sum from S1 to S2, or from S2 on.
  static bool MayHaveShared(const ModelSeat& seat, uint8_t from) {
    if (from == 2) return seat.first == 2 && seat.first_earlier == kNone;
    return (seat.first == 1 && seat.first_earlier == kNone) ||
           (seat.first == 2 && seat.first_earlier != 0);
  }
  uint32_t Shares(const ModelSeats& seats, uint8_t from) const {
    return static_cast<uint32_t>(std::ranges::count_if(
        seats, [&](const ModelSeat& seat) { return MayHaveShared(seat, from); }));
  }
  // Enough for a sum, with those of the corrupt seats.
  bool MayHaveSum(const ModelSeats& seats, uint8_t from) const {
    return Shares(seats, from) + corrupt() >= rounds_quorum();
  }
  // v of the rounds before, which a broken rule of the opening leaves alone.
  uint32_t rounds_quorum() const {
    return (static_cast<uint32_t>(rules().seats) + setting_.tolerated) / 2 + 1;
  }

  // All that the rounds before can have left.
  std::vector<ModelSeats> Starts() const {
    std::vector<ModelSeats> starts = {{}};
    for (uint32_t seat = 0; seat < setting_.honest; ++seat) {
      std::vector<ModelSeats> longer;
      for (const ModelSeats& start : starts) {
        for (const auto& [own, earlier] : kKinds) {
          const ModelSeat next{own, earlier, own, earlier, kNone};
          if (!start.empty() && next < start.back()) continue;
          longer.push_back(start);
          longer.back().push_back(next);
        }
      }
      starts = std::move(longer);
    }
    std::erase_if(starts, [this](const ModelSeats& start) { return !IsPossible(start); });
    return starts;
  }

  // S2 exists if there are shares for it. A seat that has no earlier state has given a share, so
  // that a quorum had voted for an attempt that starts from its state.
  bool IsPossible(const ModelSeats& start) const {
    const auto have_had = [&](uint8_t state) {
      const auto seats = std::ranges::count_if(start, [&](const ModelSeat& seat) {
        return seat.first == state || seat.first_earlier == state ||
               (seat.first > state && seat.first_earlier == kNone);
      });
      return static_cast<uint32_t>(seats) + corrupt() >= rounds_quorum();
    };
    return std::ranges::all_of(start, [&](const ModelSeat& seat) {
      const bool shared = seat.first > 0 && seat.first_earlier == kNone;
      return (seat.first < 2 || MayHaveSum(start, 1)) && (!shared || have_had(seat.first));
    });
  }

  // The first round with which the epoch may begin: a member may have applied a sum that starts
  // there.
  uint32_t FirstRound(const ModelSeats& seats) const {
    if (MayHaveSum(seats, 2)) return 2;
    return MayHaveSum(seats, 1) ? 1 : 0;
  }

  // Counts of a tally, packed: supporters and votes of each state, seats that were heard.
  using Counts = uint32_t;
  static constexpr Counts Supports(uint8_t state) { return Counts{1} << (3 * state); }
  static constexpr Counts Votes(uint8_t state) { return Counts{1} << (12 + 3 * state); }
  static constexpr Counts kHeard = Counts{1} << 24;
  static constexpr uint32_t Of(Counts counts, Counts what) { return (counts / what) & 7; }

  std::vector<Counts> OptionsOf(const ModelSeat& seat) const {
    std::vector<Counts> options;
    for (uint32_t shown = 0; shown < 8; ++shown) {
      if ((shown & 4) != 0 && seat.vote == kNone) continue;
      std::set<uint8_t> supported;
      const auto states = [&](uint8_t own, uint8_t earlier) {
        supported.insert(own);
        if (earlier != kNone && RoundOf(earlier) + 1 == RoundOf(own)) supported.insert(earlier);
      };
      if ((shown & 1) != 0) states(seat.first, seat.first_earlier);
      if ((shown & 2) != 0) states(seat.own, seat.earlier);
      Counts counts = shown == 0 ? 0 : kHeard;
      if ((shown & 4) != 0) {
        supported.insert(seat.vote);
        counts += Votes(seat.vote);
      }
      for (const uint8_t state : supported) counts += Supports(state);
      options.push_back(counts);
    }
    return options;
  }
  static std::vector<Counts> OptionsOfLiar() {
    std::vector<Counts> options;
    for (uint32_t mask = 0; mask < (1u << kStates); ++mask) {
      for (uint8_t vote = 0; vote <= kStates; ++vote) {
        const uint32_t supported = vote == kStates ? mask : mask | (1u << vote);
        Counts counts = supported == 0 ? 0 : kHeard;
        if (vote != kStates) counts += Votes(vote);
        for (uint8_t state = 0; state < kStates; ++state) {
          if ((supported >> state & 1) != 0) counts += Supports(state);
        }
        options.push_back(counts);
      }
    }
    return options;
  }
  static void AddOptions(std::vector<Counts>& all, const std::vector<Counts>& options) {
    std::vector<Counts> sums;
    for (const Counts a : all) {
      for (const Counts b : options) sums.push_back(a + b);
    }
    std::ranges::sort(sums);
    sums.erase(std::unique(sums.begin(), sums.end()), sums.end());
    all = std::move(sums);
  }

  // A tally with these counts: the product's functions see no more of a tally than that.
  protocol::OpeningTally TallyOf(Counts counts) const {
    protocol::OpeningTally tally(rules());
    uint64_t voter = 1;
    std::array<uint64_t, kStates> first_voter{};
    for (uint8_t state = 0; state < kStates; ++state) {
      first_voter[state] = voter;
      for (uint32_t i = 0; i < Of(counts, Votes(state)); ++i) {
        tally.Add(
            {.word = protocol::OpeningWord::kVote, .member = voter++, .state = StateOf(state)});
      }
    }
    const uint32_t heard = Of(counts, kHeard);
    for (uint8_t state = 0; state < kStates; ++state) {
      uint32_t left = Of(counts, Supports(state)) - Of(counts, Votes(state));
      for (uint64_t member = 1; member <= heard && left > 0; ++member) {
        const bool votes_for_it =
            member >= first_voter[state] && member < first_voter[state] + Of(counts, Votes(state));
        if (votes_for_it) continue;
        tally.Add({.word = protocol::OpeningWord::kHas, .member = member, .state = StateOf(state)});
        --left;
      }
    }
    return tally;
  }

  static std::optional<protocol::OpeningState> VoteIn(const std::vector<OpeningAction>& turn) {
    for (const OpeningAction& action : turn) {
      if (const auto* keep = std::get_if<action::KeepVote>(&action)) return keep->state;
    }
    return std::nullopt;
  }

  // The product's decision: for which state the seat votes, kNone for none.
  uint8_t Decide(const ModelSeat& seat, Counts counts, uint32_t asked) {
    const auto key = std::tuple(seat.own, seat.earlier, counts, asked);
    const auto known = decisions_.find(key);
    if (known != decisions_.end()) return known->second;
    const protocol::OpeningTally said = TallyOf(counts);
    const OwnStates own = StatesOf(seat.own, seat.earlier);
    const auto vote = VoteIn(SeatTurn(0, own, std::nullopt, said, rules(), asked));
    // A seat that has voted votes no more.
    for (uint8_t state = 0; state < kStates; ++state) {
      if (VoteIn(SeatTurn(0, own, StateOf(state), said, rules(), asked)).has_value()) {
        broken_ = "O5: a seat that has voted votes again";
      }
    }
    return decisions_[key] = vote.has_value() ? IndexOf(*vote) : kNone;
  }

  // The states for which the server and the corrupt seats can have this seat vote.
  std::set<uint8_t> VotesOf(const ModelSeats& seats, size_t index) {
    const ModelSeat& seat = seats[index];
    std::vector<Counts> all = {0};
    for (size_t i = 0; i < seats.size(); ++i) {
      if (i != index) AddOptions(all, OptionsOf(seats[i]));
    }
    for (uint32_t i = 0; i < corrupt(); ++i) AddOptions(all, OptionsOfLiar());
    std::set<uint8_t> votes;
    for (const Counts counts : all) {
      for (uint32_t asked = 0; asked <= 2; ++asked) {
        const uint8_t vote = Decide(seat, counts, asked);
        if (vote != kNone) votes.insert(vote);
      }
    }
    return votes;
  }

  // Whether a quorum of votes for the state can be shown to somebody.
  bool CanShowQuorum(const ModelSeats& seats, uint8_t state) const {
    const auto votes =
        std::ranges::count_if(seats, [&](const ModelSeat& seat) { return seat.vote == state; });
    return static_cast<size_t>(votes) + corrupt() >= rules().quorum;
  }

  // Where a member with these states gets to, whatever the server announces in addition to a quorum
  // of votes.
  std::set<std::pair<uint8_t, uint8_t>> Beginnings(uint8_t own, uint8_t earlier, uint8_t opened) {
    std::set<std::pair<uint8_t, uint8_t>> reached;
    for (uint32_t finished = 0; finished <= 3; ++finished) {
      for (uint32_t current = 0; current <= 4; ++current) {  // 4: none
        for (uint32_t kept = 0; kept <= 3; ++kept) {         // 3: none
          protocol::Announcement told{.finished = finished};
          if (current < 4) {
            told.current.emplace();
            told.current->attempt.number.round = current;
          }
          if (kept < 3) told.kept.push_back({.number = {.round = kept}});
          const Beginning beginning = BeginningOf(StateOf(opened), StatesOf(own, earlier), told);
          if (std::holds_alternative<beginning::Waits>(beginning) ||
              std::holds_alternative<beginning::Refuses>(beginning)) {
            continue;
          }
          const uint32_t from = RoundOf(opened);
          if (finished < from || current < from || kept < from) {
            broken_ = fmt::format(
                "O4: a member begins with round {} while the server speaks of an "
                "earlier one",
                from);
          }
          if (std::holds_alternative<beginning::GoesBack>(beginning)) {
            reached.insert({earlier, kNone});
          } else if (own == opened) {
            reached.insert({own, earlier});
          } else {  // it fetches the state for which there are votes
            reached.insert({opened, own});
          }
        }
      }
    }
    return reached;
  }

  void Check(const ModelSeats& seats) {
    std::vector<uint8_t> opened;
    for (uint8_t state = 0; state < kStates; ++state) {
      const bool had = std::ranges::any_of(seats, [&](const ModelSeat& seat) {
        return seat.first == state || seat.first_earlier == state;
      });
      const bool voted =
          std::ranges::any_of(seats, [&](const ModelSeat& seat) { return seat.vote == state; });
      if (voted && !had) {
        return Break(seats,
                     fmt::format("O1: an honest seat votes for {}, which none had", Name(state)));
      }
      if (CanShowQuorum(seats, state)) opened.push_back(state);
    }
    if (opened.size() > 1) {
      return Break(seats, fmt::format("O2: a quorum for {} and one for {}", Name(opened[0]),
                                      Name(opened[1])));
    }
    if (opened.empty()) return;
    if (RoundOf(opened[0]) < FirstRound(seats)) {
      return Break(seats,
                   fmt::format("O3: the epoch begins with {}, and a sum that starts from S{} "
                               "may have been applied",
                               Name(opened[0]), FirstRound(seats)));
    }
    // Any v seats include Q of so many, and the others are too few to rule their state out.
    const auto enough = static_cast<std::ptrdiff_t>(
        std::max(rules().quorum, rules().holders + rules().seats - rules().quorum));
    for (const ModelSeat& seat : seats) {
      const auto alike = std::ranges::count(seats, seat.first, &ModelSeat::first);
      if (corrupt() != 0 || alike < enough || RoundOf(opened[0]) >= RoundOf(seat.first)) continue;
      return Break(seats, fmt::format("O6: {} seats have {}, none is corrupt, and the epoch begins "
                                      "with {}",
                                      alike, Name(seat.first), Name(opened[0])));
    }
  }

  void Advance(const ModelSeats& now) {
    for (size_t i = 0; i < now.size(); ++i) {
      if (i > 0 && now[i] == now[i - 1]) continue;  // alike
      const auto move = [&](const ModelSeat& changed, const std::string& how) {
        ModelSeats next = now;
        next[i] = changed;
        std::ranges::sort(next);
        if (!seen_.contains(next)) Visit(next, now, Text(now[i]) + how);
      };
      if (now[i].vote == kNone) {
        for (const uint8_t vote : VotesOf(now, i)) {
          ModelSeat voted = now[i];
          voted.vote = vote;
          move(voted, " votes for " + Name(vote));
        }
      }
      for (uint8_t state = 0; state < kStates; ++state) {
        if (!CanShowQuorum(now, state)) continue;
        for (const auto& [own, earlier] : Beginnings(now[i].own, now[i].earlier, state)) {
          ModelSeat begun = now[i];
          begun.own = own;
          begun.earlier = earlier;
          move(begun, " begins with " + Name(state));
        }
      }
    }
  }

  // One honest server and all seats: what RoundServer asks for and returns.
  bool Opens(const ModelSeats& seats) const {
    std::vector<protocol::OpeningStatement> said;
    protocol::OpeningTally all(rules());
    for (size_t i = 0; i < seats.size(); ++i) {
      protocol::OpeningStatement has{
          .word = protocol::OpeningWord::kHas, .member = i, .state = StateOf(seats[i].own)};
      if (seats[i].earlier != kNone && RoundOf(seats[i].earlier) + 1 == RoundOf(seats[i].own)) {
        has.earlier = StateOf(seats[i].earlier);
      }
      said.push_back(has);
      all.Add(has);
    }
    const auto candidate = all.Held();
    if (!candidate.has_value()) return false;
    std::vector<protocol::OpeningStatement> votes;
    // As often as a vote can make the next seat vote.
    for (size_t turn = 0; turn < seats.size() * seats.size(); ++turn) {
      const size_t i = turn % seats.size();
      if (all.VoteOf(i) != nullptr) continue;
      protocol::OpeningTally told(rules());
      for (const auto& vote : votes) told.Add(vote);
      for (const size_t chosen : protocol::StatementsToHandOut(*candidate, said, rules())) {
        told.Add(said[chosen]);
      }
      const auto vote = VoteIn(SeatTurn(i, StatesOf(seats[i].own, seats[i].earlier), std::nullopt,
                                        told, rules(), candidate->round));
      if (vote.has_value()) {
        votes.push_back({.word = protocol::OpeningWord::kVote, .member = i, .state = *vote});
        all.Add(votes.back());
      }
    }
    return all.Opened() == candidate;
  }

  // The search.

  void Visit(const ModelSeats& seats, const std::optional<ModelSeats>& from, std::string how) {
    seen_[seats] = {from.value_or(ModelSeats()), std::move(how)};
    queue_.push_back(seats);
  }
  void Break(const ModelSeats& seats, const std::string& what) {
    std::string run;
    ModelSeats at = seats;
    while (true) {
      const auto& [from, how] = seen_.at(at);
      if (from.empty()) break;
      run = "\n  " + how + run;
      at = from;
    }
    broken_ = what + "\n  at first" + Text(at) + run;
  }

  static std::string Name(uint8_t state) {
    return state == kInvented ? "an invented state" : fmt::format("S{}", state);
  }
  static std::string Text(const ModelSeat& seat) {
    std::string text = "a seat with " + Name(seat.own);
    if (seat.earlier != kNone) text += " and before " + Name(seat.earlier);
    if (seat.vote != kNone) text += " that voted for " + Name(seat.vote);
    return text;
  }
  static std::string Text(const ModelSeats& seats) {
    std::string text = ":";
    for (const ModelSeat& seat : seats) text += " [" + Text(seat) + "]";
    return text;
  }

  OpeningSetting setting_;
  std::map<ModelSeats, std::pair<ModelSeats, std::string>> seen_;
  std::deque<ModelSeats> queue_;
  std::map<std::tuple<uint8_t, uint8_t, Counts, uint32_t>, uint8_t> decisions_;
  std::optional<std::string> broken_;
};

}  // namespace tacet::member::testing

#endif  // TACET_MEMBER_OPENING_MODEL_FOR_TEST_H_
