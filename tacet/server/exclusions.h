// Participants that are left out of a round, and for how long.
//
// All of it follows from the ended attempts of an epoch and from whom they named, in their order.
// Earlier epochs of the training count as spent attempts only. So a server that was restarted knows
// the same.
//
// *Named.* The check of shares names participants, or puts them in dispute (wrong_shares.h). The
// first time a participant is left out of the round only, the k-th time of 2^(k-1) rounds, as far
// as the server's options allow. Where one lying seat can put anybody in dispute, it is left out of
// the round only, and this does not count.
//
// *On trial.* A wrong MAC or payload names nobody. Where every member uploads, each attempt has the
// same participants, so the next attempt of the round leaves out a part of the suspects. A member
// that is left out of a refused sum has not spoiled it, so it is cleared. After a sum
// that is sound, parts of the suspects stay on trial, another one in each round: of 1 round after
// the first refused sum of all suspects, of 16^(k-1) rounds after the k-th. The last suspect is
// left out as long as the options allow. It is cleared by two refused sums of one round: a single
// one may be another member's fault. A trial that leaves too few givers is void: the next
// attempt has all members. Where it is refused, too, the same part is on trial once more.
#ifndef TACET_SERVER_EXCLUSIONS_H_
#define TACET_SERVER_EXCLUSIONS_H_

#include <cstdint>
#include <vector>

#include "tacet/server/round_rules.h"
#include "tacet/server/server_store.h"
#include "tacet/server/submissions.h"

namespace tacet::server {

class Exclusions {
 public:
  // After the attempts before it: one that ended, and those whom it named, with the bytes of
  // kLeftOut.
  void AttemptEnded(const RoundRules& rules, const AttemptRecord& record, const Submissions& named);

  // The members left out of the attempt that comes next, or is open: named ones with the bytes of
  // kLeftOut, others as IsOnTrial or kLastSuspect. K_min others always remain.
  const Submissions& now() const { return now_; }
  // Among them, those that shares named.
  uint64_t named_now() const { return now_.size() - on_trial_.size(); }

 private:
  struct Naming {
    uint64_t member = 0;
    uint32_t round = 0;
    base::Bytes why;  // bytes of kLeftOut
  };

  // A member's.
  struct Trials {
    bool cleared = false;  // it was left out of a refused sum
    uint32_t sound = 0;    // sums without it that were sound
    uint32_t voids = 0;    // that were void twice

    friend bool operator==(const Trials&, const Trials&) = default;
  };

  void BeginRound(const RoundRules& rules, uint32_t round);
  // The trial that the round begins with, or continues with.
  void NextTrial(const RoundRules& rules);
  void SumRefused(const RoundRules& rules);
  std::vector<uint64_t> Suspects(const RoundRules& rules) const;
  std::vector<Naming> namings_;
  // By member; empty before the first refused sum.
  std::vector<Trials> trials_;
  std::vector<uint64_t> on_trial_;
  uint64_t trials_end_ = 0;  // the round that has all suspects again
  uint64_t with_all_ = 0;    // refused sums of all suspects
  uint64_t failed_ = 0;      // attempts of the training
  bool repeats_ = false;     // the last trial is to be repeated
  uint32_t round_ = 0;
  Submissions now_;
};

}  // namespace tacet::server

#endif  // TACET_SERVER_EXCLUSIONS_H_
