#include "tacet/server/exclusions.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "tacet/server/failures.h"

namespace tacet::server {
namespace {

constexpr uint64_t kMostDoublings = 31;
// Trials last 16 times as long after the next refused sum of all suspects.
constexpr uint64_t kDoublingsOfTrials = 4;

// Whether a lying seat can have it wherever the others' shares are right.
bool IsOfOneSeat(const base::Bytes& why) { return why == base::Bytes{kInDisputeOfOneSeat}; }

bool IsLastSuspect(const Submissions& left_out, uint64_t member) {
  return left_out.Find(member)->bytes() == base::Bytes{kLastSuspect};
}

uint64_t RoundsOf(uint64_t most, uint64_t doublings) {
  return std::min(most, uint64_t{1} << std::min(doublings, kMostDoublings));
}

// Rounds for which a search may leave out a member.
uint64_t MostRounds(const RoundRules& rules) {
  // With as many shares as determine a sum, a lying seat spoils whichever it likes.
  const he::KeySharing& sharing = rules.aggregation().sharing();
  const bool one_seat = sharing.threshold() >= sharing.shape().seats;
  return one_seat ? 1 : rules.options().most_rounds_left_out;
}

// Sums that are refused until one of `suspects` is left, `part` of them on trial at a time.
uint64_t RefusedUntilFound(uint64_t suspects, uint64_t part) {
  return (suspects + part - 1) / part - 1 + static_cast<uint64_t>(std::bit_width(part - 1));
}

}  // namespace

void Exclusions::AttemptEnded(const RoundRules& rules, const AttemptRecord& record,
                              const Submissions& named) {
  if (record.attempt.number.epoch != rules.manifest().epoch()) {
    failed_ += record.phase == protocol::AttemptPhase::kFailed ? 1 : 0;
    return;
  }
  const uint32_t round = record.attempt.number.round;
  if (record.phase == protocol::AttemptPhase::kPublished) {
    for (const uint64_t member : on_trial_) ++trials_[member].sound;
    repeats_ = false;
    BeginRound(rules, round + 1);
    NextTrial(rules);
    return;
  }
  ++failed_;
  if (round != round_) BeginRound(rules, round);
  if (!named.empty()) {
    for (const Submission& one : named) {
      namings_.push_back({.member = one.member, .round = round, .why = one.bytes()});
    }
    BeginRound(rules, round);
    NextTrial(rules);
  } else if (record.failure == kRefusedFailure && rules.EveryMemberUploads()) {
    SumRefused(rules);
  } else if (record.failure == kTooFewUploads) {
    // A member whose budget is spent makes every trial void but its own.
    if (!on_trial_.empty()) {
      repeats_ = !repeats_;
      for (const uint64_t member : on_trial_) trials_[member].voids += repeats_ ? 0 : 1;
    }
    trials_end_ = round;  // the next attempt has all
    BeginRound(rules, round);
  }
}

void Exclusions::SumRefused(const RoundRules& rules) {
  trials_.resize(rules.members());
  if (on_trial_.empty()) {
    const uint64_t rounds = RoundsOf(MostRounds(rules), kDoublingsOfTrials * with_all_++);
    trials_end_ = std::max(trials_end_, round_ + rounds);
  } else {
    // The sums that led to the last suspect tell more than a single one of another's fault.
    repeats_ = IsLastSuspect(now_, on_trial_[0]) && !repeats_;
    for (const uint64_t member : on_trial_) trials_[member].cleared = !repeats_;
  }
  BeginRound(rules, round_);
  const size_t suspects = Suspects(rules).size();
  if (suspects == 0) trials_.assign(rules.members(), {});  // none of them alone: all members again
  if (suspects == 1 && !repeats_) trials_end_ = round_ + MostRounds(rules);
  NextTrial(rules);
}

void Exclusions::BeginRound(const RoundRules& rules, uint32_t round) {
  round_ = round;
  on_trial_.clear();
  now_ = {};
  std::map<uint64_t, uint64_t> times;  // that count, by member
  for (const Naming& naming : namings_) {
    uint64_t rounds = 1;
    if (!IsOfOneSeat(naming.why)) {
      rounds = RoundsOf(rules.options().most_rounds_left_out, times[naming.member]++);
    }
    if (round - naming.round < rounds && now_.Find(naming.member) == nullptr) {
      now_.Add({naming.member, naming.why});
    }
  }
}

void Exclusions::NextTrial(const RoundRules& rules) {
  const uint64_t most = rules.MostLeftOut();
  const uint64_t room = most - std::min<uint64_t>(most, now_.size());
  std::vector<uint64_t> suspects = Suspects(rules);
  if (round_ >= trials_end_ || room == 0 || suspects.empty()) return;
  const bool is_last = suspects.size() == 1;
  uint64_t part = std::min<uint64_t>(room, (suspects.size() + 1) / 2);
  // Others are on trial in each round as long as the spare attempts are enough to find one. Else
  // those without whom most sums were sound stay on trial.
  const uint64_t spare = rules.spec().spare_attempts;
  const bool others = RefusedUntilFound(suspects.size(), part) + failed_ <= spare;
  std::ranges::stable_sort(suspects, [&](uint64_t a, uint64_t b) {
    const Trials &of_a = trials_[a], &of_b = trials_[b];
    return others ? of_a.sound + of_a.voids < of_b.sound + of_b.voids
                  : std::pair(of_b.sound, of_a.voids) < std::pair(of_a.sound, of_b.voids);
  });
  if (!others) {
    const auto alike = std::ranges::count(suspects, trials_[suspects[0]],
                                          [this](uint64_t one) { return trials_[one]; });
    part = std::min(room, (static_cast<uint64_t>(alike) + 1) / 2);
  }
  on_trial_.assign(suspects.begin(), suspects.begin() + static_cast<ptrdiff_t>(part));
  for (const uint64_t member : on_trial_) {
    const bool suspected = trials_[member].sound > 0;
    const uint8_t why = is_last ? kLastSuspect : suspected ? kSuspected : kOnTrial;
    now_.Add({member, {why}});
  }
}

std::vector<uint64_t> Exclusions::Suspects(const RoundRules& rules) const {
  std::vector<uint64_t> suspects;
  for (uint64_t member = 0; member < rules.members(); ++member) {
    const bool cleared = !trials_.empty() && trials_[member].cleared;
    if (!cleared && now_.Find(member) == nullptr) suspects.push_back(member);
  }
  return suspects;
}

}  // namespace tacet::server
