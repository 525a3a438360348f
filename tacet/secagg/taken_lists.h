// Lists of key packets that a seat has taken in an epoch: the first one of each member counts, also
// after a restart.
#ifndef TACET_SECAGG_TAKEN_LISTS_H_
#define TACET_SECAGG_TAKEN_LISTS_H_

#include <cstdint>
#include <map>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/crypto/hash.h"
#include "tacet/secagg/attempt.h"
#include "tacet/secagg/closed_round.h"
#include "tacet/secagg/journal.h"

namespace tacet::secagg {

class TakenLists {
 public:
  // Those in the journal for the epoch of `attempt`. Damaged entries count as lost. DataLoss when
  // the journal has nothing else.
  static absl::StatusOr<TakenLists> Read(const Journal& journal, const Attempt& attempt);

  // FailedPrecondition when the roster has another list of a member than the one taken.
  absl::Status Check(const Roster& roster) const;
  // Takes the roster's lists of members that had none, in one entry of the journal, whose errors it
  // returns.
  absl::Status Take(const Roster& roster, Journal& journal);

 private:
  explicit TakenLists(const Attempt& first) : next_(first) {}

  Attempt next_;  // names the next entry
  std::map<uint64_t, crypto::Digest> lists_;
};

}  // namespace tacet::secagg

#endif  // TACET_SECAGG_TAKEN_LISTS_H_
