#include "tacet/server/exclusions.h"

#include <algorithm>
#include <map>

#include "tacet/server/failures.h"

namespace tacet::server {
namespace {

constexpr uint32_t kMostDoublings = 31;

// Whether a lying seat can have it wherever the others' shares are right.
bool IsOfOneSeat(const base::Bytes& why) { return why == base::Bytes{kInDisputeOfOneSeat}; }

// Suspects that are on trial at a time: half of them at most.
uint64_t PartOf(uint64_t suspects, uint64_t room) { return std::min(room, (suspects + 1) / 2); }

}  // namespace

void Exclusions::AttemptEnded(const RoundRules& rules, const AttemptRecord& record,
                              const Submissions& named) {
  const uint32_t round = record.attempt.number.round;
  if (record.phase == protocol::AttemptPhase::kPublished) {
    if (on_trial_.size() == 1) {
      // With as many shares as determine a sum, a lying seat spoils whichever it likes.
      const auto& sharing = rules.aggregation().sharing();
      const bool one_seat = sharing.threshold() >= sharing.shape().seats;
      namings_.push_back({.member = on_trial_[0],
                          .round = round,
                          .why = {one_seat ? kInDisputeOfOneSeat : kInDispute}});
    }
    suspects_ = on_trial_.size() > 1 ? on_trial_ : std::vector<uint64_t>();
    trials_ = 0;
    repeats_ = false;
    BeginRound(rules, round + 1);
    return;
  }
  if (round != round_) BeginRound(rules, round);
  if (!named.empty()) {
    for (const Submission& one : named) {
      namings_.push_back({.member = one.member, .round = round, .why = one.bytes()});
    }
    BeginRound(rules, round);
  } else if (record.failure == kRefusedFailure && rules.EveryMemberUploads()) {
    if (!on_trial_.empty()) repeats_ = false;
    BeginRound(rules, round);
    NextTrial(rules);
  } else if (record.failure == kTooFewUploads) {
    // A member whose budget is spent makes every trial void but its own.
    if (!on_trial_.empty()) {
      repeats_ = !repeats_;
      if (repeats_) --trials_;
    }
    BeginRound(rules, round);  // without a trial
  }
}

void Exclusions::BeginRound(const RoundRules& rules, uint32_t round) {
  round_ = round;
  on_trial_.clear();
  now_ = {};
  std::map<uint64_t, uint32_t> times;  // that count, by member
  for (const Naming& naming : namings_) {
    uint64_t rounds = 1;
    if (!IsOfOneSeat(naming.why)) {
      rounds = std::min(rules.options().most_rounds_left_out,
                        uint64_t{1} << std::min(times[naming.member]++, kMostDoublings));
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
  if (room == 0 || suspects.empty()) return;
  uint64_t part = PartOf(suspects.size(), room);
  if (trials_ * part >= suspects.size()) {  // none of them alone: all members again
    suspects_.clear();
    trials_ = 0;
    suspects = Suspects(rules);
    part = PartOf(suspects.size(), room);
  }
  const uint64_t first = trials_++ * part;
  const uint64_t end = std::min<uint64_t>(first + part, suspects.size());
  for (uint64_t i = first; i < end; ++i) {
    on_trial_.push_back(suspects[i]);
    now_.Add({suspects[i], {kOnTrial}});
  }
}

std::vector<uint64_t> Exclusions::Suspects(const RoundRules& rules) const {
  std::vector<uint64_t> suspects = suspects_;
  if (suspects.empty()) {
    for (uint64_t member = 0; member < rules.members(); ++member) suspects.push_back(member);
  }
  std::erase_if(suspects, [this](uint64_t member) { return now_.Find(member) != nullptr; });
  const auto times = [this](uint64_t member) {
    return std::ranges::count(namings_, member, &Naming::member);
  };
  std::ranges::stable_sort(suspects,
                           [&times](uint64_t a, uint64_t b) { return times(a) > times(b); });
  return suspects;
}

}  // namespace tacet::server
