// Participants that are left out of a round, and for how long.
//
// All of it follows from the ended attempts of an epoch and from whom they named, in their order.
// So a server that was restarted knows the same.
//
// *Named.* The check of shares names participants, or puts them in dispute (wrong_shares.h). The
// first time a participant is left out of the round only, the k-th time of 2^(k-1) rounds, as far
// as the server's options allow. Where one lying seat can put anybody in dispute, it is left out of
// the round only, and this does not count. *On trial.* A wrong MAC or payload names nobody. Where
// every member uploads, each attempt has the same participants, so the next attempt of the round
// leaves out one part of the suspects, the one after it the next part. The suspects are all members
// at first. Once an attempt succeeds without a part, this part is suspected. A part of one member
// is named. A trial that leaves too few givers is void: the next attempt has all members. Where it
// is refused, too, the same part is on trial once more.
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

  // Who is left out of the attempt that comes next, or is open: named ones with the bytes of
  // kLeftOut, those on trial with kOnTrial. K_min others always remain.
  const Submissions& now() const { return now_; }
  // Among them, those that are not on trial.
  uint64_t named_now() const { return now_.size() - on_trial_.size(); }

 private:
  struct Naming {
    uint64_t member = 0;
    uint32_t round = 0;
    base::Bytes why;  // bytes of kLeftOut
  };

  void BeginRound(const RoundRules& rules, uint32_t round);
  void NextTrial(const RoundRules& rules);
  // Members that may be on trial, in the order in which they are.
  std::vector<uint64_t> Suspects(const RoundRules& rules) const;

  std::vector<Naming> namings_;
  std::vector<uint64_t> suspects_;  // a part without which an attempt succeeded; empty: all members
  std::vector<uint64_t> on_trial_;
  uint64_t trials_ = 0;   // of these suspects, in the round
  bool repeats_ = false;  // the last trial was void, and is to be repeated
  uint32_t round_ = 0;
  Submissions now_;
};

}  // namespace tacet::server

#endif  // TACET_SERVER_EXCLUSIONS_H_
